package column

import (
	"errors"
	"math"
	"reflect"
	"testing"
)

// Extend appends values to a vector that may not be empty.
func TestExtend(t *testing.T) {
	texts := Vector{Lengths: []int32{1, 0, 2}, Offsets: []int32{0, 2, 3, 6}, Data: []byte("aabccc"), Values: 3}
	for _, test := range []struct {
		name    string
		typ     Type
		from    Vector
		to      Vector
		lengths []int32
		want    Vector
	}{
		{"null", Null, Vector{Values: 3}, Vector{Values: 1}, []int32{2}, Vector{Lengths: []int32{2}, Values: 3}},
		{"boolean", Boolean, Vector{Bools: []bool{true, false, true}, Values: 3}, Vector{}, nil, Vector{Bools: []bool{false, true}, Values: 2}},
		{"int", Int, Vector{Ints: []int32{1, 2, 3}, Values: 3}, Vector{Ints: []int32{9}, Values: 1}, nil, Vector{Ints: []int32{9, 2, 3}, Values: 3}},
		{"fixed32", Fixed32, Vector{Ints: []int32{1, 2, 3}, Values: 3}, Vector{}, nil, Vector{Ints: []int32{2, 3}, Values: 2}},
		{"long", Long, Vector{Longs: []int64{1, 2, 3}, Values: 3}, Vector{}, nil, Vector{Longs: []int64{2, 3}, Values: 2}},
		{"fixed64", Fixed64, Vector{Longs: []int64{1, 2, 3}, Values: 3}, Vector{}, nil, Vector{Longs: []int64{2, 3}, Values: 2}},
		{"float", Float, Vector{Floats: []float32{1, 2, 3}, Values: 3}, Vector{}, nil, Vector{Floats: []float32{2, 3}, Values: 2}},
		{"double", Double, Vector{Doubles: []float64{1, 2, 3}, Values: 3}, Vector{}, nil, Vector{Doubles: []float64{2, 3}, Values: 2}},
		{"string", String, texts, Vector{Offsets: []int32{0, 1}, Data: []byte("x"), Values: 1}, []int32{0, 2},
			Vector{Lengths: []int32{0, 2}, Offsets: []int32{0, 1, 2, 5}, Data: []byte("xbccc"), Values: 3}},
		{"bytes", Bytes, texts, Vector{}, nil, Vector{Offsets: []int32{0, 1, 4}, Data: []byte("bccc"), Values: 2}},
	} {
		if err := test.to.Extend(test.typ, test.lengths, &test.from, 1, 3); err != nil || !reflect.DeepEqual(test.to, test.want) {
			t.Errorf("%s: %+v, want %+v (%v)", test.name, test.to, test.want, err)
		}
	}
	var none, empty Vector
	if err := none.Extend(String, []int32{0}, &empty, 0, 0); err != nil || !reflect.DeepEqual(none, Vector{Lengths: []int32{0}, Offsets: []int32{0}}) {
		t.Errorf("no strings: %+v, %v", none, err)
	}
}

// A full vector is not changed.
func TestExtendOfFullVectors(t *testing.T) {
	one := Vector{Bools: []bool{true}, Offsets: []int32{0, 1}, Data: []byte("a"), Values: 1}
	for _, test := range []struct {
		name    string
		typ     Type
		to      Vector
		lengths []int32
	}{
		{"lengths", Null, Vector{Lengths: make([]int32, maxVector)}, []int32{1}},
		{"values", Boolean, Vector{Bools: make([]bool, maxVector), Values: maxVector}, nil},
		{"bytes", String, Vector{Data: make([]byte, maxVectorBytes), Offsets: []int32{0, maxVectorBytes}, Values: 1}, nil},
	} {
		lengths, values, bytes := len(test.to.Lengths), test.to.Values, len(test.to.Data)
		err := test.to.Extend(test.typ, test.lengths, &one, 0, 1)
		if !errors.Is(err, ErrFull) || len(test.to.Lengths) != lengths || test.to.Values != values || len(test.to.Data) != bytes {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if full := (Vector{Values: maxVector}); full.Extend(Null, nil, &one, 0, 1) != nil || full.Values != maxVector+1 {
		t.Error("nulls are bounded")
	}
}

func TestRoom(t *testing.T) {
	v := Vector{Limit: 5, Lengths: make([]int32, 7), Values: 3, Data: make([]byte, 11)}
	lengths, values, text := v.Room(String)
	if lengths != 1<<27-7 || values != 2 || text != 1<<30-11 {
		t.Errorf("%d lengths, %d values, %d bytes", lengths, values, text)
	}
	v.Values = 9
	if _, values, _ = v.Room(Int); values != 0 {
		t.Errorf("%d values", values)
	}
	if _, values, _ = v.Room(Null); values != math.MaxInt {
		t.Errorf("%d nulls", values)
	}
	v = Vector{}
	v.Truncate(String, 0)
	if _, values, _ = v.Room(Long); values != 1<<27 || v.Offsets != nil {
		t.Errorf("%d values, %+v", values, v)
	}
}
