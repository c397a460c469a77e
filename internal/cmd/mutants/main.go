package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	parallel := flag.Int("parallel", runtime.GOMAXPROCS(0), "how many guards to try concurrently")
	timeout := flag.Duration("timeout", 2*time.Minute, "the longest time that one package's tests may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	noticed, err := run(ctx, os.Stdout, flag.Args(), *parallel, *timeout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if !noticed || err != nil {
		os.Exit(1)
	}
}

// run tries every guard of the packages and reports whether all were noticed.
func run(ctx context.Context, w io.Writer, patterns []string, parallel int, timeout time.Duration) (bool, error) {
	m, err := openModule(ctx)
	if err != nil {
		return false, err
	}
	guards, err := m.guards(ctx, patterns)
	if err != nil {
		return false, err
	}
	if len(guards) == 0 {
		return false, errors.New("no guard is marked in these packages")
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	t := &trials{module: m, scratch: scratch, timeout: timeout, baselines: map[string]func() (time.Duration, error){}}
	counts := tryAll(ctx, w, t, guards, parallel)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	fmt.Fprintf(w, "%d guards: %d noticed, %d survived, %d errors\n",
		len(guards), counts[noticed], counts[survived], counts[failed])
	return counts[noticed] == len(guards), nil
}

// tryAll tries guards concurrently, prints a line about each, and counts the verdicts.
func tryAll(ctx context.Context, w io.Writer, t *trials, guards []placedGuard, parallel int) map[verdict]int {
	var (
		mu     sync.Mutex
		counts = map[verdict]int{}
		next   = make(chan placedGuard)
		pool   sync.WaitGroup
	)
	for range max(1, parallel) {
		pool.Go(func() {
			for g := range next {
				began := time.Now()
				v, by := t.try(ctx, g)
				if ctx.Err() != nil {
					continue
				}
				mu.Lock()
				counts[v]++
				fmt.Fprintf(w, "%-8s %s %s (%s, %.1f s)\n", v, g.where, g.why, by, time.Since(began).Seconds())
				mu.Unlock()
			}
		})
	}
	for _, g := range guards {
		next <- g
	}
	close(next)
	pool.Wait()
	return counts
}

// placedGuard is a guard and its place in the module.
type placedGuard struct {
	guard
	where string // file relative to the module's root, line, and part if any
	pkg   string // directory of its package, for go test: ./avro/ocf
}

// guards finds the marks in the files of packages that this system builds. It returns
// each guard, followed by its parts.
func (m *module) guards(ctx context.Context, patterns []string) ([]placedGuard, error) {
	packages, err := m.list(ctx, patterns)
	if err != nil {
		return nil, err
	}
	var all []placedGuard
	for _, p := range packages {
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			file := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			found, err := findGuards(file, src)
			if err != nil {
				return nil, err
			}
			for _, g := range found {
				p := placedGuard{guard: g, where: fmt.Sprintf("%s:%d", m.relative(file), g.line), pkg: "./" + m.relative(p.Dir)}
				all = append(all, p)
				for i, mutant := range g.parts {
					part := p
					part.mutant, part.where = mutant, fmt.Sprintf("%s part %d", p.where, i+1)
					all = append(all, part)
				}
			}
		}
	}
	return all, nil
}
