package shred

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestNearPaths(t *testing.T) {
	s, err := ParseSchema(`{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"d","type":"int"},{"name":"pair","type":["int","string"]},
		{"name":"r","type":{"type":"record","name":"S","fields":[{"name":"x","type":"int"},{"name":"tags","type":{"type":"map","values":"int"}}]}}]}`)
	testenv.Must(t, err)
	m, err := Map(s, Options{})
	testenv.Must(t, err)
	for path, want := range map[string][]string{
		"ID":           {"id", "d"},
		"x":            {"r.x"},
		"X":            {"r.x"},
		"y":            nil, // a single letter is near to no name
		"pair.integer": {"pair"},
		"r.tags['k']":  {"r.tags"},
		"r.tag":        {"r.tags"},
		"pairs":        {"pair"},
		"pairwise":     nil,
		"":             nil,
	} {
		if got := m.Root().Unknown(path).Near; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
