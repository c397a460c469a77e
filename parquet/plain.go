package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// width returns the bits of levels or numbers up to most.
func width(most int) int { return bits.Len(uint(most)) }

// appendPlain appends the values of a page to its body as plain values, and their bounds to the
// job.
func (s *scratch) appendPlain(j *encodeJob, p *page) (err error) {
	at, n := len(s.body), p.values
	if n == 0 {
		return nil
	}
	switch j.c.kind {
	case nulls:
	case presences:
		s.body = appendPresences(s.body, n)
		j.addBounds(trueBound, trueBound)
	case booleans:
		//guard: rejects missing values
		if n > len(s.leftAvro) {
			return errCut
		}
		s.body = encoding.AppendPlainBools(s.body, s.leftAvro, n)
		j.addBoolBounds(s.leftAvro[:n])
		s.leftAvro = s.leftAvro[n:]
	case ints, longs:
		if err := s.appendNumbers(j.c, n); err != nil {
			return s.inPage(err, p)
		}
		j.addNumberBounds(s.body[at:])
	case floats, doubles:
		size := n * j.c.kind.width()
		//guard: rejects missing values
		if size > len(s.leftAvro) {
			return errCut
		}
		s.body = append(s.body, s.leftAvro[:size]...)
		s.leftAvro = s.leftAvro[size:]
		j.addNumberBounds(s.body[at:])
	case texts:
		if s.body, s.leftAvro, err = encoding.AppendPlainBytes(s.body, s.leftAvro, n); err != nil {
			return err
		}
		j.pages[len(j.pages)-1].text = int64(len(s.body) - at - 4*n)
		b := textBoundsOf(j.c.order, s.body[at:], 0)
		j.addTextBounds(&b)
	case fixed:
		if s.body, s.leftAvro, err = encoding.AppendPlainFixed(s.body, s.leftAvro, n, j.c.size); err != nil {
			return err
		}
		b := textBoundsOf(j.c.order, s.body[at:], j.c.size)
		j.addTextBounds(&b)
	case enums:
		return s.appendSymbols(j, n)
	}
	return nil
}

// appendNumbers appends ints or longs to the body.
func (s *scratch) appendNumbers(c *groupColumn, n int) (err error) {
	if s.converted {
		size := n * c.kind.width()
		s.body = append(s.body, s.leftPlain[:size]...)
		s.leftPlain = s.leftPlain[size:]
		return nil
	}
	s.body, err = s.convertNumbers(s.body, c, n)
	return err
}

// convertNumbers appends the next n ints or longs as plain values.
func (s *scratch) convertNumbers(dst []byte, c *groupColumn, n int) (_ []byte, err error) {
	if c.kind == ints {
		dst, s.leftAvro, err = encoding.AppendPlainInt32(dst, s.leftAvro, n)
		return dst, err
	}
	at := len(dst)
	dst, s.leftAvro, err = encoding.AppendPlainInt64(dst, s.leftAvro, n)
	if err != nil || c.unit == unitEqual {
		return dst, err
	}
	if i := c.unit.store(dst[at:]); i >= 0 {
		return dst, &valueError{i, c.unit.refused(dst[at+8*i:])}
	}
	return dst, nil
}

// appendSymbols appends symbols of an enum to the body.
func (s *scratch) appendSymbols(j *encodeJob, n int) error {
	at := len(s.body)
	var b textBounds
	b.reset(j.c.order)
	last := -1
	for range n {
		ordinal, rest, err := cutOrdinal(s.leftAvro, len(j.c.symbols))
		if err != nil {
			return err
		}
		s.leftAvro = rest
		s.body = appendSymbol(s.body, j.c.symbols[ordinal])
		if ordinal != last {
			b.add(j.c.symbols[ordinal])
			last = ordinal
		}
	}
	j.pages[len(j.pages)-1].text = int64(len(s.body) - at - 4*n)
	j.addTextBounds(&b)
	return nil
}

// textBoundsOf returns the bounds of plain values of the given size, or of any size if it
// is 0.
func textBoundsOf(o order, plain []byte, size int) (b textBounds) {
	b.reset(o)
	for n := size; len(plain) > 0; plain = plain[n:] {
		if size == 0 {
			n = int(binary.LittleEndian.Uint32(plain))
			plain = plain[4:]
		}
		b.add(plain[:n:len(plain)])
	}
	return b
}

// addBounds sets the bounds of the last page.
func (j *encodeJob) addBounds(least, most []byte) {
	e := &j.pages[len(j.pages)-1]
	e.min, e.max = int8(len(least)), int8(len(most))
	j.bounds = append(append(j.bounds, least...), most...)
}

var falseBound, trueBound = []byte{0}, []byte{1}

func (j *encodeJob) addBoolBounds(values []byte) {
	least, most := falseBound, trueBound
	if bytes.IndexByte(values, 0) < 0 {
		least = trueBound
	}
	if bytes.IndexByte(values, 1) < 0 {
		most = falseBound
	}
	j.addBounds(least, most)
}

func (j *encodeJob) addNumberBounds(plain []byte) {
	e, at := &j.pages[len(j.pages)-1], len(j.bounds)
	if len(plain) == 0 {
		return
	}
	var ok bool
	if j.bounds, ok = appendNumberBounds(j.bounds, j.c.order, plain); ok {
		e.min = int8((len(j.bounds) - at) / 2)
		e.max = e.min
	}
}

func (j *encodeJob) addTextBounds(b *textBounds) {
	if !b.any {
		return
	}
	j.checkDecimals(b)
	e, at := &j.pages[len(j.pages)-1], len(j.bounds)
	var ok bool
	if j.bounds, ok = appendLeast(j.bounds, b.order, b.min); ok {
		e.min = int8(len(j.bounds) - at)
	}
	at = len(j.bounds)
	if j.bounds, ok = appendMost(j.bounds, b.order, b.max); ok {
		e.max = int8(len(j.bounds) - at)
	}
}
