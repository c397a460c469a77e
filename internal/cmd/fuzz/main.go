// Command fuzz runs every fuzz target of the module for a time, and prints a line for
// each:
//
//	fuzz -time 2s
//	fuzz -time 5m -run '^FuzzOpen$' ./trevni
//	fuzz -time 5m -check
//
// It compiles each package once, while "go test -fuzz" would link it again for each
// target, and runs as many targets concurrently as there are processors. After the line
// of a target that fails follows its output; the input is in the package's testdata/fuzz,
// as with "go test". A target that runs no input fails, too. If a target fails, the exit
// code is 1. With -check no target is run; only -time is checked.
package main

import (
	"bytes"
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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.time, "time", "10s", "how long each target runs, or how often: 1000x")
	flag.StringVar(&o.run, "run", "", "only targets whose name this regular expression matches")
	check := flag.Bool("check", false, "only check -time")
	flag.Parse()
	o.patterns = flag.Args()
	if len(o.patterns) == 0 {
		o.patterns = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := checkTime(o.time)
	if err == nil && !*check {
		err = fuzz(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// options are the options of the command.
type options struct {
	time     string // value of -test.fuzztime
	run      string
	patterns []string // patterns of packages
}

// checkTime returns an error unless s is a positive duration or number of runs: without
// a limit, targets would run forever.
func checkTime(s string) error {
	if times, ok := strings.CutSuffix(s, "x"); ok {
		if n, err := strconv.Atoi(times); err == nil && n > 0 {
			return nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return nil
	}
	return fmt.Errorf("the time %q is not a positive duration, such as 10s, or number of runs, such as 1000x", s)
}

// target is a fuzz function of a package.
type target struct {
	temp      string // directory for temporary files
	dir, path string // directory and import path of the package
	name      string // empty until the package is compiled
	binary    string // the package's compiled tests
	cache     string // directory of the inputs that go test keeps
}

func fuzz(ctx context.Context, o options, out io.Writer) error {
	filter, err := regexp.Compile(o.run)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "rowtocol-fuzz-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	packages, err := find(ctx, o.patterns, temp)
	if err != nil {
		return err
	}
	queue := make(chan target)
	var workers sync.WaitGroup
	var failed int
	var mu sync.Mutex // guards failed and out
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for t := range queue {
				line, ok := t.fuzz(ctx, o.time)
				mu.Lock()
				if !ok {
					failed++
				}
				fmt.Fprintln(out, line)
				mu.Unlock()
			}
		})
	}
	n, err := compile(ctx, packages, filter, queue)
	close(queue)
	workers.Wait()
	switch {
	case err != nil:
		return err
	case n == 0:
		return errors.New("no such target")
	case failed > 0:
		return fmt.Errorf("%d of %d targets failed", failed, n)
	}
	return nil
}

// find returns the packages that seem to have targets. Their binaries, and all temporary
// files, are placed in temp.
func find(ctx context.Context, patterns []string, temp string) (packages []target, err error) {
	cache, err := output(command(ctx, temp, "", "go", "env", "GOCACHE"))
	if err != nil {
		return nil, err
	}
	const format = "{{.Dir}}\t{{.ImportPath}}{{range .TestGoFiles}}\t{{.}}{{end}}{{range .XTestGoFiles}}\t{{.}}{{end}}"
	lines, err := output(command(ctx, temp, "", "go", append([]string{"list", "-f", format}, patterns...)...))
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(lines, "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) < 2 {
			continue // not a package
		}
		dir, path := fields[0], fields[1]
		for _, file := range fields[2:] {
			source, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return nil, err
			}
			if bytes.Contains(source, []byte("\nfunc Fuzz")) {
				binary := filepath.Join(temp, fmt.Sprint(i))
				packages = append(packages, target{temp: temp, dir: dir, path: path, binary: binary, cache: filepath.Join(cache, "fuzz", path)})
				break
			}
		}
	}
	return packages, nil
}

// compile compiles packages, sends their targets to a channel, and returns the number of
// targets. It asks the compiled binaries for the targets.
func compile(ctx context.Context, packages []target, filter *regexp.Regexp, to chan<- target) (n int, err error) {
	for _, t := range packages {
		if _, err := output(command(ctx, t.temp, "", "go", "test", "-c", "-fuzz", ".", "-o", t.binary, t.path)); err != nil {
			return n, err
		}
		names, err := output(command(ctx, t.temp, t.dir, t.binary, "-test.list", "^Fuzz"))
		if err != nil {
			return n, err
		}
		for _, t.name = range strings.Fields(names) {
			if !filter.MatchString(t.name) {
				continue
			}
			select {
			case to <- t:
				n++
			case <-ctx.Done():
				return n, ctx.Err()
			}
		}
	}
	return n, nil
}

// patience is the time of a second try for a target that ran no input in its time: on a
// busy machine the first input alone may take a second.
const patience = "20s"

// fuzz runs a target and returns the line to print about it.
func (t target) fuzz(ctx context.Context, limit string) (line string, ok bool) {
	begin := time.Now()
	for _, limit := range []string{limit, patience} {
		cmd := command(ctx, t.temp, t.dir, t.binary, "-test.run", "^$", "-test.paniconexit0", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", limit,
			"-test.fuzzminimizetime", "10x", "-test.parallel", "1", "-test.fuzzcachedir", t.cache)
		out, err := cmd.CombinedOutput()
		line = fmt.Sprintf("%-46s %-16s %6.1f s", t.path, t.name, time.Since(begin).Seconds())
		if err != nil && !timeUp(out) {
			return fmt.Sprintf("FAIL %s %v\n%s", line, err, out), false
		}
		if all := progress.FindAll(out, -1); len(all) > 0 {
			return fmt.Sprintf("ok   %s  %s", line, all[len(all)-1]), true
		}
		line = fmt.Sprintf("FAIL %s ran no input\n%s", line, out)
	}
	return line, false
}

// timeUp reports whether a run failed only because its time ended: "go test" sometimes
// reports that instead of success.
func timeUp(out []byte) bool {
	return deadlineOnly.Match(out) && !bytes.Contains(out, []byte("Failing input"))
}

var deadlineOnly = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \(.*\)\n    context deadline exceeded\nFAIL\n`)

// progress matches the progress that a run prints. On a busy machine a run may only come
// through some of the known inputs.
var progress = regexp.MustCompile(`execs: .*|gathering baseline coverage: [1-9].*`)

// command returns a command that runs in dir, with temp for temporary files. It ends with
// ctx, even if its children still run.
func command(ctx context.Context, temp, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// output runs a command and returns its output.
func output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
