package shred

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
)

// NewKeyShredder returns a Shredder that also records the positions of some fields in the
// last row. keys are the paths of these fields, such as "id" or "sender.name". The records
// on a path must not be in arrays, maps or unions.
func NewKeyShredder(m *Mapping, bufs *column.Buffers, keys []string) (*Shredder, error) {
	steps := make([]*step, len(keys))
	for i, path := range keys {
		var err error
		if steps[i], err = keyStep(m.root, path); err != nil {
			return nil, err
		}
	}
	c := compiler{columns: m.Columns, bufs: bufs, keys: steps}
	return c.shredder(m), nil
}

// Key returns the value of the field keys[i] in the last row, as Avro encodes it. A string that is
// not UTF-8 is as the columns have it. The value must not be changed, and is valid as long as the
// datum of the row.
func (s *Shredder) Key(i int) []byte {
	v := s.b[s.places[2*i]:s.places[2*i+1]]
	if s.invalid != column.ReplaceInvalid {
		return v
	}
	return replacedKey(s.keys[i], v)
}

// replacedKey returns the datum of a string, or of an optional one, with valid text.
func replacedKey(n *Node, datum []byte) []byte {
	n, null := n.Optional()
	if n.Kind != KindString {
		return datum
	}
	at := 0
	if null >= 0 {
		branch, size := binary.Varint(datum)
		if int(branch) == null {
			return datum
		}
		at = size
	}
	_, size := binary.Varint(datum[at:])
	text := datum[at+size:]
	if validUTF8(text) {
		return datum
	}
	text = bytes.ToValidUTF8(text, replacement)
	return append(binary.AppendVarint(bytes.Clone(datum[:at]), int64(len(text))), text...)
}

// keyStep finds the step of a field by its path from a record.
func keyStep(s *step, path string) (*step, error) {
	for name := range strings.SplitSeq(path, ".") {
		if s.node.Kind != KindRecord || s.raw {
			return nil, fmt.Errorf("shred: key %q: %q is not a field of a record", path, name)
		}
		next := (*step)(nil)
		for i, f := range s.node.Fields {
			if f.Name == name {
				next = s.fields[i]
			}
		}
		if next == nil {
			return nil, fmt.Errorf("shred: key %q: there is no field %q", path, name)
		}
		s = next
	}
	return s, nil
}

// appendField appends the ops of a field. Before and after the ops of a key, it adds an op
// that records the position.
func (c *compiler) appendField(ops []op, f *step, name string) []op {
	for i, key := range c.keys {
		if key == f {
			ops = append(ops, op{code: opPlace, n: uint32(2 * i)})
		}
	}
	ops = c.appendStep(ops, f, name)
	for i, key := range c.keys {
		if key == f {
			ops = append(ops, op{code: opPlace, n: uint32(2*i + 1)})
		}
	}
	return ops
}
