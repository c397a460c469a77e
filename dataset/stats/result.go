package stats

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/format/column"
)

// result is what there is to say of the column.
func (c *collector) result() Column {
	r := Column{Name: c.column.Name, Type: c.column.SchemaType(), Values: c.values, Nulls: c.nulls}
	if c.column.Type != column.Null {
		distinct := min(int64(c.sketch.Estimate()), c.values) // no more than there are
		r.Distinct = &distinct
	}
	r.Items, r.Length = c.items.result(), c.lengths.result()
	switch c.column.Type {
	case column.Null:
	case column.Boolean, column.Int, column.Fixed32, column.Long, column.Fixed64:
		c.integers(&r)
	case column.Float, column.Double:
		r.NaN = &c.nan
		if c.ordered > 0 {
			r.Min, r.Max = c.number(c.minFloat), c.number(c.maxFloat)
			if mean := c.sum / float64(c.ordered); !math.IsNaN(mean) && !math.IsInf(mean, 0) {
				r.Mean = &mean
			}
		}
	default:
		if c.ordered > 0 {
			r.Min, r.Max, r.Cut = c.shown(c.minText), c.shown(c.maxText), c.cutMin || c.cutMax
		}
	}
	return r
}

func (s *span) result() *Lengths {
	if s.n == 0 {
		return nil
	}
	return &Lengths{s.min, s.sum / float64(s.n), s.max}
}

func (c *collector) integers(r *Column) {
	switch {
	case c.column.Symbols != nil:
		c.symbols(r)
	case c.ordered == 0:
	case c.column.Type == column.Boolean:
		r.Min, r.Max = c.minInt != 0, c.maxInt != 0
	case c.column.Logical != column.LogicalNone:
		v := export.ValueOf(c.column)
		r.Min, r.Max = v.Integer(c.minInt), v.Integer(c.maxInt)
	default:
		mean := c.sum / float64(c.ordered)
		r.Min, r.Max, r.Mean = c.minInt, c.maxInt, &mean
	}
}

// symbols compares an enum's values as conditions do: by their text.
func (c *collector) symbols(r *Column) {
	distinct := int64(0)
	for i, seen := range c.seen {
		if !seen {
			continue
		}
		distinct++
		s := c.column.Symbols[i]
		if r.Min == nil || s < r.Min.(string) {
			r.Min = s
		}
		if r.Max == nil || s > r.Max.(string) {
			r.Max = s
		}
	}
	r.Distinct = &distinct
}

// number is a float as JSON has it.
func (c *collector) number(f float64) any {
	text := export.ValueOf(c.column).Float(f)
	if math.IsInf(f, 0) {
		return text
	}
	return json.Number(text)
}

// shown is the text of a string, a bytes or a fixed value.
func (c *collector) shown(b []byte) string {
	if c.column.Type == column.String {
		if start := bytes.LastIndexFunc(b, func(r rune) bool { return r != utf8.RuneError }); len(b) == longestKept && start >= len(b)-2*utf8.UTFMax {
			_, n := utf8.DecodeRune(b[start:])
			b = b[:start+n] // it may be cut in a character
		}
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	if c.cutMin || c.cutMax {
		return base64.StdEncoding.EncodeToString(b[:len(b)/3*3])
	}
	return export.ValueOf(c.column).Bytes(b)
}
