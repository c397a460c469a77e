package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// maxInputBlock is the program's default.
const maxInputBlock = 512 << 20

// workload is a data set in memory, in its form between each two stages.
type workload struct {
	conversion
	files     []string
	codec     string // of the input
	stored    []ocf.Block
	decoded   [][]byte // rows of each stored block
	mapping   *shred.Mapping
	blockSize int
	groups    []*rowGroup
}

// conversion is a call of job.Convert with the program's defaults.
type conversion struct {
	input, dir string // a file or a directory; a place for temporary files
	format     string // empty for Trevni
	columns    string // codec of Trevni's columns
	memory     int64
	workers    int // 0 is one
}

// must is for arguments that are constants.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// writers are the writers of the other formats, with default options.
var writers = map[string]format.ColumnWriter{"cfile": must(cfile.Format.Writer(nil)).(format.ColumnWriter)}

func (c *conversion) writer() format.ColumnWriter {
	if c.format != "" {
		return writers[c.format]
	}
	return trevni.NewGroupWriter(trevni.Options{Codec: c.columns, Checksum: trevni.ChecksumJava})
}

// formats returns the format of the conversion with writer w.
func (c *conversion) formats(w format.ColumnWriter) format.Registry {
	if c.format == "cfile" {
		return format.Registry{withWriter{cfile.Format, w}}
	}
	return format.Registry{withWriter{trevni.Format, w}}
}

// pool is the memory of the conversion; nil is the default.
func (c *conversion) pool() *budget.Pool {
	if c.memory == 0 {
		return nil
	}
	return budget.New(c.memory)
}

// run converts the input in this process and removes the output. The clock measures only the
// conversion.
func (c *conversion) run(t *clock, f format.ColumnWriter) (p *manifest.Plan, err error) {
	out := filepath.Join(c.dir, "converted")
	err = t.time(func() error {
		outcome, err := job.Convert(context.Background(), job.Request{
			Options: job.Options{Environment: task.Environment{Workers: max(c.workers, 1), Memory: c.pool(), TempDir: c.dir, Formats: c.formats(f)}},
			Asked: plan.Asked{Inputs: []string{c.input}, Dest: out, Output: manifest.Options{
				Format: cmp.Or(c.format, "trevni"), RowGroupSize: 128 << 20, OnDamage: "fail", MaxInputBlock: maxInputBlock, MaxLostRows: -1,
			}},
		})
		if err == nil {
			p = outcome.Plan
		}
		return err
	})
	return p, errors.Join(err, os.RemoveAll(out))
}

// withWriter is a format with the writer to measure.
type withWriter struct {
	format.Format
	writer format.ColumnWriter
}

func (w withWriter) Writer(json.RawMessage) (format.Writer, error) { return w.writer, nil }

