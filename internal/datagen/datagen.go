package datagen

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// Set is a data set: a schema, and any number of rows.
type Set struct {
	Name  string
	About string
	// Rows is the number of rows of the full size, in all files.
	Rows int64
	// Files is the number of files; a set of more than one is a directory.
	Files int64

	marker string // prefix of the sync markers in the set's files
	schema func() string
	rows   func(seed uint64) rows
}

// rows generates the rows of a file.
type rows interface {
	// Append appends the next row's Avro encoding to dst.
	Append(dst []byte) []byte
}

// Options choose the size and the encoding of a set.
type Options struct {
	// Rows is the number of rows in all files. 0 means the set's full size.
	Rows int64
	// Seed chooses the data. The same seed gives the same bytes.
	Seed uint64
	// Codec is the Avro codec; empty means null.
	Codec string
	// BlockSize is the number of bytes of rows at which a block is closed; 0
	// means 64 KiB.
	BlockSize int
}

var sets = []Set{
	{"mail", "nested mail: optional values, arrays, maps, records in arrays", 300_000, 1, "mailgen", mailSchema, mailRows},
	{"mails", "the same, in 100 files", 300_000, 100, "mailgen", mailSchema, mailRows},
	{"tiny", "the same, in 2,000 files of 20 rows", 40_000, 2000, "mailgen", mailSchema, mailRows},
	{"flat400", "400 simple columns, every fifth nullable", 200_000, 1, "datagen", flatSchema(400), flatRows(400)},
	{"flat1000", "1,000 simple columns, every fifth nullable", 50_000, 1, "datagen", flatSchema(1000), flatRows(1000)},
	{"sparse", "10,000 nullable columns; a row has about 100", 10_000, 1, "datagen", sparseSchema, newSparse},
	{"strings", "strings and bytes from 1 KB to 2 MB", 800, 1, "datagen", textSchema, newTexts},
	{"deep", "arrays of records of arrays and maps, four levels", 300_000, 1, "datagen", deepSchema, newOrders},
}

func mailSchema() string        { return mailgen.Schema }
func mailRows(seed uint64) rows { return mailgen.New(seed) }

// Sets returns all sets.
func Sets() []Set { return sets }

// Lookup returns the set of a name.
func Lookup(name string) (Set, error) {
	names := make([]string, 0, len(sets))
	for _, s := range sets {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Set{}, fmt.Errorf("no data set is named %q; there are %s", name, strings.Join(names, ", "))
}

// Flat returns a set of any number of simple columns, for tests that want fewer than the
// sets of Sets have.
func Flat(columns int, rows int64) Set {
	return Set{fmt.Sprintf("flat%d", columns), "simple columns", rows, 1, "datagen", flatSchema(columns), flatRows(columns)}
}

// Schema returns the Avro schema of the rows.
func (s Set) Schema() string { return s.schema() }

// WriteFile writes the set atomically to path: a file, or a directory for a set of several
// files. It creates missing parents.
func (s Set) WriteFile(path string, o Options) error {
	if o.Rows == 0 {
		o.Rows = s.Rows
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	if s.Files == 1 {
		return writeFile(path, func(w io.Writer) error { return s.Write(w, o) })
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".datagen-")
	if err != nil {
		return err
	}
	err = s.writeFiles(dir, o)
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.Rename(dir, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// writeFiles divides the rows among the set's files, each with its own seed.
func (s Set) writeFiles(dir string, o Options) error {
	for i := range s.Files {
		part := o
		part.Rows = o.Rows*(i+1)/s.Files - o.Rows*i/s.Files
		part.Seed = o.Seed + uint64(i)
		name := filepath.Join(dir, fmt.Sprintf("%05d.avro", i))
		if err := writeFile(name, func(w io.Writer) error { return s.Write(w, part) }); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".datagen-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}

// Write writes one object container file of o.Rows rows. The caller closes w.
func (s Set) Write(w io.Writer, o Options) error {
	if o.Rows < 0 {
		return fmt.Errorf("%d rows", o.Rows)
	}
	if o.BlockSize == 0 {
		o.BlockSize = 64 << 10
	}
	var sync [16]byte
	copy(sync[:8], s.marker)
	binary.LittleEndian.PutUint64(sync[8:], o.Seed)
	out, err := ocf.NewWriter(w, s.schema(), o.Codec, sync)
	if err != nil {
		return err
	}
	g := s.rows(o.Seed)
	var block []byte
	var n int64
	for row := range o.Rows {
		block = g.Append(block)
		n++
		if len(block) >= o.BlockSize || row == o.Rows-1 {
			if err := out.AppendBlock(n, block); err != nil {
				return err
			}
			block, n = block[:0], 0
		}
	}
	return nil
}
