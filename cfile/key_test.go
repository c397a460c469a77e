package cfile

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestAppendKey(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		t     Type
		value []byte
		want  string
	}{
		{Uint8, []byte{200}, "\xc8"},
		{Int8, []byte{0xff}, "\x7f"},
		{Uint16, le.AppendUint16(nil, 0x0102), "\x01\x02"},
		{Int16, le.AppendUint16(nil, 0x0102), "\x81\x02"},
		{Uint32, le.AppendUint32(nil, 5), "\x00\x00\x00\x05"},
		{Int32, le.AppendUint32(nil, math.MaxUint32-4), "\x7f\xff\xff\xfb"},
		{Date, le.AppendUint32(nil, 5), "\x80\x00\x00\x05"},
		{Decimal32, le.AppendUint32(nil, 5), "\x80\x00\x00\x05"},
		{Uint64, le.AppendUint64(nil, 5), "\x00\x00\x00\x00\x00\x00\x00\x05"},
		{UnixtimeMicros, le.AppendUint64(nil, 5), "\x80\x00\x00\x00\x00\x00\x00\x05"},
		{Int128, le.AppendUint64(le.AppendUint64(nil, 5), math.MaxUint64), "\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x05"},
		{Decimal128, make([]byte, 16), "\x80" + string(make([]byte, 15))},
		{String, []byte("a\x00b"), "a\x00b"},
		{Binary, nil, ""},
	} {
		got, err := AppendKey([]byte("before"), c.t, c.value)
		if err != nil || string(got) != "before"+c.want {
			t.Errorf("%s %x: %x, %v, expected %x", c.t, c.value, got, err, c.want)
		}
	}
	for _, c := range []struct {
		t     Type
		value []byte
	}{{Bool, []byte{1}}, {Float, make([]byte, 4)}, {Double, make([]byte, 8)}, {Int32, make([]byte, 3)}, {Int32, make([]byte, 8)}, {Int64, nil}} {
		if _, err := AppendKey(nil, c.t, c.value); err == nil {
			t.Errorf("%s accepts the key of %x", c.t, c.value)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range [][3]string{
		{"", "\x7f\xff\xff\xfb", "\x7f"},
		{"", "val000000", "v"},
		{"", "", ""},
		{"val0099", "val0100", "val01"},
		{"a", "ab", "ab"},
		{"a", "abc", "ab"},
		{"same", "same", "same"},
		{"b", "a", "a"},
	} {
		if got := shorten([]byte(c[0]), []byte(c[1])); string(got) != c[2] {
			t.Errorf("%q after %q: %q, expected %q", c[1], c[0], got, c[2])
		}
	}
}
