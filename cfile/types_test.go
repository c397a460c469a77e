package cfile

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	count := 0
	for v := range 256 {
		typ := Type(v)
		got, ok := ParseType(strings.ToLower(typ.String()))
		if typ.valid() != ok || ok && got != typ {
			t.Errorf("%s: %d, %v", typ, got, ok)
		}
		if ok {
			count++
		}
		e := Encoding(v)
		if got, ok := ParseEncoding(strings.ToLower(e.String())); ok != (e <= Bitshuffle) || ok && got != e {
			t.Errorf("%s: %d, %v", e, got, ok)
		}
		c := Compression(v)
		if got, ok := ParseCompression(strings.ToLower(c.String())); ok != c.valid() || ok && got != c {
			t.Errorf("%s: %d, %v", c, got, ok)
		}
	}
	if count != 20 {
		t.Errorf("%d types, expected 20", count)
	}
	for _, name := range []string{"", "IS_DELETED", "INT"} {
		if typ, ok := ParseType(name); ok {
			t.Errorf("%q is %s", name, typ)
		}
	}
}

func TestTypes(t *testing.T) {
	for typ := range Type(endOfTypes) {
		if !typ.valid() {
			continue
		}
		physical := typ.Physical()
		if physical.Physical() != physical || typ.Width() != physical.Width() || typ.Keyed() != physical.Keyed() {
			t.Errorf("%s is stored as %s, which is not a physical type", typ, physical)
		}
		if (typ.Width() == 0) != (physical == Binary) {
			t.Errorf("%s has a width of %d", typ, typ.Width())
		}
		if !typ.allows(Auto) || !typ.allows(Plain) || Auto.resolve(typ) != typ.Encodings()[0] {
			t.Errorf("%s: %s", typ, typ.Encodings())
		}
		if typ.allows(GroupVarint) != (typ == Uint32) {
			t.Errorf("%s: group varint", typ)
		}
	}
}
