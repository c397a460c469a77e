package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// OpenFile opens one column file. The caller closes the store's file, after
// which the column file cannot be read.
func OpenFile(ctx context.Context, st store.Store, name string) (*trevni.File, store.File, error) {
	in, err := st.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	f, err := ReadHeader(in, name)
	if err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return f, in, nil
}

// ReadHeader opens a column file, and tells what an Avro file is that was
// taken for one. name is for messages.
func ReadHeader(in store.File, name string) (*trevni.File, error) {
	f, err := trevni.Open(in, in.Size(), name)
	if err != nil && IsAvro(in) {
		return nil, fmt.Errorf("%w (this is an Avro object container file: convert it first)", err)
	}
	return f, err
}

// IsAvro says whether a file begins as Avro object container files do.
func IsAvro(in store.File) bool {
	var magic [4]byte
	n, _ := in.ReadAt(magic[:], 0) // a file too short or unreadable is no Avro file
	return n == 4 && string(magic[:]) == "Obj\x01"
}

// mapFile finds how the schema in a file became its columns. Whether a
// recursive part was kept as bytes shows in the columns alone.
func mapFile(f *trevni.File) (*shred.Mapping, error) {
	if f.Schema() == "" {
		return nil, damage.New(damage.Schema, f.Name(), -1, "the file has no Avro schema, so its columns cannot become rows")
	}
	schema, err := shred.ParseSchema(f.Schema())
	if err != nil {
		return nil, in(f.Name(), err)
	}
	m, err := shred.Map(schema, shred.Options{})
	if err != nil {
		if m, err = shred.Map(schema, shred.Options{RecursiveBytes: true}); err != nil {
			return nil, in(f.Name(), err)
		}
	}
	return m, checkColumns(f, m)
}

// checkColumns compares a file's columns with those that the schema makes.
func checkColumns(f *trevni.File, m *shred.Mapping) error {
	cols := f.Columns()
	//guard: columns would be taken for fields that they are not
	if len(cols) != len(m.Columns) {
		return damage.New(damage.Schema, f.Name(), -1, "the schema makes %d columns, the file has %d", len(m.Columns), len(cols))
	}
	for i := range cols {
		//guard: columns would be taken for fields that they are not
		if want := m.Columns[i]; !sameColumn(cols[i].Column, want) {
			return damage.New(damage.Schema, f.Name(), -1, "the schema makes column %d %q, the file has %q", i, want.Name, cols[i].Name)
		}
	}
	return nil
}

// sameColumn compares columns but for what files do not say: which arrays are
// branches of unions.
func sameColumn(a, b column.Column) bool {
	a.Optional = b.Optional
	return a == b
}

// in names the file that an error is about, if it does not.
func in(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
