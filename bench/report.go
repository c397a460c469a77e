package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/datagen"
)

// median returns the middle of what value gives for each item.
func median[T any](items []T, value func(*T) float64) float64 {
	v := make([]float64, len(items))
	for i := range items {
		v[i] = value(&items[i])
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// printMachine says where and when the figures were measured.
func printMachine() {
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.Trim(name, "\t :\n")
				break
			}
		}
	}
	var memory uint64
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		memory = uint64(info.Totalram) * uint64(info.Unit) >> 30
	}
	fmt.Printf("%d × %s, %d GiB, %s, %s\n\n", runtime.NumCPU(), cpu, memory, runtime.Version(), time.Now().Format(time.DateOnly))
}

// printHead prints the head of the main table: CPU seconds but for the last
// five columns; "two" is the wall time of the program with two workers, and
// "ideal" its CPU seconds with one, divided by what two floors gain.
func printHead() {
	fmt.Printf("| %-16s | %7s | %5s | %6s | %6s | %6s | %5s |", "case", "rows", "MB", "stored", "floor", "ours", "ratio")
	for _, s := range stages {
		fmt.Printf(" %6s |", s.name)
	}
	fmt.Printf(" %6s | %8s | %6s | %6s | %8s | %6s | %5s |\n", "rest", "peak MiB", "wall 1", "wall 2", "2 floors", "ideal", "ratio")
	fmt.Println("|---" + strings.Repeat("|---:", 7+len(stages)+6) + "|")
}

func printCase(c benchCase, w *workload, rounds []round) {
	seconds := func(value func(*round) time.Duration) float64 {
		return median(rounds, func(r *round) float64 { return value(r).Seconds() })
	}
	floor := func(r *round) time.Duration { return r.decode.cpu + r.encode.cpu }
	ours := seconds(func(r *round) time.Duration { return r.ours.CPU })
	decoded, stored := w.sizes()
	fmt.Printf("| %-16s | %7d | %5d | %6d | %6.2f | %6.2f | %5.2f |", c.name(), w.rows(), decoded/1e6, stored/1e6, seconds(floor), ours,
		median(rounds, func(r *round) float64 { return r.ours.CPU.Seconds() / floor(r).Seconds() }))
	rest := ours
	for i := range stages {
		took := seconds(func(r *round) time.Duration { return r.stages[i].cpu })
		rest -= took
		fmt.Printf(" %6.2f |", took)
	}
	fmt.Printf(" %6.2f | %8.0f | %6.2f |", rest, median(rounds, func(r *round) float64 { return float64(r.ours.Peak) })/(1<<20),
		seconds(func(r *round) time.Duration { return r.ours.Wall }))
	if runtime.NumCPU() < 2 {
		fmt.Printf(" %6s | %8s | %6s | %5s |\n", "-", "-", "-", "-")
		return
	}
	fmt.Printf(" %6.2f | %8.2f | %6.2f | %5.2f |\n", seconds(func(r *round) time.Duration { return r.ours2.Wall }),
		median(rounds, func(r *round) float64 { return r.speedUp }), median(rounds, func(r *round) float64 { return r.atLeast }),
		median(rounds, func(r *round) float64 { return r.ours2.Wall.Seconds() / r.atLeast }))
}

// runCopies prints a conversion without codecs beside cp of the same input.
func (b *bench) runCopies() error {
	c := benchCase{set: "mail", codec: "null"}
	if !b.only.MatchString(c.name()) {
		return nil
	}
	input, err := b.generate(c.set, c.codec, 0)
	if err != nil {
		return err
	}
	type pair struct{ ours, copied usage }
	pairs := make([]pair, b.runs)
	for i := range pairs {
		p := &pairs[i]
		if p.ours, err = b.convert(c, input, 1); err != nil {
			return err
		}
		copied := filepath.Join(b.dir, "copied")
		if p.copied, err = measure(nil, 0, "cp", input, copied); err != nil {
			return err
		}
		if err := os.Remove(copied); err != nil {
			return err
		}
	}
	fmt.Printf("\n| null in and out | CPU s | wall s |\n|---|---:|---:|\n")
	fmt.Printf("| convert | %.2f | %.2f |\n", median(pairs, func(p *pair) float64 { return p.ours.CPU.Seconds() }),
		median(pairs, func(p *pair) float64 { return p.ours.Wall.Seconds() }))
	fmt.Printf("| cp | %.2f | %.2f |\n", median(pairs, func(p *pair) float64 { return p.copied.CPU.Seconds() }),
		median(pairs, func(p *pair) float64 { return p.copied.Wall.Seconds() }))
	fmt.Printf("| ratio | %.2f | |\n", median(pairs, func(p *pair) float64 { return p.ours.CPU.Seconds() / p.copied.CPU.Seconds() }))
	return nil
}

// growth are the cases whose peak memory is compared with that of ten times
// as many rows, in growthRuns runs at most: peaks hardly differ.
var growth = []benchCase{
	{set: "mail", codec: "snappy"},
	{set: "flat1000", codec: "snappy"},
}

const growthRuns = 3

// runGrowth prints the peak memory at a number of rows and at ten times it.
func (b *bench) runGrowth() error {
	head := false
	for _, c := range growth {
		if !b.only.MatchString(c.name()) {
			continue
		}
		if !head {
			fmt.Printf("\n| memory | rows | peak MiB | rows | peak MiB | ratio |\n|---|---:|---:|---:|---:|---:|\n")
			head = true
		}
		if err := b.runGrowthOf(c); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

func (b *bench) runGrowthOf(c benchCase) error {
	s, err := datagen.Lookup(c.set)
	if err != nil {
		return err
	}
	rows := b.rows(s)
	fmt.Printf("| %s |", c.name())
	var peaks [2]float64
	for i, n := range []int64{rows, 10 * rows} {
		input, err := b.generate(c.set, c.codec, n)
		if err != nil {
			return err
		}
		runs := make([]usage, min(b.runs, growthRuns))
		for j := range runs {
			if runs[j], err = b.convert(c, input, 1); err != nil {
				return err
			}
		}
		peaks[i] = median(runs, func(u *usage) float64 { return float64(u.Peak) })
		fmt.Printf(" %d | %.0f |", n, peaks[i]/(1<<20))
	}
	fmt.Printf(" %.2f |\n", peaks[1]/peaks[0])
	return nil
}

// profileFor is how long a stage is repeated for its profile.
const profileFor = 3 * time.Second

// profileCase writes a CPU profile of each stage alone, and one of the whole
// conversion.
func profileCase(dir string, c benchCase, w *workload) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	whole := stage{"convert", func(w *workload, t *clock) error {
		_, err := w.run(t, w.format())
		return err
	}}
	for _, s := range append(slices.Clone(stages), whole) {
		name := filepath.Join(dir, fmt.Sprintf("%s-%s-%s.pprof", c.set, c.codec, s.name))
		if err := profileStage(name, w, s); err != nil {
			return fmt.Errorf("profile of %s: %w", s.name, err)
		}
	}
	return nil
}

func profileStage(name string, w *workload, s stage) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	for start := time.Now(); time.Since(start) < profileFor; {
		if err := s.run(w, new(clock)); err != nil {
			return err
		}
	}
	return nil
}
