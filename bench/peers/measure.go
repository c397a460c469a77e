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
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cost is what a run of a program took.
type cost struct {
	cpu, wall time.Duration
	// memory is the largest resident size of the program or any program that it
	// started, in bytes.
	memory int64
}

// result is what the runs of a peer came to.
type result struct {
	peer    peer
	runs    []cost
	size    int64
	verdict string
}

// measure runs every peer as often as is asked for. The runs of the peers take
// turns, so that a noisy moment does not hit one peer alone. The first output
// of each is judged; a peer that fails is not run again.
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
			if n > 0 && len(r.runs) == 0 || r.verdict != "" && n == 0 {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, run %d: %s\n", s.name, n+1, r.peer.name)
			if err := s.once(ctx, o, r); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// once runs a peer and, the first time, judges its output. Its error is not
// the peer's.
func (s *set) once(ctx context.Context, o options, r *result) error {
	in, copied := s.variants[r.peer.variant]
	if !copied {
		in = s.input
	}
	dir := filepath.Join(o.work, "out") // some leave more than their output
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	out := filepath.Join(dir, s.name+"."+r.peer.format)
	c, err := measure(ctx, o, r.peer.command(in, out))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		r.verdict, r.runs = "failed: "+err.Error(), nil
		return nil
	}
	r.runs = append(r.runs, c)
	if len(r.runs) > 1 {
		return nil
	}
	if r.size, err = size(out); err != nil {
		return err
	}
	if r.verdict, err = s.judge(ctx, o, r.peer.format, out); err != nil {
		return err
	}
	if copied {
		r.verdict += " (" + r.peer.note + ")"
	}
	return nil
}

// measure runs a program on one core and returns what it cost.
func measure(ctx context.Context, o options, args []string) (cost, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.Env = append(os.Environ(), "GOMAXPROCS=1", "POLARS_MAX_THREADS=1", "RAYON_NUM_THREADS=1",
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
		return cost{}, errors.New("this system does not tell what a program used")
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

// reason is the line of a program's output that says best why it failed: the
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

// size is the size of a file, or of all files in a directory.
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

// median is the middle of what the runs cost in one respect.
func median(runs []cost, of func(cost) float64) float64 {
	values := make([]float64, len(runs))
	for i, c := range runs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return (values[len(values)/2] + values[(len(values)-1)/2]) / 2
}
