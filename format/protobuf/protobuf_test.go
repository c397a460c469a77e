package protobuf

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
)

// wantDamage fails unless err is damage at an offset with a text.
func wantDamage(t *testing.T, err error, offset int64, text string) {
	t.Helper()
	var d *damage.Error
	if !errors.As(err, &d) || d.Offset != offset || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want damage at %d: %s", err, offset, text)
	}
}

func TestDamage(t *testing.T) {
	field := AppendVarint(nil, 1, 300)
	for text, b := range map[string][]byte{
		"m: no protobuf field":             field[:len(field)-1],
		"m: no protobuf field: unexpected": {0x80},
	} {
		m := New("m", b, 7)
		for m.Next() {
			m.Varint(math.MaxUint64)
		}
		wantDamage(t, m.End(), 7, text)
	}
	m := New("m", field, 7)
	if !m.Next() || m.Bytes() != nil {
		t.Error("a number is read as bytes")
	}
	wantDamage(t, m.End(), 7, "has the wire type 0, expected 2")
	m = New("m", field, 7)
	if !m.Next() || m.Varint(299) != 0 {
		t.Error("a number beyond its limit is read")
	}
	wantDamage(t, m.End(), 7, "field 1 is 300, at most 299")
	m = New("m", field, 7)
	for m.Next() {
		m.Varint(300)
	}
	wantDamage(t, m.End(1, 2), 7, "field 2 is missing")
	_, err := Delimited("m", []byte{0, 0x80}, 1, 7)
	wantDamage(t, err, 9, "length of the m needs 1 bytes, 0 remain")
	_, err = Delimited("m", protowire.AppendVarint([]byte{0}, 1), 1, 7)
	wantDamage(t, err, 9, "m needs 1 bytes, 0 remain")
}

// TestInner checks a message within a message, and the errors of damage in it.
func TestInner(t *testing.T) {
	inner := AppendVarint(AppendBytes(nil, 1, "text"), 2, 5)
	m, err := Delimited("m", append([]byte{byte(len(AppendBytes(nil, 3, inner)))}, AppendBytes(nil, 3, inner)...), 0, 10)
	if err != nil || !m.Next() || m.Number != 3 || m.At != 11 {
		t.Fatalf("field %d at %d, %v", m.Number, m.At, err)
	}
	in := m.Inner()
	for in.Next() {
		switch in.Number {
		case 1:
			if string(in.Bytes()) != "text" {
				t.Errorf("%q", in.Bytes())
			}
		case 2:
			if v := in.Varint(5); v != 5 {
				t.Errorf("%d", v)
			}
		}
	}
	if m.Next() || m.Read() != 2+len(inner) || m.After() != in.After() {
		t.Errorf("%d bytes are read, up to %d and %d", m.Read(), m.After(), in.After())
	}
	m.EndInner(&in, 4)
	wantDamage(t, m.End(), 13, "field 4 is missing")
}
