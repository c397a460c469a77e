package mapper_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/mapper"
)

// split is a format for tests. Unlike Trevni it has the split layout, state that
// depends on the order of blocks, and two outputs per row group. A stored block has
// a checksum of the column so far, the values, and the lengths. The values of all
// columns make one output and the lengths the other; each column is preceded by a
// literal with its size.
type split struct{}

func (split) Memory(_, _ int) int64 { return 0 }
func (split) Layout() column.Layout { return column.Split }

func (split) InvalidText() column.InvalidText { return column.KeepInvalid }

// leveled is like split, but has the layout Levels.
type leveled struct{ split }

func (leveled) Layout() column.Layout { return column.Levels }

func (split) NewRowGroup(_ string, cols []column.Column, _ int) (format.RowGroup, error) {
	g := &splitGroup{cols: make([]splitColumn, len(cols))}
	return g, nil
}

// splitColumn is the state of one column.
type splitColumn struct {
	begun, ended int64 // rows
	chain        uint32
	stored       int64
	blocks       []splitBlock
}

type splitBlock struct{ offset, values, lengths int64 }

type splitGroup struct {
	cols []splitColumn
	size int64
}

// rowSum is a sink that computes a checksum of the rows' keys.
type rowSum struct {
	groups []int64 // rows of each
	keys   uint32
}

func (s *rowSum) Keys() []string { return []string{"from", "id"} }

func (s *rowSum) Row(r *mapper.Row) error {
	if r.Group == len(s.groups) {
		s.groups = append(s.groups, 0)
	}
	if r.Group != len(s.groups)-1 || r.Number != s.groups[r.Group] {
		return fmt.Errorf("row %d of row group %d after %v", r.Number, r.Group, s.groups)
	}
	// Senders contain one @.
	if id, from := r.Keys[1], r.Keys[0]; len(id) == 0 || bytes.Count(from, []byte("@")) != 1 {
		return fmt.Errorf("row %d of row group %d has the keys %q", r.Number, r.Group, r.Keys)
	}
	s.groups[r.Group]++
	s.keys = crc32.Update(s.keys, crc32.IEEETable, slices.Concat(r.Keys...))
	return nil
}

type splitJob struct {
	block *column.Block
	chain uint32
	end   int64
	ended splitBlock
}

func (g *splitGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	c := &g.cols[col]
	if b.FirstRow != c.begun || b.Rows <= 0 {
		return nil, fmt.Errorf("column %d: block of %d rows from row %d, want row %d", col, b.Rows, b.FirstRow, c.begun)
	}
	c.begun += b.Rows
	c.chain = crc32.Update(c.chain, crc32.IEEETable, b.Data)
	return &splitJob{block: b, chain: c.chain, end: c.begun, ended: splitBlock{values: int64(len(b.Data)), lengths: 4 * int64(len(b.Lengths))}}, nil
}

func (j *splitJob) Bound() int64 { return 4 + j.ended.values + j.ended.lengths }

func (j *splitJob) Encode(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint32(dst, j.chain)
	dst = append(dst, j.block.Data...)
	for _, n := range j.block.Lengths {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return dst, nil
}

func (g *splitGroup) End(col int, job format.EncodeJob, stored int) error {
	c, j := &g.cols[col], job.(*splitJob)
	if j.end <= c.ended {
		return fmt.Errorf("column %d: block up to row %d ended after row %d", col, j.end, c.ended)
	}
	c.ended = j.end
	j.ended.offset = c.stored
	c.stored += int64(stored)
	c.blocks = append(c.blocks, j.ended)
	g.size += int64(stored)
	return nil
}

func (g *splitGroup) Size() int64 { return int64(16*len(g.cols)) + g.size }

func (g *splitGroup) Bound(_ int, _ int64, data, lengths int) int64 {
	return int64(4 + data + 4*lengths)
}

func (g *splitGroup) Growth() int64 { return 1 }

func (g *splitGroup) Finish(rows int64) ([]format.Output, error) {
	values := format.Output{Name: "values"}
	lengths := format.Output{Name: "lengths"}
	for i := range g.cols {
		c := &g.cols[i]
		if c.ended != rows {
			return nil, fmt.Errorf("column %d has %d of %d rows", i, c.ended, rows)
		}
		var v, l []format.Piece
		var nv, nl int64
		for _, b := range c.blocks {
			v = append(v, format.Spilled(i, b.offset, 4+b.values))
			l = append(l, format.Spilled(i, b.offset+4+b.values, b.lengths))
			nv, nl = nv+4+b.values, nl+b.lengths
		}
		addSection(&values, v, nv)
		addSection(&lengths, l, nl)
	}
	return []format.Output{values, lengths}, nil
}

func addSection(out *format.Output, pieces []format.Piece, n int64) {
	out.Pieces = append(append(out.Pieces, format.Literal(binary.LittleEndian.AppendUint64(nil, uint64(n)))), pieces...)
	out.Size += 8 + n
}
