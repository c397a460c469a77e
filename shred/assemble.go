package shred

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/damage"
)

// ValueReader reads one column from its start.
type ValueReader interface {
	// Length returns the next length of an array column. Values of the
	// sequence before it that were not read are skipped.
	Length() (int, error)
	// Value appends the next value to dst in the encoding that package column
	// describes, a boolean as one byte 0 or 1, a null as nothing.
	Value(dst []byte) ([]byte, error)
}

// maxRow bounds the bytes of one assembled row: a few bytes of runs of lengths
// can stand for any number of items.
const maxRow = 1 << 30

// Assembler makes rows of columns: the inverse of a Shredder. It belongs to
// one goroutine and allocates nothing per row.
type Assembler struct {
	mapping *Mapping
	cols    []ValueReader
	minimal map[*step]int // least bytes of an array's items
	start   int           // of the row in dst
	scratch []byte
	checker Shredder // of data that is kept as Avro bytes
}

// NewAssembler returns an assembler that reads cols, one per column of the
// mapping and in that order.
func NewAssembler(m *Mapping, cols []ValueReader) *Assembler {
	a := &Assembler{mapping: m, cols: cols, minimal: map[*step]int{}}
	sizes := make(leastSizes)
	var visit func(s *step)
	visit = func(s *step) {
		if s.items != nil {
			a.minimal[s] = sizes.of(s.items.node)
			visit(s.items)
		}
		for _, f := range s.fields {
			visit(f)
		}
		for _, b := range s.branches {
			if b.step != nil {
				visit(b.step)
			}
		}
	}
	visit(m.root)
	return a
}

// Row appends the Avro bytes of the next row's datum to dst: varints minimal,
// arrays and maps as one block with a positive count. Columns that contradict
// each other or the schema are a *damage.Error that names the column; other
// errors are the readers'. The caller knows how many rows there are: the end of
// a column is damage here.
func (a *Assembler) Row(dst []byte) ([]byte, error) {
	a.start = len(dst)
	return a.append(dst, a.mapping.root)
}

func (a *Assembler) append(dst []byte, s *step) ([]byte, error) {
	if s.leaf() {
		return a.leaf(dst, s)
	}
	var err error
	switch s.node.Kind {
	case KindRecord:
		for _, f := range s.fields {
			if dst, err = a.append(dst, f); err != nil {
				return dst, err
			}
		}
		return dst, nil
	case KindUnion:
		return a.union(dst, s)
	default:
		return a.items(dst, s)
	}
}

// items appends an array or a map.
func (a *Assembler) items(dst []byte, s *step) ([]byte, error) {
	n, err := a.length(s.col)
	if err != nil {
		return dst, err
	}
	if n > maxEmptyItems && s.key < 0 && a.minimal[s] == 0 {
		return dst, a.damaged(s.col, damage.Count, "%d items that may take no bytes; at most %d are taken", n, maxEmptyItems)
	}
	if n > 0 {
		dst = binary.AppendVarint(dst, int64(n))
	}
	for range n {
		if s.key >= 0 {
			if dst, err = a.value(dst, s.key); err != nil {
				return dst, err
			}
		}
		if dst, err = a.append(dst, s.items); err != nil {
			return dst, err
		}
		if len(dst)-a.start > maxRow {
			return dst, a.damaged(s.col, damage.Size, "a row of more than %d bytes", maxRow)
		}
	}
	return append(dst, 0), nil
}

// union appends the one branch whose length is 1, or else null.
func (a *Assembler) union(dst []byte, s *step) ([]byte, error) {
	chosen, null := -1, -1
	for i := range s.branches {
		b := &s.branches[i]
		if b.step == nil {
			null = i
			continue
		}
		n, err := a.length(b.col)
		switch {
		case err != nil:
			return dst, err
		case n > 1:
			return dst, a.damaged(b.col, damage.Count, "length %d in a branch of a union", n)
		case n == 1 && chosen >= 0:
			return dst, a.damaged(b.col, damage.Count, "a second branch of one union: column %s has a value too",
				a.mapping.Columns[s.branches[chosen].col].Name)
		case n == 1:
			chosen = i
		}
	}
	if chosen >= 0 {
		return a.append(binary.AppendVarint(dst, int64(chosen)), s.branches[chosen].step)
	}
	if null < 0 {
		return dst, a.damaged(s.branches[len(s.branches)-1].col, damage.Count, "no branch of a union without null has a value")
	}
	return binary.AppendVarint(dst, int64(null)), nil
}

// leaf appends a value that fills one column.
func (a *Assembler) leaf(dst []byte, s *step) ([]byte, error) {
	start := len(dst)
	switch {
	case s.raw:
		value, err := a.sized(s.col)
		if err != nil {
			return dst, err
		}
		a.checker.b, a.checker.empty = value, 0
		if end := a.checker.skip(s.node, 0, 0); end != len(value) {
			return dst, a.damaged(s.col, damage.Value, "%d bytes that are not one datum of %s", len(value), s.node.Name)
		}
		return append(dst, value...), nil
	case s.node.Kind == KindFixed:
		value, err := a.sized(s.col)
		if err != nil {
			return dst, err
		}
		if len(value) != s.node.Size {
			return dst, a.damaged(s.col, damage.Size, "%d bytes, but %s has %d", len(value), s.node.Name, s.node.Size)
		}
		return append(dst, value...), nil
	case s.node.Kind == KindEnum:
		dst, err := a.value(dst, s.col)
		if err != nil {
			return dst, err
		}
		if n, size := binary.Varint(dst[start:]); size <= 0 || n < 0 || n >= int64(len(s.node.Symbols)) {
			return dst, a.damaged(s.col, damage.Value, "ordinal %d, but %s has %d symbols", n, s.node.Name, len(s.node.Symbols))
		}
		return dst, nil
	default:
		return a.value(dst, s.col)
	}
}

// sized reads a bytes value and strips its length. The slice is valid until
// the next call.
func (a *Assembler) sized(col int) ([]byte, error) {
	var err error
	if a.scratch, err = a.value(a.scratch[:0], col); err != nil {
		return nil, err
	}
	n, size := binary.Varint(a.scratch)
	if size <= 0 || n != int64(len(a.scratch)-size) {
		return nil, a.damaged(col, damage.Value, "bytes whose length does not fit")
	}
	return a.scratch[size:], nil
}

func (a *Assembler) value(dst []byte, col int) ([]byte, error) {
	dst, err := a.cols[col].Value(dst)
	if errors.Is(err, io.EOF) {
		err = a.damaged(col, damage.Count, "the column ends before the row is complete")
	}
	return dst, err
}

func (a *Assembler) length(col int) (int, error) {
	n, err := a.cols[col].Length()
	switch {
	case errors.Is(err, io.EOF):
		err = a.damaged(col, damage.Count, "the column ends before the row is complete")
	case err == nil && n < 0:
		err = a.damaged(col, damage.Count, "length %d", n)
	}
	return n, err
}

func (a *Assembler) damaged(col int, kind damage.Kind, reason string, args ...any) error {
	e := damage.New(kind, "", -1, reason, args...)
	e.Column = a.mapping.Columns[col].Name
	return e
}
