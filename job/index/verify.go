package index

import (
	"bytes"
	"context"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Verifier checks the index of an output.
type Verifier struct {
	Index Index
	// Parts are the parts of the output.
	Parts []manifest.Part
	// Open opens the files of the index.
	Open OpenFunc
	// Rows returns the rows of the parts, with at least the fields of the index. Verify
	// closes them. If it is nil, Verify does not compare the index with the rows.
	Rows func(ctx context.Context) (Rows, error)
	// Memory accounts for the memory of reading; may be nil.
	Memory column.Account

	rows         map[[2]uint32]int64 // numbers of rows of row groups, by task and row group
	last         []byte              // the last key
	lastPosition Position            // position of the last key
	cells        rowKeys
	buf          []byte
}

// Verify reads every byte of the files and checks that they are sound HFiles. It checks that they
// have the keys and the number of rows that the manifest says, in order. It also checks that there
// is an entry for each row that has a key, and no other entry. Verify stops at the first damage or
// other error and returns it.
func (v *Verifier) Verify(ctx context.Context) error {
	v.rows = make(map[[2]uint32]int64, len(v.Parts))
	for _, p := range v.Parts {
		v.rows[[2]uint32{uint32(p.Task), uint32(p.RowGroup)}] = p.Rows
	}
	name := ""
	for i := range v.Index.Files {
		var err error
		if name, err = v.file(ctx, i); err != nil {
			return err
		}
	}
	if v.Rows == nil {
		return nil
	}
	rows, err := v.Rows(ctx)
	if err != nil {
		return err
	}
	defer rows.Close()
	want, err := keysOf(ctx, v.Index.Fields, v.Parts, rows)
	if err != nil {
		return err
	}
	//guard: rejects an index with another number of keys than rows
	if v.cells.keys != want.keys || v.cells.nulls != want.nulls {
		return damage.New(damage.Count, name, -1, "the index %s has %d keys and %d rows without one, the output %d and %d",
			v.Index.Fields, v.cells.keys, v.cells.nulls, want.keys, want.nulls)
	}
	//guard: rejects an index with the keys of other rows
	if v.cells.sum != want.sum {
		return damage.New(damage.Value, name, -1, "the index %s has other keys than the rows", v.Index.Fields)
	}
	return nil
}

// file checks a file of the index and returns its name.
func (v *Verifier) file(ctx context.Context, number int) (name string, err error) {
	f, err := v.Index.open(ctx, number, v.Open, v.Memory)
	if err != nil {
		return "", err
	}
	defer f.close()
	if err := f.r.Verify(ctx); err != nil {
		return "", err
	}
	nulls, err := nullsOf(f.r)
	if err != nil {
		return "", err
	}
	//guard: rejects files of two indexes
	if number > 0 && nulls != v.cells.nulls {
		return "", damage.New(damage.Value, f.r.Name(), f.r.Trailer().FileInfo, "the file is of an index with %d rows without a key, the files before it of one with %d", nulls, v.cells.nulls)
	}
	v.cells.nulls = nulls
	return f.r.Name(), v.keys(f, v.Index.Files[number].Keys)
}

// keys checks the keys and the positions in a file.
func (v *Verifier) keys(f *openFile, listed *manifest.KeyRange) error {
	wrong := func(reason string, args ...any) error {
		return damage.New(damage.Value, f.r.Name(), -1, reason, args...)
	}
	for n := 0; f.s.Next(); n++ {
		key := f.s.Key()
		p, err := f.position()
		if err != nil {
			return err
		}
		//guard: rejects a position beyond the rows
		if int64(p.Row) >= v.rows[[2]uint32{p.Task, p.Group}] { // 0 if the row group does not exist
			return wrong("the cell %s leads to row %d of row group %d of task %d, which is not there", key, p.Row, p.Group, p.Task)
		}
		//guard: rejects a first key that differs from the manifest's
		if n == 0 && !bytes.Equal(key.Row(), listed.First) {
			return wrong("the first key is %x, the manifest says %x", key.Row(), listed.First)
		}
		//guard: rejects a position that is listed twice
		if v.cells.keys > 0 && (bytes.Compare(v.last, key.Row()) > 0 || bytes.Equal(v.last, key.Row()) && !v.lastPosition.before(p)) {
			return wrong("the cell %s does not sort after the previous one", key)
		}
		v.last, v.lastPosition = append(v.last[:0], key.Row()...), p
		v.buf = p.append(append(v.buf[:0], key.Row()...))
		v.cells.add(v.buf)
	}
	return f.s.Err()
}

// before reports whether p is before q.
func (p Position) before(q Position) bool {
	if p.Task != q.Task {
		return p.Task < q.Task
	}
	if p.Group != q.Group {
		return p.Group < q.Group
	}
	return p.Row < q.Row
}
