package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// median returns the median of value over the items.
func median[T any](items []T, value func(*T) float64) float64 {
	v := make([]float64, len(items))
	for i := range items {
		v[i] = value(&items[i])
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// printMachine prints the machine and the time of the measurements.
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

// printHead prints the head of the main table. All but the last five columns are CPU
// seconds. "two" is the wall time of the program with two workers, and "ideal" its CPU
// seconds with one, divided by the gain of two floors.
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

// runCopies prints a conversion without codecs next to cp of the same input.
func (b *bench) runCopies() error {
	c := benchCase{set: "mail", codec: "null"}
	if !b.selects("cp", c) {
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

// growth are the cases whose peak memory is compared with that of ten times as many rows.
// Each has several row groups even with the smaller number, because one is mapped while
// the previous one is written.
var growth = []struct {
	benchCase
	rows int64
}{
	{benchCase{set: "mail", codec: "snappy", rowGroup: 32 << 20}, 300_000},
	{benchCase{set: "flat1000", codec: "snappy", rowGroup: 64 << 20}, 40_000},
}

// growthRuns is the maximum of runs: peaks hardly differ.
const growthRuns = 3

// runGrowth prints the peak memory with a number of rows and with ten times as many.
func (b *bench) runGrowth() error {
	head := sync.OnceFunc(func() {
		fmt.Printf("\n| memory | row group MiB | rows | peak MiB | rows | peak MiB | ratio |\n|---|---:|---:|---:|---:|---:|---:|\n")
	})
	for _, c := range growth {
		if !b.selects("memory", c.benchCase) {
			continue
		}
		head()
		if err := b.runGrowthOf(c.benchCase, max(int64(float64(c.rows)*b.scale), 1)); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

func (b *bench) runGrowthOf(c benchCase, rows int64) error {
	fmt.Printf("| %s | %d |", c.name(), c.rowGroup>>20)
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
