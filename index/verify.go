package index

import (
	"bytes"
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Verifier checks the index of an output.
type Verifier struct {
	Index Index
	// Parts are those of the output.
	Parts []manifest.Part
	// Open opens a file of the index by its name in the manifest.
	Open func(ctx context.Context, name string) (store.File, error)
	// Memory accounts for what is read; nil if nobody does.
	Memory column.Account

	rows  map[[2]uint32]int64 // of the row groups
	last  []byte              // key
	at    Position            // of that
	keys  int64
	nulls int64
}

// Verify reads every byte of the files and checks them as HFiles, that they have the keys and
// the number of rows that the manifest says, in order, that there are rows where they lead to,
// and that they have all rows but those without a key. It returns the first damage, and ends at
// what is none.
func (v *Verifier) Verify(ctx context.Context) error {
	v.rows = make(map[[2]uint32]int64, len(v.Parts))
	total := int64(0)
	for _, p := range v.Parts {
		v.rows[[2]uint32{uint32(p.Task), uint32(p.RowGroup)}] = p.Rows
		total += p.Rows
	}
	name := ""
	for i, f := range v.Index.Files {
		if err := v.file(ctx, i, &f); err != nil {
			return err
		}
		name = f.Name
	}
	//guard: rows would not be found by their keys
	if v.keys+v.nulls != total {
		return damage.New(damage.Count, name, -1, "the index %s has %d keys and %d rows without one, the output %d rows", v.Index.Fields, v.keys, v.nulls, total)
	}
	return nil
}

// file checks a file of the index.
func (v *Verifier) file(ctx context.Context, number int, f *manifest.File) (err error) {
	in, err := v.Open(ctx, f.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	//guard: another file would be taken for the index
	if in.Size() != f.Bytes {
		return damage.New(damage.Size, in.Name(), -1, "the file has %d bytes, the manifest says %d", in.Size(), f.Bytes)
	}
	r, err := hfile.Open(in, in.Size(), hfile.OpenOptions{Name: in.Name(), Memory: v.Memory})
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Verify(ctx); err != nil {
		return err
	}
	nulls, err := nullsOf(r)
	if err != nil {
		return err
	}
	//guard: the index of other fields would be asked for these
	if fields := string(r.Info().Value(infoFields)); fields != v.Index.Fields || number > 0 && nulls != v.nulls {
		return damage.New(damage.Value, r.Name(), r.Trailer().FileInfo, "the file is of the index %q with %d rows without a key, expected %q with %d", fields, nulls, v.Index.Fields, v.nulls)
	}
	v.nulls = nulls
	return v.cells(r, f.Keys)
}

// cells checks the keys of a file and where they lead to.
func (v *Verifier) cells(r *hfile.Reader, keys *manifest.KeyRange) error {
	s := r.Scan()
	defer s.Close()
	wrong := func(reason string, args ...any) error {
		return damage.New(damage.Value, r.Name(), -1, reason, args...)
	}
	n := int64(0)
	for ; s.Next(); n++ {
		key := s.Key()
		//guard: a position would be read beyond its cell
		if len(key.Qualifier()) != positionSize {
			return wrong("the cell %s has no position of %d bytes", key, positionSize)
		}
		p := parsePosition(key.Qualifier())
		//guard: a look-up would end in a row that is not there
		if rows, ok := v.rows[[2]uint32{p.Task, p.Group}]; !ok || int64(p.Row) >= rows {
			return wrong("the cell %s leads to row %d of row group %d of task %d, which is not there", key, p.Row, p.Group, p.Task)
		}
		//guard: look-ups would leave out the file, and rows in it
		if n == 0 && !bytes.Equal(key.Row(), keys.First) {
			return wrong("the first key is %x, the manifest says %x", key.Row(), keys.First)
		}
		//guard: a row could be there twice, in the place of another
		if v.keys > 0 && (bytes.Compare(v.last, key.Row()) > 0 || bytes.Equal(v.last, key.Row()) && !v.at.before(p)) {
			return wrong("the cell %s is not behind the one in front of it", key)
		}
		v.last, v.at = append(v.last[:0], key.Row()...), p
		v.keys++
	}
	if err := s.Err(); err != nil {
		return err
	}
	//guard: look-ups would leave out the file, and rows in it
	if n != keys.Entries || n > 0 && !bytes.Equal(v.last, keys.Last) {
		return wrong("the file has %d keys up to %x, the manifest says %d up to %x", n, v.last, keys.Entries, keys.Last)
	}
	return nil
}

// before reports whether a row is in front of another.
func (p Position) before(q Position) bool {
	if p.Task != q.Task {
		return p.Task < q.Task
	}
	if p.Group != q.Group {
		return p.Group < q.Group
	}
	return p.Row < q.Row
}
