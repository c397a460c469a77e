package witness

import (
	"encoding/binary"
	"errors"

	"github.com/hamba/avro/v2"
)

const (
	// maxDepth bounds how deep values of recursive types nest, because decoders recurse.
	maxDepth = 10_000
	// maxEmpty is the most values that a row may have in addition to perByte values per
	// byte: records, nulls and other values without bytes.
	maxEmpty = 1 << 20
	perByte  = 16
)

var (
	errShort        = errors.New("the row is longer than what is left")
	errInvalid      = errors.New("the row is not valid")
	errMany         = errors.New("the row has more values than are believed")
	errDeep         = errors.New("the row is nested too deeply")
	errDuplicateKey = errors.New("a map has the same key twice")
)

// measure returns the size in bytes of the first row of data. It checks every count and
// length against the data. With errDuplicateKey it returns the size too.
func measure(s avro.Schema, data []byte) (int, error) {
	m := measurer{data: data, values: perByte*len(data) + maxEmpty}
	if err := m.value(s, 0); err != nil {
		return 0, err
	}
	n := len(data) - len(m.data)
	if m.duplicateKeys {
		return n, errDuplicateKey
	}
	return n, nil
}

// measurer passes over values.
type measurer struct {
	data          []byte
	values        int  // number of values that the row may still have
	duplicateKeys bool // a map has the same key twice; hamba would keep one of the values
}

func (m *measurer) value(s avro.Schema, depth int) error {
	//guard: bounds how deep a row nests
	if depth > maxDepth {
		return errDeep
	}
	//guard: bounds the values that a few bytes can stand for
	if m.values--; m.values < 0 {
		return errMany
	}
	switch s := s.(type) {
	case *avro.RefSchema:
		return m.value(s.Schema(), depth+1)
	case *avro.RecordSchema:
		for _, f := range s.Fields() {
			if err := m.value(f.Type(), depth+1); err != nil {
				return err
			}
		}
		return nil
	case *avro.UnionSchema:
		i, err := m.index(len(s.Types()))
		if err != nil {
			return err
		}
		return m.value(s.Types()[i], depth+1)
	case *avro.ArraySchema:
		return m.blocks(func() error { return m.value(s.Items(), depth+1) })
	case *avro.MapSchema:
		keys := map[string]bool{}
		return m.blocks(func() error {
			key, err := m.text()
			if err != nil {
				return err
			}
			m.duplicateKeys = m.duplicateKeys || keys[string(key)]
			keys[string(key)] = true
			return m.value(s.Values(), depth+1)
		})
	case *avro.EnumSchema:
		_, err := m.index(len(s.Symbols()))
		return err
	case *avro.FixedSchema:
		return m.skip(int64(s.Size()))
	}
	return m.primitive(s.Type())
}

func (m *measurer) primitive(t avro.Type) error {
	switch t {
	case avro.Null:
		return nil
	case avro.Boolean:
		return m.skip(1)
	case avro.Int:
		v, err := m.long()
		//guard: rejects a long in place of an int
		if err == nil && v != int64(int32(v)) {
			err = errInvalid
		}
		return err
	case avro.Long:
		_, err := m.long()
		return err
	case avro.Float:
		return m.skip(4)
	case avro.Double:
		return m.skip(8)
	case avro.String, avro.Bytes:
		_, err := m.text()
		return err
	}
	return errInvalid
}

// blocks passes over the blocks of an array or a map.
func (m *measurer) blocks(item func() error) error {
	for {
		count, err := m.long()
		if err != nil || count == 0 {
			return err
		}
		end := -1
		if count < 0 {
			size, err := m.long()
			if err != nil {
				return err
			}
			//guard: rejects an array block that reaches beyond its row
			if size < 0 || size > int64(len(m.data)) {
				return errShort
			}
			count, end = -count, len(m.data)-int(size)
		}
		//guard: rejects a count before a decoder allocates for it
		if count < 0 || count > int64(m.values) {
			return errMany
		}
		for range count {
			if err := item(); err != nil {
				return err
			}
		}
		//guard: rejects an array block that contradicts its size
		if end >= 0 && end != len(m.data) {
			return errInvalid
		}
	}
}

// index reads an index below n.
func (m *measurer) index(n int) (int, error) {
	v, err := m.long()
	//guard: rejects an index without a branch
	if err == nil && (v < 0 || v >= int64(n)) {
		err = errInvalid
	}
	return int(v), err
}

func (m *measurer) long() (int64, error) {
	v, n := binary.Varint(m.data)
	switch {
	case n == 0:
		return 0, errShort
	case n < 0:
		return 0, errInvalid
	}
	m.data = m.data[n:]
	return v, nil
}

// text passes over a string or bytes and returns it.
func (m *measurer) text() ([]byte, error) {
	n, err := m.long()
	if err != nil {
		return nil, err
	}
	b := m.data
	if err := m.skip(n); err != nil {
		return nil, err
	}
	return b[:n], nil
}

func (m *measurer) skip(n int64) error {
	//guard: rejects a negative length
	if n < 0 {
		return errInvalid
	}
	//guard: rejects a length beyond the row
	if n > int64(len(m.data)) {
		return errShort
	}
	m.data = m.data[n:]
	return nil
}
