package where

import (
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// Span is what a condition demands of a field: that it has a value, between two.
type Span struct {
	Path string // of the field, from the row
	// Low and High are values that no value of the field that the condition allows is
	// below or above, as Avro encodes the field's type, without a branch of a union; nil
	// where there is no such value.
	Low, High []byte
}

// Spans are demands without which the condition cannot hold, of fields whose order is that of
// their values, or of their bytes: numbers and texts.
func (p *Predicate) Spans() []Span { return appendSpans(nil, p.root) }

func appendSpans(spans []Span, c condition) []Span {
	switch c := c.(type) {
	case and:
		for _, c := range c {
			spans = appendSpans(spans, c)
		}
	case ints:
		if lo, hi, ok := c.t.limits(); ok && c.lookup == nil {
			return append(spans, Span{c.path, encodeInt(lo, math.MinInt64), encodeInt(hi, math.MaxInt64)})
		}
	case floats:
		if lo, hi, ok := c.t.limits(); ok && c.lookup == nil {
			return append(spans, Span{c.path, c.encode(lo, -1), c.encode(hi, 1)})
		}
	case text:
		//guard: asks no bounds of a UUID, which is compared in lower case
		if c.uuid || c.lookup != nil || c.lo == nil && c.hi == nil {
			return spans
		}
		return append(spans, Span{c.path, c.encode(c.lo), c.encode(c.hi)})
	}
	return spans
}

// encodeInt encodes a bound that is one; none is the number of no bound.
func encodeInt(n, none int64) []byte {
	if n == none {
		return nil
	}
	return binary.AppendVarint(nil, n)
}

// encode encodes a bound of the column's type, the lower one, whose sign is negative, or the
// upper one.
func (c floats) encode(d float64, sign int) []byte {
	if math.IsInf(d, sign) || d != d {
		return nil
	}
	if c.typ.Kind != shred.KindFloat {
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(d))
	}
	f := float32(d)
	//guard: widens a bound to the next float
	if float64(f) != d {
		f = math.Nextafter32(f, float32(math.Inf(sign)))
	}
	return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f))
}

func (c text) encode(b []byte) []byte {
	if b == nil {
		return nil
	}
	if c.typ.Kind == shred.KindFixed {
		return b
	}
	return append(binary.AppendVarint(nil, int64(len(b))), b...)
}
