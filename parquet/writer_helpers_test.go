package parquet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// groupMaker shreds rows, and builds a file of them in memory. It checks the bounds of sizes.
type groupMaker struct {
	t        testing.TB
	mapping  *shred.Mapping
	bufs     *column.Buffers
	shredder *shred.Shredder
	group    *rowGroup
	rows     int64
	spills   [][]byte
	block    column.Block
}

func newGroupMaker(t testing.TB, schema string, o options, blockSize int) *groupMaker {
	t.Helper()
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	m, err := shred.Map(parsed, shred.Options{RecursiveBytes: true})
	testenv.Must(t, err)
	group, err := newPart(&o, schema, m.Columns, blockSize)
	testenv.Must(t, err)
	return makerOf(t, m, group, blockSize)
}

// makerOf builds a row group with blocks of blockSize.
func makerOf(t testing.TB, m *shred.Mapping, group *rowGroup, blockSize int) *groupMaker {
	g := &groupMaker{t: t, mapping: m, group: group, bufs: column.NewBuffers(m.Columns, column.Levels, blockSize), spills: make([][]byte, len(m.Columns))}
	g.shredder = shred.NewShredder(m, g.bufs)
	return g
}

// row adds a row.
func (g *groupMaker) row(datum []byte) {
	g.t.Helper()
	n, err := g.shredder.Row(datum)
	testenv.Must(g.t, err)
	if n != len(datum) {
		g.t.Fatalf("a row of %d bytes, shredded %d", len(datum), n)
	}
	g.rows++
	for _, col := range g.bufs.Due() {
		g.close(col)
	}
	g.bufs.ClearDue()
}

// close encodes the open block of a column.
func (g *groupMaker) close(col int) {
	g.t.Helper()
	g.bufs.Cols[col].Finish(g.rows, &g.block)
	b := &g.block
	bound := g.group.Bound(col, b.Rows, len(b.Data), len(b.Lengths))
	job, err := g.group.Begin(col, b)
	testenv.Must(g.t, err)
	most := job.Bound()
	before, size := len(g.spills[col]), g.group.Size()
	g.spills[col], err = job.Encode(g.spills[col])
	testenv.Must(g.t, err)
	stored := len(g.spills[col]) - before
	testenv.Must(g.t, g.group.End(col, job, stored))
	if int64(stored) > most {
		g.t.Errorf("column %s: a block of %d bytes; the job's bound is %d", g.mapping.Columns[col].Name, stored, most)
	}
	if grown := g.group.Size() - size; grown > bound {
		g.t.Errorf("column %s: a block of %d rows, %d bytes and %d lengths adds %d bytes; the bound is %d",
			g.mapping.Columns[col].Name, b.Rows, len(b.Data), len(b.Lengths), grown, bound)
	}
}

// finish returns the file.
func (g *groupMaker) finish() []byte {
	g.t.Helper()
	for col := range g.bufs.Cols {
		if g.bufs.Cols[col].FirstRow() < g.rows {
			g.close(col)
		}
	}
	before := g.group.Size()
	outputs, err := g.group.Finish(g.rows)
	testenv.Must(g.t, err)
	file := resolve(outputs[0], g.spills)
	if n := int64(len(file)); n != outputs[0].Size || n != g.group.Size() || n > before {
		g.t.Errorf("a file of %d bytes: the output says %d, the row group %d, and %d before the end", n, outputs[0].Size, g.group.Size(), before)
	}
	return file
}

// resolve returns the bytes of an output.
func resolve(out format.Output, spills [][]byte) []byte {
	var file bytes.Buffer
	for _, p := range out.Pieces {
		if p.Column < 0 {
			file.Write(p.Literal)
		} else {
			file.Write(spills[p.Column][p.Offset : p.Offset+p.Length])
		}
	}
	return file.Bytes()
}

// fileOf returns the file of rows.
func fileOf(t testing.TB, schema string, o options, blockSize int, rows [][]byte) []byte {
	t.Helper()
	g := newGroupMaker(t, schema, o, blockSize)
	for _, r := range rows {
		g.row(r)
	}
	return g.finish()
}

// levelEntry is an entry of a leaf. value has the value as statistics have it, or nil.
type levelEntry struct {
	rep, def int
	value    []byte
}

// reference finds the entries of rows by Parquet's definition, slowly.
type reference struct {
	tree    *tree
	leafOf  map[int]int // by column, only of leaves
	entries [][]levelEntry
	b       []byte
}

func newReference(t testing.TB, schema string) *reference {
	t.Helper()
	tree, err := newTree(schema, timesExact)
	testenv.Must(t, err)
	r := &reference{tree: tree, leafOf: map[int]int{}, entries: make([][]levelEntry, len(tree.leaves))}
	for i := range tree.leaves {
		r.leafOf[tree.leaves[i].number] = i
	}
	return r
}

