package datagen

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// The kinds of simple columns, which repeat in this order.
const (
	sequence = iota // long, growing
	amount          // double with two decimals
	label           // string of few values
	count           // int, small
	flag            // boolean
	key             // string that rarely repeats
	instant         // long, milliseconds
	measure         // double, all bits in use
	level           // int of all sizes
	maybe           // nullable; the type differs from column to column
	flatKinds
)

// The types of columns of kind maybe.
const (
	maybeLong = iota
	maybeString
	maybeInt
	maybeDouble
	maybeBoolean
	maybeKinds
)

var (
	flatTypes = [flatKinds]string{
		`"long"`, `"double"`, `"string"`, `"int"`, `"boolean"`, `"string"`, `"long"`, `"double"`, `"int"`,
	}
	maybeTypes = [maybeKinds]string{`"long"`, `"string"`, `"int"`, `"double"`, `"boolean"`}
)

// flatKind returns the kind of a column. Every fifth column is nullable.
func flatKind(column int) int {
	if column%5 == 4 {
		return maybe
	}
	return (column - column/5) % maybe
}

func flatSchema(columns int) func() string {
	return func() string {
		var b strings.Builder
		b.WriteString(`{"type":"record","name":"Flat","fields":[`)
		for i := range columns {
			if i > 0 {
				b.WriteByte(',')
			}
			kind, typ := flatKind(i), ""
			if kind == maybe {
				typ = `["null",` + maybeTypes[i/5%maybeKinds] + `]`
			} else {
				typ = flatTypes[kind]
			}
			fmt.Fprintf(&b, `{"name":"c%04d","type":%s}`, i, typ)
		}
		b.WriteString(`]}`)
		return b.String()
	}
}

// flat generates rows of simple columns.
type flat struct {
	source
	columns int
	row     int64
}

func flatRows(columns int) func(uint64) rows {
	return func(seed uint64) rows { return &flat{newSource(seed, 0x666c6174), columns, 0} }
}

func (f *flat) Append(dst []byte) []byte {
	f.row++
	for i := range f.columns {
		r := f.Uint64()
		switch flatKind(i) {
		case sequence:
			dst = binary.AppendVarint(dst, f.row*4+int64(r&3))
		case amount:
			dst = appendDouble(dst, float64(r%100_000)/100)
		case label:
			dst = appendString(dst, words[(r&(r>>16))%uint64(len(words))])
		case count:
			dst = binary.AppendVarint(dst, int64(r&(r>>10)&(r>>20)&1023))
		case flag:
			dst = append(dst, byte(r&(r>>8)&1))
		case key:
			dst = appendKey(dst, r)
		case instant:
			dst = binary.AppendVarint(dst, 1_700_000_000_000+f.row*1000+int64(r%1000))
		case measure:
			dst = appendDouble(dst, float64(r>>11)/(1<<53))
		case level:
			dst = binary.AppendVarint(dst, int64(int32(r)>>(r>>59)))
		case maybe:
			dst = appendMaybe(dst, i/5%maybeKinds, r)
		}
	}
	return dst
}

// appendMaybe appends a value, or null once in four times.
func appendMaybe(dst []byte, kind int, r uint64) []byte {
	if r&3 == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 2)
	r >>= 2
	switch kind {
	case maybeLong:
		return binary.AppendVarint(dst, int64(r%1_000_000))
	case maybeString:
		return appendString(dst, words[r%uint64(len(words))])
	case maybeInt:
		return binary.AppendVarint(dst, int64(r&255))
	case maybeDouble:
		return appendDouble(dst, float64(r%1000)/8)
	}
	return append(dst, byte(r&1))
}

// sparseColumns is the width of the sparse set.
const sparseColumns = 10_000

func sparseSchema() string {
	var b strings.Builder
	b.WriteString(`{"type":"record","name":"Sparse","fields":[`)
	for i := range sparseColumns {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"s%05d","type":["null",%s]}`, i, maybeTypes[i%maybeKinds])
	}
	b.WriteString(`]}`)
	return b.String()
}

// sparse generates rows of many columns, nearly all of them null.
type sparse struct{ source }

func newSparse(seed uint64) rows { return &sparse{newSource(seed, 0x73706172)} }

// sparseGap is twice the mean distance between two values in a row.
const sparseGap = 200

func (s *sparse) Append(dst []byte) []byte {
	var nulls [sparseGap]byte
	for i := 0; i < sparseColumns; i++ {
		gap := min(s.below(sparseGap), sparseColumns-i)
		dst = append(dst, nulls[:gap]...)
		if i += gap; i < sparseColumns {
			dst = appendMaybe(dst, i%maybeKinds, s.Uint64()|1)
		}
	}
	return dst
}
