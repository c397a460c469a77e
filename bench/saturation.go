package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// saturated are sets of one row group each.
var saturated = []struct {
	benchCase
	rows int64
}{
	{benchCase{set: "mail", codec: "snappy"}, 300_000},
	{benchCase{set: "deep", codec: "snappy"}, 300_000},
	{benchCase{set: "flat400", codec: "snappy"}, 60_000},
}

// saturation has one round's measurements of a row group's pipeline.
type saturation struct {
	read, decode, shred, encode, spill, write clock
	// free is a whole conversion whose codecs take no time, on all cores.
	free clock
}

// runSaturation prints the throughput of one goroutine of each stage, and from it the number
// of workers beyond which a row group gains nothing.
func (b *bench) runSaturation() error {
	head := sync.OnceFunc(func() {
		fmt.Printf("\n| one row group | MB | read | decode | shred | encode | spill | write | shred + spill | workers | cores | all but codecs | without codecs |\n")
		fmt.Println("|---" + strings.Repeat("|---:", 12) + "|")
	})
	for _, c := range saturated {
		if !b.selects("saturation", c.benchCase) {
			continue
		}
		head()
		rows := int64(float64(c.rows) * b.scale)
		if err := b.runSaturationOf(c.benchCase, rows); err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
	}
	return nil
}

func (b *bench) runSaturationOf(c benchCase, rows int64) error {
	input, err := b.generate(c.set, c.codec, rows)
	if err != nil {
		return err
	}
	w, err := load(conversion{input: input, dir: b.dir, columns: c.codec})
	if err != nil {
		return err
	}
	plain := w.conversion
	if plain.input, err = b.generate(c.set, "null", rows); err != nil {
		return err
	}
	plain.workers = runtime.NumCPU()
	free := newFreeFormat(w)
	rounds := make([]saturation, b.runs)
	for i := range rounds {
		runtime.GC()
		r := &rounds[i]
		_, err := plain.run(&r.free, free)
		if err := errors.Join(err, w.read(&r.read), w.decode(&r.decode), w.shred(&r.shred), w.encode(&r.encode),
			w.spill(&r.spill), w.write(&r.write)); err != nil {
			return err
		}
	}
	printSaturation(c, w, rounds)
	return nil
}

func printSaturation(c benchCase, w *workload, rounds []saturation) {
	size, _ := w.sizes()
	seconds := func(of func(*saturation) float64) float64 { return median(rounds, of) }
	stage := func(of func(*saturation) clock) float64 {
		return seconds(func(s *saturation) float64 { return of(s).cpu.Seconds() })
	}
	read, decode := stage(func(s *saturation) clock { return s.read }), stage(func(s *saturation) clock { return s.decode })
	shred, encode := stage(func(s *saturation) clock { return s.shred }), stage(func(s *saturation) clock { return s.encode })
	spill, write := stage(func(s *saturation) clock { return s.spill }), stage(func(s *saturation) clock { return s.write })
	fmt.Printf("| %s, %d rows | %d |", c.name(), w.rows(), size/1e6)
	for _, s := range []float64{read, decode, shred, encode, spill, write, shred + spill} {
		fmt.Printf(" %.0f |", float64(size)/1e6/s)
	}
	fmt.Printf(" %.0f | %.1f | %.2f | %.2f |\n", math.Ceil(max(decode, encode)/(shred+spill)),
		(read+decode+shred+encode+spill)/(shred+spill), shred+spill+write,
		seconds(func(s *saturation) float64 { return s.free.wall.Seconds() }))
}

// read reads the input's blocks and does not decompress them.
func (w *workload) read(t *clock) error {
	return t.time(func() error {
		for _, name := range w.files {
			if err := scanFile(name, func(*ocf.Header, *ocf.Block) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
}

// freeFormat encodes the blocks of a workload by copying their earlier encodings. So the
// pipeline around it runs as if any number of cores compressed.
type freeFormat struct {
	format.ColumnWriter
	stored map[blockKey][]byte
}

// blockKey identifies a block. A checksum costs far less than a codec.
type blockKey struct {
	column int
	row    int64
	crc    uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func keyOf(col int, b *column.Block) blockKey {
	return blockKey{col, b.FirstRow, crc32.Checksum(b.Data, castagnoli)}
}

func newFreeFormat(w *workload) *freeFormat {
	f := &freeFormat{w.writer(), map[blockKey][]byte{}}
	for _, g := range w.groups {
		for i := range g.blocks {
			f.stored[keyOf(g.blocks[i].column, &g.blocks[i].Block)] = g.stored[i]
		}
	}
	return f
}

func (f *freeFormat) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	rg, err := f.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	return &freeRowGroup{rg, f.stored}, err
}

type freeRowGroup struct {
	format.RowGroup
	stored map[blockKey][]byte
}

func (g *freeRowGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	job, err := g.RowGroup.Begin(col, b)
	return &freeJob{job, col, b, g.stored}, err
}

func (g *freeRowGroup) End(col int, job format.EncodeJob, stored int) error {
	return g.RowGroup.End(col, job.(*freeJob).EncodeJob, stored)
}

// freeJob encodes only blocks that freeFormat does not know, such as those of the plan's
// sample.
type freeJob struct {
	format.EncodeJob
	column int
	block  *column.Block
	stored map[blockKey][]byte
}

func (j *freeJob) Encode(dst []byte) ([]byte, error) {
	if stored, ok := j.stored[keyOf(j.column, j.block)]; ok {
		return append(dst, stored...), nil
	}
	return j.EncodeJob.Encode(dst)
}

// workerCounts are the numbers of workers, and of threads, that runWorkers tries.
var workerCounts = []int{1, 2, 4, 8, 16}

// workerCases have the same rows in one row group and in many small ones.
var workerCases = []struct {
	name string
	benchCase
}{
	{"one row group", benchCase{set: "mail", codec: "snappy"}},
	{"row groups of 8 MiB", benchCase{set: "mail", codec: "snappy", rowGroup: 8 << 20}},
}

// runWorkers prints the cost of more workers, on the available cores.
func (b *bench) runWorkers() error {
	head := sync.OnceFunc(func() {
		fmt.Printf("\n| CPU s / wall s / peak MiB |")
		for _, n := range workerCounts {
			fmt.Printf(" --workers %d |", n)
		}
		fmt.Println("\n|---" + strings.Repeat("|---:", len(workerCounts)) + "|")
	})
	for _, c := range workerCases {
		if !b.selects("workers", c.benchCase) {
			continue
		}
		head()
		input, err := b.generate(c.set, c.codec, 0)
		if err != nil {
			return err
		}
		runs := make([][]usage, b.runs)
		for i := range runs {
			runs[i] = make([]usage, len(workerCounts))
			for j, n := range workerCounts {
				if runs[i][j], err = b.convert(c.benchCase, input, n); err != nil {
					return fmt.Errorf("%s, %d workers: %w", filepath.Base(input), n, err)
				}
			}
		}
		fmt.Printf("| %s |", c.name)
		for j := range workerCounts {
			of := func(value func(usage) float64) float64 {
				return median(runs, func(r *[]usage) float64 { return value((*r)[j]) })
			}
			fmt.Printf(" %.2f / %.2f / %.0f |", of(func(u usage) float64 { return u.CPU.Seconds() }),
				of(func(u usage) float64 { return u.Wall.Seconds() }), of(func(u usage) float64 { return float64(u.Peak) / (1 << 20) }))
		}
		fmt.Println()
	}
	return nil
}
