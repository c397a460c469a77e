package formattest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"path"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/dump"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// File is a file of a part in memory.
type File struct {
	*bytes.Reader
	Path string
}

// NewFile returns a file with the bytes b.
func NewFile(name string, b []byte) File { return File{bytes.NewReader(b), name} }

// Name implements format.File.
func (f File) Name() string { return f.Path }

// ReadBlock implements format.File.
func (f File) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// ReadTable implements format.File.
func (f File) ReadTable(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// Open opens the part that has these files. The name of a single file is "".
func Open(f format.Format, files map[string][]byte, o format.OpenOptions) (format.Part, error) {
	var all []format.File
	for name, b := range files {
		all = append(all, NewFile(path.Join("p"+f.Suffix(), name), b))
	}
	return f.Open(all, o)
}

// MustOpen is Open for a valid part.
func MustOpen(t testing.TB, f format.Format, files map[string][]byte, o format.OpenOptions) format.Part {
	t.Helper()
	p, err := Open(f, files, o)
	testenv.Must(t, err)
	return p
}

// Mapping returns the columns of a schema.
func Mapping(t testing.TB, schema string) *shred.Mapping {
	t.Helper()
	s, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	m, err := shred.Map(s, shred.Options{})
	testenv.Must(t, err)
	return m
}

// Rows returns a source of rows in Avro's encoding.
func Rows(t testing.TB, f format.Format, chosen map[string][]string, schema string, rows [][]byte, blockSize int) Source {
	t.Helper()
	m := Mapping(t, schema)
	var s *shred.Shredder
	var to *column.Buffers // of s
	return Source{
		Format: f, Options: Options(t, f, chosen), Schema: schema, Columns: m.Columns, BlockSize: blockSize, Rows: len(rows),
		Fill: func(bufs *column.Buffers, row int) {
			if to != bufs {
				s, to = shred.NewShredder(m, bufs), bufs
			}
			if _, err := s.Row(rows[row]); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// Dumped returns the bytes that a dump shows.
func Dumped(text []byte) (b []byte) {
	for line := range bytes.Lines(text) {
		if len(line) > 10 && line[8] == ' ' && line[9] == ' ' {
			for field := range bytes.FieldsSeq(line[10:min(len(line), 9+3*dump.Width)]) {
				b, _ = hex.AppendDecode(b, field)
			}
		}
	}
	return b
}

// ErrMemory is the error of Memory.
var ErrMemory = errors.New("no memory")

// Memory is an Account with a limit; 0 means no limit.
type Memory struct{ Limit, Held, Peak, Total int64 }

// Reserve implements column.Account.
func (m *Memory) Reserve(n int64) error {
	if m.Limit > 0 && m.Held+n > m.Limit {
		return ErrMemory
	}
	m.Held += n
	m.Total += n
	m.Peak = max(m.Peak, m.Held)
	return nil
}

// Release implements column.Account.
func (m *Memory) Release(n int64) { m.Held -= n }
