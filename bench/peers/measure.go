package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cost is the cost of a run of a program.
type cost struct {
	cpu, wall time.Duration
	// memory is the largest resident size of the program or any program that it
	// started, in bytes.
	memory int64
}

// result has the results of a peer's runs.
type result struct {
	peer    peer
	runs    []cost
	size    int64
	verdict string
}

// measure runs every peer o.runs times, but slow ones once. The peers take turns, so that a
// noisy moment does not affect one peer alone. The first output of each is judged; a peer
// that fails does not run again.
func (s *set) measure(ctx context.Context, o options, all []peer, absent map[string]string) ([]result, error) {
	results := make([]result, len(all))
	for i, p := range all {
		results[i].peer = p
		if why, ok := absent[p.needs]; ok {
			results[i].verdict = "absent: " + why
		}
	}
	for n := range o.runs {
		for i := range results {
			r := &results[i]
			if n == 0 && r.verdict != "" || n > 0 && !r.worthRepeating(o.slow) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, run %d: %s\n", s.name, n+1, r.peer.name)
			if err := s.runOnce(ctx, o, r); err != nil {
				return nil, err
			}
		}
		if n == 0 {
			if err := s.judgeAll(ctx, o, results); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// worthRepeating reports whether a peer should run again.
func (r *result) worthRepeating(slow time.Duration) bool {
	return len(r.runs) > 0 && (r.runs[0].cpu <= slow || r.peer.name == ours)
}

// runOnce runs a peer and keeps its first output. Its error is not the peer's.
func (s *set) runOnce(ctx context.Context, o options, r *result) error {
	in, copied := s.variants[r.peer.variant]
	if !copied {
		in = s.input
	}
	dir := s.outputs(o, r) // some leave more than their output
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return err
	}
	c, err := measure(ctx, o, r.peer.command(in, s.output(o, r)))
	if ctx.Err() != nil || err != nil || len(r.runs) > 0 {
		defer func() { _ = os.RemoveAll(dir) }()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.verdict, r.runs = "failed: "+err.Error(), nil
		return nil
	}
	r.runs = append(r.runs, c)
	return nil
}

// outputs returns the directory of a peer's output.
func (s *set) outputs(o options, r *result) string {
	return filepath.Join(o.work, "out", strings.ReplaceAll(r.peer.name, " ", "-"))
}

func (s *set) output(o options, r *result) string {
	return filepath.Join(s.outputs(o, r), s.name+"."+r.peer.format)
}

// judgeAll judges and removes the first outputs, several at a time, because nothing is
// measured meanwhile.
func (s *set) judgeAll(ctx context.Context, o options, results []result) error {
	var judges sync.WaitGroup
	errs := make([]error, len(results))
	free := make(chan struct{}, runtime.NumCPU())
	fmt.Fprintf(os.Stderr, "%s: judging\n", s.name)
	for i := range results {
		if len(results[i].runs) == 0 {
			continue
		}
		judges.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = errors.Join(s.finish(ctx, o, &results[i]), os.RemoveAll(s.outputs(o, &results[i])))
		})
	}
	judges.Wait()
	return errors.Join(errs...)
}

// finish records the size and the verdict of a peer's output.
func (s *set) finish(ctx context.Context, o options, r *result) (err error) {
	out := s.output(o, r)
	if r.size, err = size(out); err != nil {
		return err
	}
	if r.verdict, err = s.judge(ctx, o, r.peer.format, out); err != nil {
		return err
	}
	if _, copied := s.variants[r.peer.variant]; copied {
		r.verdict += " (" + r.peer.note + ")"
	}
	return nil
}

// measure runs a program on one core and returns its cost.
func measure(ctx context.Context, o options, args []string) (cost, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	ours := func(e string) bool { return strings.HasPrefix(e, "ROWTOCOL_") }
	c.Env = append(slices.DeleteFunc(os.Environ(), ours), "GOMAXPROCS=1", "POLARS_MAX_THREADS=1", "RAYON_NUM_THREADS=1",
		"TOKIO_WORKER_THREADS=1", "OMP_NUM_THREADS=1", "RUST_BACKTRACE=0")
	// A child has the core of the thread that starts it.
	began := time.Now()
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		var core unix.CPUSet
		core.Set(o.core)
		if err := unix.SchedSetaffinity(0, &core); err != nil {
			started <- fmt.Errorf("core %d: %w", o.core, err)
			return
		}
		began = time.Now()
		started <- c.Start()
	}()
	if err := <-started; err != nil {
		return cost{}, err
	}
	err := c.Wait()
	wall := time.Since(began)
	if ctx.Err() != nil {
		return cost{}, fmt.Errorf("no end after %s", o.timeout)
	}
	if err != nil {
		return cost{}, fmt.Errorf("%w: %s", err, reason(said.Bytes()))
	}
	used, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return cost{}, errors.New("this system does not report the resources of a program")
	}
	return cost{
		cpu:    c.ProcessState.UserTime() + c.ProcessState.SystemTime(),
		wall:   wall,
		memory: used.Maxrss << 10,
	}, nil
}

// judge compares an output with the input: "right", or what is wrong.
func (s *set) judge(ctx context.Context, o options, format, out string) (string, error) {
	var c *exec.Cmd
	switch format {
	case "avro":
		c = exec.CommandContext(ctx, "cmp", s.input, out)
	case "trevni":
		c = exec.CommandContext(ctx, o.binary, "verify", "--require-complete", "--against", s.input, out)
	default:
		c = exec.CommandContext(ctx, venv+"/bin/python", "python/facts.py", "judge", out, s.facts)
	}
	said, err := c.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "wrong: " + reason(said), nil
	case format == "parquet":
		return strings.TrimSpace(string(said)), nil
	}
	return "right", nil
}

// reason returns the line of a program's output with the likely reason of a failure: the
// first that names an exception or an error, or else the last.
func reason(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	i := slices.IndexFunc(lines, func(l string) bool {
		return strings.Contains(l, "Exception") || strings.Contains(l, "rror:")
	})
	if i < 0 {
		i = len(lines) - 1
	}
	line := strings.TrimSpace(lines[i])
	return line[:min(len(line), 200)]
}

// size returns the size of a file, or of all files in a directory.
func size(path string) (int64, error) {
	var sum int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}

// median returns the median of values, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	return (values[len(values)/2] + values[(len(values)-1)/2]) / 2
}

// median returns the median of one kind of cost of a peer's runs.
func (r *result) median(of func(cost) float64) float64 {
	values := make([]float64, len(r.runs))
	for i, c := range r.runs {
		values[i] = of(c)
	}
	return median(values)
}

// ratio returns the median of a peer's CPU time as a multiple of another's in the same
// round.
func (r *result) ratio(base *result) float64 {
	values := make([]float64, min(len(r.runs), len(base.runs)))
	for i := range values {
		values[i] = r.runs[i].cpu.Seconds() / base.runs[i].cpu.Seconds()
	}
	return median(values)
}
