package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/internal/datagen"
)

// readSet is a data set that -read measures.
type readSet struct {
	name  string
	csv   string // the columns that CSV can hold, as --columns takes them; empty for all
	where string // a condition that few rows meet
}

var readSets = []readSet{
	{name: "mail", csv: "id,date,folder,seen,from,subject,size,score", where: "size > 1000"},
	{name: "flat1000", where: "c0003 > 900"},
}

// readLayout is a way in which a set is stored: the Avro file itself, or an output with a
// --row-group-size.
type readLayout struct{ name, rowGroup string }

var readLayouts = []readLayout{{"avro", ""}, {"one", "1GiB"}, {"many", "8MiB"}}

// readCase is a command that reads a set in a layout.
type readCase struct {
	set     readSet
	layout  readLayout
	command string
	args    []string // without the path to read
}

func (c *readCase) name() string { return c.set.name + "/" + c.layout.name + "/" + c.command }

// against is the command whose arguments also have the Avro file.
const against = "verify-against"

// readCases returns all cases, in the order of the tables.
func readCases() (cases []readCase) {
	for _, s := range readSets {
		csv := []string{"cat", "--to", "csv"}
		if s.csv != "" {
			csv = append(csv, "--columns", s.csv)
		}
		for _, l := range readLayouts {
			add := func(command string, args ...string) { cases = append(cases, readCase{s, l, command, args}) }
			add("json", "cat", "--to", "json")
			add("csv", csv...)
			for _, to := range []string{"avro", "arrow", "parquet"} {
				add(to, "cat", "--to", to)
			}
			add("stats", "stats")
			add("count-where", "count", "--where", s.where)
			add("cat-where", "cat", "--where", s.where)
			add("head", "head")
			if l.rowGroup != "" {
				add("verify", "verify")
				add(against, "verify")
			}
		}
	}
	return cases
}

// readArgs returns the arguments of a case on times as many rows. It makes the files that
// the case reads, unless they exist.
func (b *bench) readArgs(c *readCase, times int64) ([]string, error) {
	set, err := datagen.Lookup(c.set.name)
	if err != nil {
		return nil, err
	}
	input, err := b.generate(c.set.name, "snappy", times*b.rows(set))
	if err != nil {
		return nil, err
	}
	path := input
	if c.layout.rowGroup != "" {
		path += "." + c.layout.name
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if _, err := measure(nil, 0, b.program, "convert", "--log-level", "error", "--temp-dir", b.dir, "--format", b.read,
			"--row-group-size", c.layout.rowGroup, input, path); err != nil {
			return nil, err
		}
	}
	args := append(slices.Clip(c.args), path)
	if c.command == against {
		args = append(args, "--against", input)
	}
	return args, nil
}

// readCall returns a call of a program with a number of workers.
func (b *bench) readCall(program string, workers int, args []string) []string {
	return append([]string{program, "--log-level", "error", "--temp-dir", b.dir, "--workers", strconv.Itoa(workers)}, args...)
}

// readOnce measures a command with as many cores as workers. Its output is discarded.
func (b *bench) readOnce(program string, workers int, args []string) (usage, error) {
	return measure([]string{"GOMAXPROCS=" + strconv.Itoa(workers)}, 0, b.readCall(program, workers, args)...)
}

// checksum returns the SHA-256 of what a command prints.
func (b *bench) checksum(program string, workers int, args []string) (string, error) {
	call := b.readCall(program, workers, args)
	h := sha256.New()
	cmd := exec.Command(call[0], call[1:]...)
	cmd.Stdout, cmd.Stderr = h, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%q: %w", call, err)
	}
	return string(h.Sum(nil)), nil
}

// readRound has one round's measurements of a command.
type readRound struct {
	one, two usage // with one and with two workers
	base     usage // of -base with one worker
}

