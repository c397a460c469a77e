// The peers benchmark converts the same Avro files with rowtocol and with programs that a user
// could run instead, each on one core. It checks the outputs and prints one table. It
// runs on Linux, from its own directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// The directories, relative to this one.
const (
	root  = "../.."
	cache = ".cache"
)

type options struct {
	sets    []string
	only    *regexp.Regexp
	runs    int
	slow    time.Duration
	core    int
	timeout time.Duration
	work    string
	binary  string
}

func main() {
	var o options
	sets := flag.String("sets", "mail,flat400,flat1000", "data sets, as internal/cmd/datagen names them")
	only := flag.String("peers", ".", "regular expression of the peers to run; the table has names")
	flag.IntVar(&o.runs, "runs", 5, "runs of each peer; the table has medians")
	flag.DurationVar(&o.slow, "slow", 6*time.Second, "CPU time from which a peer is run once")
	flag.IntVar(&o.core, "core", runtime.NumCPU()-1, "the processor core to run on")
	flag.DurationVar(&o.timeout, "timeout", 15*time.Minute, "time for a run")
	flag.StringVar(&o.work, "work", root+"/bin/peers", "directory for inputs and outputs; 6 GB")
	flag.StringVar(&o.binary, "rowtocol", root+"/bin/rowtocol", "the rowtocol program")
	flag.Parse()
	o.sets = strings.Split(*sets, ",")
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	all := peers(o.binary)
	chosen := all[:0]
	for _, p := range all {
		if o.only.MatchString(p.name) {
			chosen = append(chosen, p)
		}
	}
	absent := install(ctx, chosen)
	if why, ok := absent["python"]; ok {
		return fmt.Errorf("nothing can be checked without Python: %s", why)
	}
	if err := os.MkdirAll(o.work, 0o755); err != nil {
		return err
	}
	t := table{began: load()}
	defer t.print(os.Stdout, o) // also the results so far when it ends early
	for _, name := range o.sets {
		s, err := prepare(ctx, o, name)
		if err != nil {
			return err
		}
		results, err := s.measure(ctx, o, chosen, absent)
		if err != nil {
			return err
		}
		t.add(s, results)
	}
	return nil
}

// set is a data set that is ready to convert.
type set struct {
	name  string
	input string
	size  int64
	facts string
	// variants are copies of an input with maps, by their names in python/variant.py.
	variants map[string]string
}

// prepare makes a data set and the facts that judge its outputs, unless an earlier run made
// them.
func prepare(ctx context.Context, o options, name string) (*set, error) {
	s := &set{name: name, input: filepath.Join(o.work, name+".avro"), facts: filepath.Join(o.work, name+".json")}
	generated, err := filepath.Abs(s.input)
	if err != nil {
		return nil, err
	}
	s.variants = map[string]string{}
	if err := makeOnce(s.input, func() error {
		return command(ctx, root, "go", "run", "./internal/cmd/datagen", "-set", name, "-output", generated)
	}); err != nil {
		return nil, err
	}
	if err := makeOnce(s.facts, func() error { return python(ctx, "facts.py", "avro", s.input, s.facts) }); err != nil {
		return nil, err
	}
	for _, kind := range []string{"strings", "pairs"} {
		path := filepath.Join(o.work, name+"."+kind+".avro")
		if err := python(ctx, "variant.py", s.input, path, kind); err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err == nil {
			s.variants[kind] = path
		}
	}
	info, err := os.Stat(s.input)
	if err == nil {
		s.size = info.Size()
	}
	return s, err
}

// makeOnce calls make unless the file exists. If make fails, makeOnce removes the file.
func makeOnce(path string, make func() error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	err := make()
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

func python(ctx context.Context, script string, args ...string) error {
	return command(ctx, ".", venv+"/bin/python", append([]string{"python/" + script}, args...)...)
}

// command runs a program in a directory. Its error ends with the program's reason.
func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, reason(out))
	}
	return nil
}
