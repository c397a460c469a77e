package delta

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"testing"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Numbers where the length of a varint changes, and their bytes.
var varints = []struct {
	n     uint64
	bytes string
}{
	{0, "00"}, {1, "01"}, {240, "f0"},
	{241, "f101"}, {495, "f1ff"}, {496, "f200"}, {2287, "f8ff"},
	{2288, "f90000"}, {67823, "f9ffff"},
	{67824, "fa0108f0"}, {1<<24 - 1, "faffffff"},
	{1 << 24, "fb01000000"}, {1<<32 - 1, "fbffffffff"},
	{1 << 32, "fc0100000000"}, {1<<40 - 1, "fcffffffffff"},
	{1 << 40, "fd010000000000"}, {1 << 48, "fe01000000000000"},
	{1 << 56, "ff0100000000000000"}, {math.MaxUint64, "ffffffffffffffffff"},
}

func TestVarint(t *testing.T) {
	var before []byte
	for _, c := range varints {
		b := appendVarint(nil, c.n)
		if want := unhex(t, c.bytes); !bytes.Equal(b, want) {
			t.Errorf("%d is %x, want %x", c.n, b, want)
		}
		if bytes.Compare(before, b) >= 0 {
			t.Errorf("%x does not sort before %x", before, b)
		}
		before = b
		n, rest, err := varint(append(slices.Clip(b), 7))
		if n != c.n || len(rest) != 1 || err != nil {
			t.Errorf("%x is %d, %x, %v", b, n, rest, err)
		}
		for cut := range len(b) {
			if _, _, err := varint(b[:cut]); !isDamage(err) {
				t.Errorf("%x, of which %d bytes are there: %v", b, cut, err)
			}
		}
	}
	for n := range uint64(200_000) {
		if got, rest, err := varint(appendVarint(nil, n)); got != n || len(rest) > 0 || err != nil {
			t.Fatalf("%d became %d, %x, %v", n, got, rest, err)
		}
	}
}

// TestLongVarint refuses numbers with more bytes than they need: they do not sort as they should.
func TestLongVarint(t *testing.T) {
	for _, text := range []string{"f100", "fa000001", "fa0108ef", "fb00ffffff", "ff00ffffffffffffff"} {
		if n, _, err := varint(unhex(t, text)); !isDamage(err) {
			t.Errorf("%s is %d, %v", text, n, err)
		}
	}
}

func TestOrder(t *testing.T) {
	keys := []Key{{0, 5}, {0, 7}, {2, 1}}
	for i, a := range keys {
		for j, b := range keys {
			redo, undo := Redo.compare(a, b), Undo.compare(a, b)
			if redo < 0 != (i < j) || redo > 0 != (i > j) {
				t.Errorf("REDO: %v and %v compare as %d", a, b, redo)
			}
			if want := redo; a.Row == b.Row && undo != -want || a.Row != b.Row && undo != want {
				t.Errorf("UNDO: %v and %v compare as %d", a, b, undo)
			}
		}
	}
}
