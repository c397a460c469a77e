package where

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
)

// Demand is what the condition demands of a column: in each selected row, a value of the
// column passes a test. If the demand is that a field is null, the row has no value, or an item
// that is null.
type Demand struct {
	Column int
	test   condition
}

// Demands returns demands that every selected row meets.
func (p *Predicate) Demands() []Demand { return appendDemands(nil, p.root) }

func appendDemands(d []Demand, c condition) []Demand {
	switch c := c.(type) {
	case and:
		for _, c := range c {
			d = appendDemands(d, c)
		}
	case *anyOf:
		if !c.not {
			d = appendDemands(d, c.condition)
		}
	case isNull:
		// A key that a map does not have makes a field null, too.
		if c.column >= 0 && (c.not || c.lookup == nil) {
			d = append(d, Demand{c.column, c})
		}
	case isTrue:
		d = append(d, Demand{c.column, c})
	case symbols:
		d = append(d, Demand{c.column, c})
	case decimals:
		d = append(d, Demand{c.column, c})
	case ints:
		d = append(d, Demand{c.column, c})
	case floats:
		d = append(d, Demand{c.column, c})
	case text:
		d = append(d, Demand{c.column, c})
	}
	return d
}

// Excludes reports whether no row of a block of the column meets the demand. Numbers are ordered
// by value, with NaN last, and texts by their bytes, as in a column's index. Bounds may also leave
// out NaN: a demand that NaN meets excludes no block by them.
func (d *Demand) Excludes(k *format.Block) bool {
	if c, ok := d.test.(isNull); ok && !c.not {
		return k.Presence == format.OnlyValues
	}
	return k.Presence == format.NoValues || k.Min != nil && d.after(k.Min) || k.Max != nil && d.before(k.Max)
}

// before reports whether a value is before all allowed values. encoded is the value as the
// column encodes it.
func (d *Demand) before(encoded []byte) bool {
	switch c := d.test.(type) {
	case ints:
		lo, _, ok := c.t.limits()
		v, _ := binary.Varint(encoded)
		return ok && v < lo
	case floats:
		lo, _, ok := c.t.limits()
		return ok && c.decode(encoded) < lo
	case text:
		return c.lo != nil && bytes.Compare(c.ordered(column.Sized(encoded)), c.lo) < 0
	}
	return false
}

// after reports whether a value is after all allowed values.
func (d *Demand) after(encoded []byte) bool {
	switch c := d.test.(type) {
	case ints:
		_, hi, ok := c.t.limits()
		v, _ := binary.Varint(encoded)
		return ok && v > hi
	case floats:
		_, hi, ok := c.t.limits()
		return ok && !(c.decode(encoded) <= hi) // NaN is last
	case text:
		return c.hi != nil && bytes.Compare(c.ordered(column.Sized(encoded)), c.hi) > 0
	}
	return false
}

// decode decodes a complete value of the column.
func (c floats) decode(encoded []byte) float64 {
	if c.typ.Kind == shred.KindFloat {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(encoded)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(encoded))
}

// Values returns the only values that pass the test, as the column encodes them. It returns none
// if these are not known, or are many numbers.
func (d *Demand) Values() (values [][]byte) {
	switch c := d.test.(type) {
	case ints:
		set := c.t.set
		if c.t.not {
			return nil
		}
		if set == nil && c.t.lo == c.t.hi {
			set = []int64{c.t.lo}
		}
		for _, n := range set {
			values = append(values, binary.AppendVarint(nil, n))
		}
	case symbols:
		for i, holds := range c.holds {
			if holds {
				values = append(values, binary.AppendVarint(nil, int64(i)))
			}
		}
	case text:
		for _, b := range c.set {
			values = append(values, append(binary.AppendVarint(nil, int64(len(b))), b...))
		}
	}
	return values
}
