package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/memlimit"
)

// bench has the values of the flags.
type bench struct {
	program string
	runs    int
	scale   float64
	only    *regexp.Regexp
	profile string
	dir     string
	read    string // the format that reading is measured of; empty measures conversions
	base    string // the program to compare with when reading is measured

	explained []string // lines of the table of where time goes
}

// benchCase is a data set, the codec of its input and output, and the format of the
// output.
type benchCase struct {
	set, codec string
	format     string // empty for Trevni; other formats have their own defaults for codecs
	memory     int64  // --memory; 0 is the default
	rowGroup   int64  // --row-group-size; 0 is the default
	files      int    // maximum of open files; 0 is the system's limit
}

var benchCases = []benchCase{
	{set: "mail", codec: "snappy"},
	{set: "mail", codec: "null"},
	{set: "mail", codec: "deflate"},
	{set: "mail", codec: "zstandard"},
	{set: "mail", codec: "snappy", format: "cfile"},
	{set: "mails", codec: "snappy"},
	{set: "tiny", codec: "snappy"},
	{set: "flat400", codec: "snappy"},
	{set: "flat400", codec: "snappy", format: "cfile"},
	{set: "flat1000", codec: "snappy"},
	{set: "sparse", codec: "snappy", memory: 256 << 20, files: 256},
	{set: "strings", codec: "snappy"},
	{set: "deep", codec: "snappy"},
}

func (c benchCase) name() string { return c.set + "/" + cmp.Or(c.format, c.codec) }

// selects reports whether -only selects a case of a table other than the first.
func (b *bench) selects(table string, c benchCase) bool {
	return b.only.MatchString(table + "/" + c.name())
}

func main() {
	memlimit.Main()
	if len(os.Args) == 8 && os.Args[1] == profileCommand {
		exit(runProfiled(os.Args[2:]))
	}
	b := bench{}
	var err error
	flag.StringVar(&b.program, "program", "bin/rowtocol", "the program to measure")
	flag.IntVar(&b.runs, "runs", 5, "rounds; the tables show medians")
	flag.Float64Var(&b.scale, "scale", 1, "share of each set's rows")
	only := flag.String("only", "", "regular expression of the cases to run, such as ^mail/; those of the other tables\nbegin with formats/, cp/, saturation/, workers/ and memory/; with -read, such as ^mail/one/json")
	flag.StringVar(&b.profile, "profile", "", "directory for a CPU profile per case and stage")
	flag.StringVar(&b.dir, "dir", "", "directory for data, on the disk to measure; 5 GB (default: a temporary one)")
	flag.StringVar(&b.read, "read", "", "measure commands that read outputs of this `format`, such as trevni or parquet,\ninstead of conversions")
	flag.StringVar(&b.base, "base", "", "with -read: another build of the `program` to compare with")
	flag.Parse()
	if b.only, err = regexp.Compile(*only); err != nil {
		exit(err)
	}
	exit(b.run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (b *bench) run() (err error) {
	if b.runs < 1 || b.scale <= 0 {
		return errors.New("-runs and -scale must be more than 0")
	}
	if b.base != "" && b.read == "" {
		return errors.New("-base needs -read")
	}
	if b.dir, err = os.MkdirTemp(b.dir, "rowtocol-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.program, err = filepath.Abs(b.program); err != nil {
		return err
	}
	if b.profile != "" {
		if err := os.MkdirAll(b.profile, 0o777); err != nil {
			return err
		}
	}
	if b.read != "" {
		return b.runReading()
	}
	printMachine()
	head := sync.OnceFunc(printHead)
	for _, c := range benchCases {
		if !b.only.MatchString(c.name()) {
			continue
		}
		head()
		if err := b.runCase(c); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	b.printExplained()
	return errors.Join(b.runFormats(), b.runCopies(), b.runSaturation(), b.runWorkers(), b.runGrowth())
}

// rows is the number of rows of a set at the scale of the flags.
func (b *bench) rows(s datagen.Set) int64 { return max(int64(float64(s.Rows)*b.scale), 1) }

// generate writes a set unless it exists, and returns its path.
func (b *bench) generate(name, codec string, rows int64) (string, error) {
	s, err := datagen.Lookup(name)
	if err != nil {
		return "", err
	}
	if rows == 0 {
		rows = b.rows(s)
	}
	path := filepath.Join(b.dir, fmt.Sprintf("%s-%s-%d", name, codec, rows))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, s.WriteFile(path, datagen.Options{Rows: rows, Seed: 1, Codec: codec})
}

// convert runs the program on an input, with as many cores as workers.
func (b *bench) convert(c benchCase, input string, workers int) (usage, error) {
	u, _, err := b.convertSized(c, input, workers)
	return u, err
}

// convertSized is convert that also returns the bytes of the output.
func (b *bench) convertSized(c benchCase, input string, workers int) (u usage, size int64, err error) {
	out := filepath.Join(b.dir, "out")
	args := []string{
		b.program, "convert", "--log-level", "error", "--temp-dir", b.dir, "--workers", strconv.Itoa(workers),
	}
	if c.format == "" {
		args = append(args, "--codec", c.codec)
	} else {
		args = append(args, "--format", c.format)
	}
	if c.memory > 0 {
		args = append(args, "--memory", strconv.FormatInt(c.memory, 10))
	}
	if c.rowGroup > 0 {
		args = append(args, "--row-group-size", strconv.FormatInt(c.rowGroup, 10))
	}
	if u, err = measure([]string{"GOMAXPROCS=" + strconv.Itoa(workers)}, c.files, append(args, input, out)...); err == nil {
		size, err = sizeOf(out)
	}
	return u, size, errors.Join(err, os.RemoveAll(out))
}

// sizeOf returns the bytes of the files in a directory.
func sizeOf(dir string) (size int64, err error) {
	return size, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
}

// round has the measurements of one round of a case.
type round struct {
	ours, ours2      usage // with one and with two workers
	decode, encode   clock // the halves of the floor
	floors           clock // two at the same time
	stages           []clock
	speedUp, atLeast float64
}

// runCase measures a case and prints its line.
func (b *bench) runCase(c benchCase) error {
	input, err := b.generate(c.set, c.codec, 0)
	if err != nil {
		return err
	}
	w, err := load(conversion{input: input, dir: b.dir, format: c.format, columns: c.codec, memory: c.memory})
	if err != nil {
		return err
	}
	rounds := make([]round, b.runs)
	for i := range rounds {
		runtime.GC()
		if err := b.runRound(c, w, &rounds[i]); err != nil {
			return err
		}
	}
	printCase(c, w, rounds)
	if err := b.explain(c, w); err != nil || b.profile == "" {
		return err
	}
	return b.profileStages(c, w)
}

func (b *bench) runRound(c benchCase, w *workload, r *round) (err error) {
	if r.ours, err = b.convert(c, w.input, 1); err != nil {
		return err
	}
	if err := errors.Join(w.decode(&r.decode), w.encode(&r.encode)); err != nil {
		return err
	}
	r.stages = make([]clock, len(stages))
	for i, s := range stages {
		if s.name == "encode" {
			r.stages[i] = r.encode
			continue
		}
		if err := s.run(w, &r.stages[i]); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if r.ours2, err = b.convert(c, w.input, 2); err != nil {
		return err
	}
	if err := w.twoFloors(&r.floors); err != nil {
		return err
	}
	r.speedUp = 2 * (r.decode.wall + r.encode.wall).Seconds() / r.floors.wall.Seconds()
	r.atLeast = r.ours.CPU.Seconds() / r.speedUp
	return nil
}
