// Command fuzz runs every fuzz target of the module for a while, and prints a
// line for each:
//
//	fuzz -time 2s
//	fuzz -time 5m -run '^FuzzOpen$' ./trevni
//
// It compiles each package once, where "go test -fuzz" would link it again for
// each target, and runs as many targets at once as there are processors. What a
// target that fails has printed follows its line; the input is in the package's
// testdata/fuzz, as "go test" leaves it. The exit code is then 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	var o options
	flag.DurationVar(&o.time, "time", 10*time.Second, "time for each target")
	flag.StringVar(&o.run, "run", "", "only targets whose name this regular expression matches")
	flag.Parse()
	o.patterns = flag.Args()
	if len(o.patterns) == 0 {
		o.patterns = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := fuzz(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// options say what is run.
type options struct {
	time     time.Duration
	run      string
	patterns []string // of packages
}

// target is a fuzz function of a package.
type target struct {
	dir, path string // of the package
	name      string
	binary    string // the package's compiled tests
	cache     string // directory of the inputs that go test keeps
}

func fuzz(ctx context.Context, o options, out io.Writer) error {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "rowtocol-fuzz-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	targets, err := find(ctx, o.patterns, only, temp)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return errors.New("no such target")
	}
	queue := make(chan target)
	var workers sync.WaitGroup
	var failed atomic.Int32
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for t := range queue {
				line, sound := t.fuzz(ctx, o.time)
				if !sound {
					failed.Add(1)
				}
				_, _ = fmt.Fprintln(out, line)
			}
		})
	}
	err = compile(ctx, targets, queue)
	close(queue)
	workers.Wait()
	if n := failed.Load(); err == nil && n > 0 {
		err = fmt.Errorf("%d of %d targets failed", n, len(targets))
	}
	return err
}

var function = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// find returns the targets of packages, those of one package in a row. Their
// binaries are to be in a directory.
func find(ctx context.Context, patterns []string, only *regexp.Regexp, binaries string) (targets []target, err error) {
	cache, err := output(ctx, "env", "GOCACHE")
	if err != nil {
		return nil, err
	}
	packages, err := output(ctx, append([]string{"list", "-f", "{{.Dir}}\t{{.ImportPath}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(packages, "\n") {
		dir, path, _ := strings.Cut(line, "\t")
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			for _, m := range function.FindAllSubmatch(source, -1) {
				if name := string(m[1]); only.MatchString(name) {
					binary := filepath.Join(binaries, fmt.Sprint(i))
					targets = append(targets, target{dir, path, name, binary, filepath.Join(cache, "fuzz", path)})
				}
			}
		}
	}
	return targets, nil
}

// compile sends targets to who runs them, each when its package is compiled.
func compile(ctx context.Context, targets []target, to chan<- target) error {
	for i, t := range targets {
		if i == 0 || t.binary != targets[i-1].binary {
			if _, err := output(ctx, "test", "-c", "-fuzz", ".", "-o", t.binary, t.path); err != nil {
				return err
			}
		}
		select {
		case to <- t:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fuzz runs a target and returns what is to be said of it.
func (t target) fuzz(ctx context.Context, d time.Duration) (line string, sound bool) {
	cmd := exec.CommandContext(ctx, t.binary, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", d.String(),
		"-test.fuzzminimizetime", "10x", "-test.parallel", "1", "-test.fuzzcachedir", t.cache)
	cmd.Dir = t.dir
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	line = fmt.Sprintf("%-46s %-16s %6.1f s", t.path, t.name, time.Since(begin).Seconds())
	if err != nil {
		return fmt.Sprintf("FAIL %s %v\n%s", line, err, out), false
	}
	if all := progress.FindAll(out, -1); len(all) > 0 {
		line += fmt.Sprintf("  %s", all[len(all)-1])
	}
	return "ok   " + line, true
}

// progress is how far a run came, as it says itself.
var progress = regexp.MustCompile(`execs: .*`)

// output runs the go command and returns what it prints.
func output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