// load reads the input of a conversion, and converts it once for its column blocks.
func load(c conversion) (*workload, error) {
	w := &workload{conversion: c, files: []string{c.input}}
	if info, err := os.Stat(c.input); err != nil {
		return nil, err
	} else if info.IsDir() {
		if w.files, err = filepath.Glob(filepath.Join(c.input, "*.avro")); err != nil {
			return nil, err
		}
	}
	for _, name := range w.files {
		if err := w.loadFile(name); err != nil {
			return nil, err
		}
	}
	r := &recorder{ColumnWriter: c.writer()}
	plan, err := c.run(new(clock), r)
	if err != nil {
		return nil, err
	}
	w.blockSize, w.groups = plan.BlockSize, r.groups
	schema, err := shred.ParseSchema(plan.Schema)
	if err != nil {
		return nil, err
	}
	if w.mapping, err = shred.Map(schema, shred.Options{}); err != nil {
		return nil, err
	}
	for _, g := range w.groups {
		if err := g.store(c.writer()); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// loadFile reads and decodes the blocks of a file.
func (w *workload) loadFile(name string) error {
	var d *ocf.Decoder
	return scanFile(name, func(h *ocf.Header, b *ocf.Block) (err error) {
		if d == nil {
			w.codec = h.Codec
			if d, err = ocf.NewDecoder(h.Codec, maxInputBlock); err != nil {
				return err
			}
		}
		kept := *b
		kept.Data = slices.Clone(b.Data)
		rows, err := d.Decode(nil, &kept, name)
		w.stored = append(w.stored, kept)
		w.decoded = append(w.decoded, rows)
		return err
	})
}

// scanFile calls do for each block of a file in its stored form.
func scanFile(name string, do func(*ocf.Header, *ocf.Block) error) error {
	ctx := context.Background()
	f, err := store.Local().Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	h, err := ocf.ReadHeader(f, f.Size(), name)
	if err != nil {
		return err
	}
	s := ocf.NewScanner(f, f.Size(), name, h, ocf.Range{End: f.Size()})
	for b := new(ocf.Block); ; {
		err := s.Next(ctx, b)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(h, b)
		}
		if err != nil {
			return err
		}
	}
}

// rows counts the rows of the input.
func (w *workload) rows() (n int64) {
	for i := range w.stored {
		n += w.stored[i].Rows
	}
	return n
}

// sizes returns the bytes of the input's blocks, decoded and stored.
func (w *workload) sizes() (decoded, stored int64) {
	for i := range w.stored {
		decoded += int64(len(w.decoded[i]))
		stored += int64(len(w.stored[i].Data))
	}
	return decoded, stored
}

// recorder is a format that keeps a copy of every raw block of finished row groups; those of
// the plan's sample are not finished.
type recorder struct {
	format.ColumnWriter
	mu     sync.Mutex
	groups []*rowGroup
}

func (r *recorder) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	rg, err := r.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	return &recording{RowGroup: rg, to: r, group: &rowGroup{schema: schema, columns: cols, blockSize: blockSize}}, err
}

type recording struct {
	format.RowGroup
	to    *recorder
	group *rowGroup
}

func (g *recording) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	kept := *b
	kept.Data, kept.Lengths = slices.Clone(b.Data), slices.Clone(b.Lengths)
	g.group.blocks = append(g.group.blocks, rawBlock{col, kept})
	return g.RowGroup.Begin(col, b)
}

func (g *recording) Finish(rows int64) ([]format.Output, error) {
	g.group.rows = rows
	g.to.mu.Lock()
	g.to.groups = append(g.to.groups, g.group)
	g.to.mu.Unlock()
	return g.RowGroup.Finish(rows)
}

// rowGroup has the raw and the stored blocks of a row group, in the order in which they were
// begun, and the outputs made from them.
type rowGroup struct {
	schema    string
	columns   []column.Column
	blockSize int
	rows      int64
	blocks    []rawBlock
	stored    [][]byte
	outputs   []format.Output
}

type rawBlock struct {
	column int
	column.Block
}

// store encodes the blocks and keeps the results.
func (g *rowGroup) store(f format.ColumnWriter) error {
	rg, err := g.encode(f, func(stored []byte) { g.stored = append(g.stored, slices.Clone(stored)) })
	if err == nil {
		g.outputs, err = rg.Finish(g.rows)
	}
	return err
}

// encode compresses and checksums all blocks. The argument of each is valid during the call.
func (g *rowGroup) encode(f format.ColumnWriter, each func(stored []byte)) (format.RowGroup, error) {
	rg, err := f.NewRowGroup(g.schema, g.columns, g.blockSize)
	if err != nil {
		return nil, err
	}
	var stored []byte
	for i := range g.blocks {
		b := &g.blocks[i]
		job, err := rg.Begin(b.column, &b.Block)
		if err != nil {
			return nil, err
		}
		if stored, err = job.Encode(stored[:0]); err != nil {
			return nil, err
		}
		if err := rg.End(b.column, job, len(stored)); err != nil {
			return nil, err
		}
		if each != nil {
			each(stored)
		}
	}
	return rg, nil
}
