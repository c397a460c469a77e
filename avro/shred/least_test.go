package shred

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestLeastSizes(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		want         int
	}{
		{"record", `{"type":"record","name":"R","fields":[{"name":"a","type":"double"},{"name":"b","type":"string"}]}`, 9},
		{"union", `["double","int","bytes"]`, 2},
		{"union of null", `["double","null"]`, 1},
		{"fixed", `{"type":"fixed","name":"F","size":7}`, 7},
		{"array", `{"type":"array","items":"double"}`, 1},
		{"list", `{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}`, 1},
		{"end of a recursion", `{"type":"record","name":"R","fields":[{"name":"next","type":["double","R"]}]}`, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := ParseSchema(c.schema)
			testenv.Must(t, err)
			if got := s.Root().least; got != c.want {
				t.Errorf("%d bytes, want %d", got, c.want)
			}
		})
	}
}

// A type that first occurs inside itself is measured before the type that contains it.
func TestLeastSizeWithinARecursion(t *testing.T) {
	s, err := ParseSchema(`{"type":"record","name":"A","fields":[{"name":"b","type":["null",
		{"type":"record","name":"B","fields":[{"name":"a","type":"A"}]}]}]}`)
	testenv.Must(t, err)
	if b := s.Root().Fields[0].Type.Branches[1]; b.least != 1 {
		t.Errorf("B takes at least %d bytes, want 1", b.least)
	}
}
