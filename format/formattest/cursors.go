package formattest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// CompareCursors reads a column of two parts to its end, then moves both cursors in the same
// way, and compares what they read. It also checks what got does at the end and with wrong
// arguments: isDamage reports whether an error is damage of its part. name is for messages.
func CompareCursors(t testing.TB, name string, r *rand.Rand, got, want format.Part, col int, isDamage func(error) bool) {
	t.Helper()
	a, err := got.(format.ColumnPart).Cursor(col)
	testenv.Must(t, err)
	b, err := want.(format.ColumnPart).Cursor(col)
	testenv.Must(t, err)
	name = fmt.Sprintf("%s, column %s", name, got.Columns()[col].Name)
	left := UnitsFrom(t, got, col, 0)
	for i := range 60 {
		var x, y int64
		var errX, errY error
		var v, w column.Vector
		n, move := r.IntN(r.IntN(left+1)+1), r.IntN(4)
		if i == 0 {
			n, move = left, 2
		}
		switch move {
		case 0:
			row := r.Int64N(got.Rows() + 1)
			errX, errY = a.SeekRow(row), b.SeekRow(row)
			left = UnitsFrom(t, got, col, row)
		case 1:
			x, errX = a.Skip(int64(n))
			y, errY = b.Skip(int64(n))
			left -= n
		default:
			x, errX = ReadMany(a, &v, n)
			y, errY = ReadMany(b, &w, n)
			left -= n
		}
		if errX != nil || errY != nil || x != y || !reflect.DeepEqual(VectorText(&v), VectorText(&w)) {
			t.Fatalf("%s, move %d of %d: %d items and %v (%v), want %d and %v (%v)", name, move, n, x, VectorText(&v), errX, y, VectorText(&w), errY)
		}
	}
	if _, err := a.Skip(int64(left)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%s: read at the end: %d, %v", name, n, err)
	}
	if _, err := a.Skip(1); !isDamage(err) {
		t.Errorf("%s: skip beyond the end: %v", name, err)
	}
	if n, _, err := a.Read(new(column.Vector), 1); n != 0 || !isDamage(err) {
		t.Errorf("%s: read after an error: %d, %v", name, n, err)
	}
	if a.SeekRow(-1) == nil || a.SeekRow(got.Rows()+1) == nil {
		t.Errorf("%s: a seek to a row that does not exist succeeds", name)
	}
}

// ReadMany reads n units: values, or lengths of an array column.
func ReadMany(c format.Cursor, v *column.Vector, n int) (items int64, err error) {
	for n > 0 {
		read, more, err := c.Read(v, n)
		if err != nil {
			return items, err
		}
		n, items = n-read, items+int64(more)
	}
	return items, nil
}

// UnitsFrom returns the number of units of a column from a row on.
func UnitsFrom(t testing.TB, p format.Part, col int, row int64) (n int) {
	t.Helper()
	c, err := p.(format.ColumnPart).Cursor(col)
	if err == nil {
		err = c.SeekRow(row)
	}
	for err == nil {
		var v column.Vector
		var read int
		read, _, err = c.Read(&v, 1000)
		n += read
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return n
}

// VectorText returns the parts of a vector as text. Nil slices are equal to empty ones, and NaN
// to itself.
func VectorText(v *column.Vector) []string {
	offsets := v.Offsets
	if len(offsets) == 1 {
		offsets = nil
	}
	var floats []uint64
	for _, f := range v.Floats {
		floats = append(floats, uint64(math.Float32bits(f)))
	}
	for _, f := range v.Doubles {
		floats = append(floats, math.Float64bits(f))
	}
	var all []string
	for _, part := range []any{v.Lengths, v.Ints, v.Longs, v.Bools, offsets, v.Data, v.Values, floats} {
		text, _ := json.Marshal(part)
		if s := string(text); s != "null" && s != `""` {
			all = append(all, s)
		} else {
			all = append(all, "[]")
		}
	}
	return all
}