// runReading prints the tables of -read.
func (b *bench) runReading() (err error) {
	if b.base != "" {
		if b.base, err = filepath.Abs(b.base); err != nil {
			return err
		}
	}
	printMachine()
	head := sync.OnceFunc(func() {
		fmt.Println("| case | wall 1 | wall 2 | 2 ÷ 1 | CPU 1 | CPU 2 | peak 1 MiB | peak 2 MiB | bytes of 2 | base CPU 1 | CPU ÷ base | base peak MiB | bytes of base |")
		fmt.Println("|---" + strings.Repeat("|---:", 12) + "|")
	})
	differ := 0
	for _, c := range readCases() {
		if !b.only.MatchString(c.name()) {
			continue
		}
		head()
		wall, same, err := b.runRead(&c, 1)
		if err == nil && wall < shortRead && c.command != "head" {
			var more bool
			_, more, err = b.runRead(&c, moreRows)
			same = same && more
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if !same {
			differ++
		}
	}
	err = b.runReadMemory()
	if differ > 0 {
		err = errors.Join(err, fmt.Errorf("the output of %d commands depends on the number of workers", differ))
	}
	return err
}

// The start of the program and the first use of its memory decide how long a command of less than
// shortRead takes. Such a command is measured on moreRows times as many rows as well.
const (
	shortRead = 350 * time.Millisecond
	moreRows  = 10
)

// runRead measures a command on times as many rows and prints its line. It returns the time that
// the command takes with one worker, and whether the output is the same with two.
func (b *bench) runRead(c *readCase, times int64) (wall time.Duration, same bool, err error) {
	args, err := b.readArgs(c, times)
	if err != nil {
		return 0, false, err
	}
	var one, two, base string
	if one, err = b.checksum(b.program, 1, args); err != nil {
		return 0, false, err
	}
	if two, err = b.checksum(b.program, 2, args); err != nil {
		return 0, false, err
	}
	if b.base != "" {
		if base, err = b.checksum(b.base, 1, args); err != nil {
			return 0, false, err
		}
	}
	rounds := make([]readRound, b.runs)
	for i := range rounds {
		if err := b.runReadRound(args, &rounds[i]); err != nil {
			return 0, false, err
		}
	}
	name := c.name()
	if times > 1 {
		name = fmt.Sprintf("%s, %d × the rows", name, times)
	}
	b.printRead(name, rounds, one == two, one == base)
	wall = time.Duration(median(rounds, func(r *readRound) float64 { return float64(r.one.Wall) }))
	return wall, one == two, nil
}

// printRead prints the line of a command.
func (b *bench) printRead(name string, rounds []readRound, same, sameAsBase bool) {
	of := func(value func(*readRound) float64) float64 { return median(rounds, value) }
	fmt.Printf("| %s | %.3f | %.3f | %.2f | %.3f | %.3f | %.0f | %.0f | %s |", name,
		of(func(r *readRound) float64 { return r.one.Wall.Seconds() }), of(func(r *readRound) float64 { return r.two.Wall.Seconds() }),
		of(func(r *readRound) float64 { return r.two.Wall.Seconds() / r.one.Wall.Seconds() }),
		of(func(r *readRound) float64 { return r.one.CPU.Seconds() }), of(func(r *readRound) float64 { return r.two.CPU.Seconds() }),
		of(func(r *readRound) float64 { return mebibytes(r.one.Peak) }), of(func(r *readRound) float64 { return mebibytes(r.two.Peak) }),
		sameOrNot(same))
	if b.base == "" {
		fmt.Println(" | | | |")
		return
	}
	fmt.Printf(" %.3f | %.2f | %.0f | %s |\n", of(func(r *readRound) float64 { return r.base.CPU.Seconds() }),
		of(func(r *readRound) float64 { return r.one.CPU.Seconds() / r.base.CPU.Seconds() }),
		of(func(r *readRound) float64 { return mebibytes(r.base.Peak) }), sameOrNot(sameAsBase))
}

// runReadRound measures the programs next to each other, so that their ratios compare runs
// within the same seconds.
func (b *bench) runReadRound(args []string, r *readRound) (err error) {
	if r.one, err = b.readOnce(b.program, 1, args); err != nil {
		return err
	}
	if b.base != "" {
		if r.base, err = b.readOnce(b.base, 1, args); err != nil {
			return err
		}
	}
	r.two, err = b.readOnce(b.program, 2, args)
	return err
}

func sameOrNot(same bool) string {
	if same {
		return "same"
	}
	return "**differ**"
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// The settings of the table of memory.
const (
	readGrowth     = 3         // how many times the rows
	littleMemory   = "64MiB"   // a small --memory
	mostWithLittle = 64 + 48   // the MiB that the program may then take
	littleWorkers  = 4         // more than cores
	memoryTable    = "memory/" // before the names of its lines
)

// runReadMemory prints the peak memory with a number of rows and with more rows, and that
// with a small --memory.
func (b *bench) runReadMemory() error {
	head := sync.OnceFunc(func() {
		fmt.Printf("\n| memory | peak MiB | peak MiB with %d × the rows | ÷ | peak MiB with %s and %d workers, at most %d |\n", readGrowth, littleMemory, littleWorkers, mostWithLittle)
		fmt.Println("|---" + strings.Repeat("|---:", 4) + "|")
	})
	exceeded := 0
	for _, c := range readCases() {
		if !b.only.MatchString(memoryTable + c.name()) {
			continue
		}
		head()
		within, err := b.runReadMemoryOf(&c)
		if err != nil {
			return fmt.Errorf("%s%s: %w", memoryTable, c.name(), err)
		}
		if !within {
			exceeded++
		}
	}
	if exceeded > 0 {
		return fmt.Errorf("%d commands exceeded their memory", exceeded)
	}
	return nil
}

// runReadMemoryOf prints a line of the table. It reports whether the command kept to the
// small --memory.
func (b *bench) runReadMemoryOf(c *readCase) (within bool, err error) {
	var peaks [2]float64
	for i, times := range []int64{1, readGrowth} {
		args, err := b.readArgs(c, times)
		if err != nil {
			return false, err
		}
		if peaks[i], err = b.peak(2, args); err != nil {
			return false, err
		}
	}
	args, err := b.readArgs(c, 1)
	if err != nil {
		return false, err
	}
	little, err := b.peak(littleWorkers, append(args, "--memory", littleMemory))
	said := fmt.Sprintf("%.0f", little)
	switch {
	case errors.Is(err, errRefused):
		said = "refused"
	case err != nil:
		return false, err
	case little > mostWithLittle:
		said = "**" + said + "**"
	}
	fmt.Printf("| %s | %.0f | %.0f | %.2f | %s |\n", c.name(), peaks[0], peaks[1], peaks[1]/peaks[0], said)
	return little <= mostWithLittle, nil
}

// errRefused means that the program asks for more memory.
var errRefused = errors.New("the program asks for more memory")

// peak returns the median of the peak MiB of a command's runs.
func (b *bench) peak(workers int, args []string) (float64, error) {
	runs := make([]usage, min(b.runs, growthRuns))
	for i := range runs {
		var err error
		if runs[i], err = b.readOnce(b.program, workers, args); runs[i].Exit == 1 {
			return 0, errRefused
		}
		if err != nil {
			return 0, err
		}
	}
	return median(runs, func(u *usage) float64 { return mebibytes(u.Peak) }), nil
}
