package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/memlimit"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

const (
	// headroom is the MiB that the program may take besides --memory.
	headroom = 48
	// dayRows is the number of mails of a day.
	dayRows = 2000
	// endRuns is the number of runs at the start and at the end of the year to compare.
	endRuns = 9
)

// measurement is one call of the command.
type measurement struct {
	program string
	dir     string
	small   int
	large   int64
	memory  int
	runs    int
}

// run measures a call of the program, which must succeed, in a cgroup with the memory that
// --memory promises. It discards the output.
func (m *measurement) run(args ...string) (memlimit.Usage, error) {
	cmd := exec.Command(m.program, append(args, "--memory", fmt.Sprintf("%dMiB", m.memory))...)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.Env = &stderr, testenv.ProgramEnviron()
	u, err := memlimit.Run(cmd, int64(m.memory+headroom)<<20)
	if err == nil && u.Exit != 0 {
		err = fmt.Errorf("%q: exit %d, killed %v: %s", args, u.Exit, u.Killed, stderr.String())
	}
	return u, err
}

// oneJob measures the plan of many files next to a large one, and the conversion.
func (m *measurement) oneJob() error {
	in, dest := filepath.Join(m.dir, fmt.Sprintf("in-%d-%d", m.small, m.large)), filepath.Join(m.dir, "out")
	if err := prepare(in, m.inputs); err != nil {
		return err
	}
	if err := os.RemoveAll(dest); err != nil {
		return err
	}
	fmt.Println("| step | s | CPU s | peak MiB |")
	fmt.Println("|---|---:|---:|---:|")
	document := filepath.Join(m.dir, "plan.json")
	for _, step := range []struct {
		name string
		args []string
	}{
		{"plan", []string{"plan", in, dest, "-o", document}},
		{"convert", []string{"convert", in, dest}},
		{"convert again: nothing to do", []string{"convert", in, dest}},
		{"count", []string{"count", dest}},
	} {
		u, err := m.run(step.args...)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.2f | %.2f | %d |\n", step.name, u.Wall.Seconds(), u.CPU.Seconds(), u.Peak>>20)
	}
	if err := fill(dest); err != nil {
		return err
	}
	return os.RemoveAll(dest)
}

// fill prints how close the row groups of an output are to their maximum size.
func fill(dest string) error {
	text, err := os.ReadFile(filepath.Join(dest, manifest.SuccessName))
	if err != nil {
		return err
	}
	s, err := manifest.DecodeSuccess(text)
	if err != nil {
		return err
	}
	var full []float64
	for i := range s.Parts {
		full = append(full, 100*float64(s.Parts[i].Bytes())/float64(s.Request.Options.RowGroupSize))
	}
	slices.Sort(full)
	at := func(percent int) float64 { return full[(len(full)-1)*percent/100] }
	fmt.Printf("\n%d inputs, %d rows, %d row groups; in %% of the ceiling: least %.1f, a tenth below %.1f, median %.1f, most %.1f\n\n",
		len(s.Request.Inputs), s.Rows, len(full), at(0), at(10), at(50), at(100))
	return nil
}

// days measures a run for each day of a year, and then commands that read the output.
func (m *measurement) days() error {
	work, err := os.MkdirTemp(m.dir, "days-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // scratch
	in, dest := filepath.Join(work, "in"), filepath.Join(work, "out")
	if err := os.Mkdir(in, 0o777); err != nil {
		return err
	}
	var runs []memlimit.Usage
	for day := range m.runs {
		if err := mails(filepath.Join(in, fmt.Sprintf("%04d.avro", day)), dayRows, uint64(day)); err != nil {
			return err
		}
		u, err := m.run("convert", "--incremental", in, dest)
		if err != nil {
			return err
		}
		runs = append(runs, u)
	}
	fmt.Println("| after days | command | s | CPU s | peak MiB |")
	fmt.Println("|---:|---|---:|---:|---:|")
	n := min(endRuns, len(runs))
	printMedian("convert --incremental", n, runs[:n])
	printMedian("convert --incremental", len(runs), runs[len(runs)-n:])
	for _, args := range [][]string{{"convert", "--incremental", in, dest}, {"status", dest}, {"cat", "--limit", "1", dest}, {"count", dest}} {
		var again []memlimit.Usage
		for range n {
			u, err := m.run(args...)
			if err != nil {
				return err
			}
			again = append(again, u)
		}
		name := strings.Join(args[:len(args)-1], " ")
		if args[0] == "convert" {
			name = "convert --incremental: nothing to do"
		}
		printMedian(name, len(runs), again)
	}
	return nil
}

// printMedian prints the medians of some runs.
func printMedian(name string, days int, runs []memlimit.Usage) {
	median := func(of func(memlimit.Usage) time.Duration) float64 {
		var all []time.Duration
		for _, u := range runs {
			all = append(all, of(u))
		}
		slices.Sort(all)
		return all[len(all)/2].Seconds()
	}
	var peak int64
	for _, u := range runs {
		peak = max(peak, u.Peak)
	}
	fmt.Printf("| %d | %s | %.3f | %.3f | %d |\n", days, name,
		median(func(u memlimit.Usage) time.Duration { return u.Wall }), median(func(u memlimit.Usage) time.Duration { return u.CPU }), peak>>20)
}
