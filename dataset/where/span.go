package where

import (
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// Span is a demand of the condition on a field: the field has a value between two bounds.
type Span struct {
	Path string // path of the field from the row
	// Low and High bound the allowed values of the field, as Avro encodes the field's
	// type, without a branch of a union. nil is no bound.
	Low, High []byte
}

// Spans returns demands that every selected row meets. They are about fields of numbers,
// which are ordered by value, and of texts, which are ordered by bytes.
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
		//guard: returns no span of a UUID, which is compared in lower case
		if c.uuid || c.lookup != nil || c.lo == nil && c.hi == nil {
			return spans
		}
		return append(spans, Span{c.path, c.encode(c.lo), c.encode(c.hi)})
	}
	return spans
}

// encodeInt encodes a bound. It returns nil if n equals none, which stands for no
// bound.
func encodeInt(n, none int64) []byte {
	if n == none {
		return nil
	}
	return binary.AppendVarint(nil, n)
}

// encode encodes a bound of the column's type: the lower one if sign is negative, else
// the upper one.
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
