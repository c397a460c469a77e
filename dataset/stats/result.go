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

// result returns the column's figures.
func (c *collector) result() Column {
	r := Column{Name: c.column.Name, Type: c.column.SchemaType(), Values: c.values, Nulls: c.nulls}
	if c.column.Type != column.Null {
		distinct := min(c.sketch.estimate(), c.values) // the estimate may exceed the number of values
		r.Distinct = &distinct
	}
	r.Items, r.Length = c.items.result(), c.lengths.result()
	switch c.column.Type {
	case column.Null:
	case column.Boolean, column.Int, column.Fixed32, column.Long, column.Fixed64:
		c.addIntegers(&r)
	case column.Float, column.Double:
		r.NaN = &c.nan
		if c.ordered > 0 {
			r.Min, r.Max = c.jsonNumber(c.minFloat), c.jsonNumber(c.maxFloat)
			if mean := c.sum / float64(c.ordered); !math.IsNaN(mean) && !math.IsInf(mean, 0) {
				r.Mean = &mean
			}
		}
	default:
		if c.ordered > 0 {
			r.Min, r.Max, r.Cut = c.format(c.minText, c.cutMin), c.format(c.maxText, c.cutMax), c.cutMin || c.cutMax
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

func (c *collector) addIntegers(r *Column) {
	switch {
	case c.column.Symbols != nil:
		c.addSymbols(r)
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

// addSymbols compares an enum's values by their text, as conditions do. It replaces the
// estimate of the distinct values by their exact number.
func (c *collector) addSymbols(r *Column) {
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

// jsonNumber returns a float as a JSON value.
func (c *collector) jsonNumber(f float64) any {
	text := export.ValueOf(c.column).Float(f)
	if math.IsInf(f, 0) {
		return text
	}
	return json.Number(text)
}

// format returns the text of a string, a bytes or a fixed value. cut says that b is only the
// beginning of the value.
func (c *collector) format(b []byte, cut bool) string {
	if c.column.Type == column.String {
		if start := bytes.LastIndexFunc(b, func(r rune) bool { return r != utf8.RuneError }); cut && start >= len(b)-2*utf8.UTFMax {
			_, n := utf8.DecodeRune(b[start:])
			b = b[:start+n] // without a character that was cut
		}
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	if cut {
		// The base64 of a multiple of 3 bytes has no padding: it is how the whole text begins.
		return base64.StdEncoding.EncodeToString(b[:len(b)/3*3])
	}
	return export.ValueOf(c.column).Bytes(b)
}