func (r *reference) row(datum []byte) {
	r.b = datum
	r.value(r.tree.mapping.Root(), -1, 0, 0, 0)
}

func (r *reference) add(col int, e levelEntry) {
	i := r.leafOf[col]
	r.entries[i] = append(r.entries[i], e)
}

// absent adds an entry to each leaf below a place.
func (r *reference) absent(p shred.Place, lengths, rep, def int) {
	switch {
	case p.Raw() || p.Leaf():
		r.add(p.Column(), levelEntry{rep, def, nil})
	case empty(p):
		if lengths >= 0 {
			r.add(lengths, levelEntry{rep, def, nil})
		}
	case p.Type().Kind == shred.KindRecord:
		for i := range p.Type().Fields {
			r.absent(p.Field(i), -1, rep, def)
		}
	case p.Type().Kind == shred.KindArray:
		r.absent(p.Items(), p.Column(), rep, def)
	case p.Type().Kind == shred.KindMap:
		r.add(p.Key(), levelEntry{rep, def, nil})
		r.absent(p.Items(), -1, rep, def)
	default:
		for i := range p.Type().Branches {
			if lengths, branch := p.Branch(i); lengths >= 0 {
				r.absent(branch, lengths, rep, def)
			}
		}
	}
}

// value adds the entries of the datum at a place that is there, inside depth lists.
func (r *reference) value(p shred.Place, lengths, rep, def, depth int) {
	switch kind := p.Type().Kind; {
	case kind == shred.KindRecord && !empty(p):
		for i := range p.Type().Fields {
			r.value(p.Field(i), -1, rep, def, depth)
		}
	case kind == shred.KindArray, kind == shred.KindMap:
		r.list(p, rep, def, depth)
	case kind == shred.KindUnion && !empty(p):
		r.union(p, rep, def, depth)
	case empty(p):
		r.skipEmpty(p)
		if lengths >= 0 {
			r.add(lengths, levelEntry{rep, def, []byte{1}})
		}
	default:
		r.add(p.Column(), levelEntry{rep, def, r.simple(p)})
	}
}

// skipEmpty passes over the datum of a place without columns.
func (r *reference) skipEmpty(p shred.Place) {
	switch p.Type().Kind {
	case shred.KindRecord:
		for i := range p.Type().Fields {
			r.skipEmpty(p.Field(i))
		}
	case shred.KindUnion:
		r.varint()
	}
}

func (r *reference) list(p shred.Place, rep, def, depth int) {
	first := true
	for n := r.varint(); n != 0; n = r.varint() {
		for range n {
			at := rep
			if !first {
				at = depth + 1
			}
			first = false
			if p.Type().Kind == shred.KindMap {
				r.add(p.Key(), levelEntry{at, def + 1, r.sized()})
				r.value(p.Items(), -1, at, def+1, depth+1)
			} else {
				r.value(p.Items(), p.Column(), at, def+1, depth+1)
			}
		}
	}
	if first {
		r.absent(p, -1, rep, def)
	}
}

func (r *reference) union(p shred.Place, rep, def, depth int) {
	chosen := int(r.varint())
	_, optional := p.Type().Optional()
	null := p.Type().Branches[chosen].Kind == shred.KindNull
	if null {
		r.absent(p, -1, rep, def)
		return
	}
	if optional < 0 {
		for _, b := range p.Type().Branches {
			if b.Kind == shred.KindNull {
				def++
			}
		}
	}
	for i := range p.Type().Branches {
		switch lengths, branch := p.Branch(i); {
		case i == chosen:
			r.value(branch, lengths, rep, def+1, depth)
		case lengths >= 0:
			r.absent(branch, lengths, rep, def)
		}
	}
}

func (r *reference) varint() int64 {
	v, n := binary.Varint(r.b)
	r.b = r.b[n:]
	return v
}

func (r *reference) take(n int) []byte {
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reference) sized() []byte { return r.take(int(r.varint())) }

func (r *reference) simple(p shred.Place) []byte {
	n := p.Type()
	switch n.Kind {
	case shred.KindNull:
		return nil
	case shred.KindBoolean:
		return r.take(1)
	case shred.KindInt:
		return binary.LittleEndian.AppendUint32(nil, uint32(r.varint()))
	case shred.KindLong:
		return binary.LittleEndian.AppendUint64(nil, uint64(r.varint()))
	case shred.KindFloat:
		return r.take(4)
	case shred.KindDouble:
		return r.take(8)
	case shred.KindEnum:
		return []byte(n.Symbols[r.varint()])
	case shred.KindFixed:
		return r.take(n.Size)
	}
	return r.sized()
}
