package shred

import (
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
	return newShredder(m, bufs, steps), nil
}

func newShredder(m *Mapping, bufs *column.Buffers, keys []*step) *Shredder {
	c := compiler{columns: m.Columns, bufs: bufs, growth: 1, keys: keys}
	if bufs.Layout() == column.Levels {
		c.prepare(m)
	}
	ops := c.appendStep(nil, m.root, "")
	if c.levels {
		ops = c.endRow(ops, m)
	}
	return &Shredder{ops: ops, bufs: bufs, growth: c.growth, unbounded: c.unbounded, places: make([]int, 2*len(keys))}
}

// Key returns the position of the value of the field keys[i] in the datum of the last row.
func (s *Shredder) Key(i int) (from, to int) { return s.places[2*i], s.places[2*i+1] }

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
