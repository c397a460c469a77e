package e2e

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rowtocol/rowtocol/cfile"
)

// pattern describes the values of a file.
type pattern string

const (
	random   pattern = "random"
	extreme  pattern = "extreme"
	repeated pattern = "repeated" // long runs and few different values
	mixed    pattern = "mixed"    // sections of all the others
	allNull  pattern = "all null"
	sorted   pattern = "sorted"
)

// rowsLike returns n rows with a pattern.
func rowsLike(r *rand.Rand, p pattern, typ cfile.Type, nullable bool, n int) *cfile.Rows {
	rows := &cfile.Rows{}
	if p == sorted {
		appendSorted(r, rows, typ, n)
		return rows
	}
	var value []byte
	for left, like := 0, p; n > 0; n, left = n-1, left-1 {
		if p == mixed && left <= 0 {
			left = 1 + r.IntN(3000)
			like = []pattern{random, extreme, repeated}[r.IntN(3)]
			if nullable && r.IntN(4) == 0 {
				like = allNull
			}
		}
		if nullable {
			valid := like != allNull && (r.IntN(3) > 0 || like == repeated && r.IntN(100) > 0)
			rows.Valid = append(rows.Valid, bit(valid))
			if !valid {
				continue
			}
		}
		if like != repeated || value == nil || r.IntN(20) == 0 {
			value = valueLike(r, value[:0], like, typ)
		}
		appendValue(rows, typ, value)
	}
	return rows
}

func appendValue(rows *cfile.Rows, typ cfile.Type, value []byte) {
	if typ.Width() == 0 {
		rows.AppendBinary(value)
	} else {
		rows.Fixed = append(rows.Fixed, value...)
	}
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// valueLike appends a value with a pattern.
func valueLike(r *rand.Rand, dst []byte, p pattern, typ cfile.Type) []byte {
	switch {
	case typ == cfile.Bool:
		return append(dst, byte(r.IntN(2)))
	case typ == cfile.Date:
		days := r.IntN(-firstDate+lastDate+1) + firstDate
		if p == extreme {
			days = []int{firstDate, -1, 0, 1, lastDate}[r.IntN(5)]
		} else if p == repeated {
			days %= 10
		}
		return binary.LittleEndian.AppendUint32(dst, uint32(days))
	case typ.Width() == 0:
		return binaryLike(r, dst, p)
	case p == extreme && (typ == cfile.Float || typ == cfile.Double):
		return extremeFloat(r, dst, typ)
	case p == extreme:
		return append(dst, extremeInteger(r, typ.Width())...)
	}
	for range typ.Width() {
		dst = append(dst, byte(r.Uint32()))
	}
	if p == repeated {
		clear(dst[min(1, typ.Width()-1):]) // small numbers
		dst[0] %= 10
	}
	return dst
}

// The range of Kudu's dates, in days.
const firstDate, lastDate = -719_162, 2_932_896

// extremeInteger returns 0, 1, -1, the least or the greatest number, signed or not.
func extremeInteger(r *rand.Rand, width int) []byte {
	v := make([]byte, width)
	switch r.IntN(5) {
	case 1:
		v[0] = 1
	case 2:
		v[width-1] = 0x80
	case 3, 4:
		for i := range v {
			v[i] = 0xff
		}
		v[width-1] >>= r.IntN(2)
	}
	return v
}

func extremeFloat(r *rand.Rand, dst []byte, typ cfile.Type) []byte {
	floats := []float64{
		0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(math.NaN(), -1), 1, -1, 0.1, 1e-5, 1e5, 123456.7, 1 << 53,
	}
	if typ == cfile.Float {
		f := float32(append(floats, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32)[r.IntN(len(floats)+3)])
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f))
	}
	f := append(floats, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64)[r.IntN(len(floats)+3)]
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

func binaryLike(r *rand.Rand, dst []byte, p pattern) []byte {
	switch p {
	case extreme:
		return append(dst, [][]byte{
			nil, {0}, {0, 0}, {0xff}, bytes.Repeat([]byte{0xff}, 300), bytes.Repeat([]byte("ab"), 5_000),
			[]byte("\xc3\xa9\u20ac\U0001f600"), []byte("\"'\\\n\r\t\x7f"), []byte("\x01f\x01g"),
		}[r.IntN(9)]...)
	case repeated:
		return append(append(dst, "https://example.org/"...), byte('a'+r.IntN(10)))
	}
	for range r.IntN(24) {
		dst = append(dst, byte(r.Uint32()))
	}
	return dst
}

// appendSorted appends ascending values, some of them repeatedly.
func appendSorted(r *rand.Rand, rows *cfile.Rows, typ cfile.Type, n int) {
	type keyed struct{ key, value []byte }
	all := make([]keyed, n)
	for i := range all {
		value := valueLike(r, nil, []pattern{random, extreme, repeated}[r.IntN(3)], typ)
		key, err := cfile.AppendKey(nil, typ, value)
		if err != nil {
			panic(err) // the type has keys
		}
		all[i] = keyed{key, value}
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Or(bytes.Compare(a.key, b.key), bytes.Compare(a.value, b.value)) })
	for _, v := range all {
		appendValue(rows, typ, v.value)
	}
}
