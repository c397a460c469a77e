package manifest

import (
	"strings"
	"testing"
)

// TestHolders finds the rows of an input, and a number, in two outputs.
func TestHolders(t *testing.T) {
	output := func(sequence int64, inputs ...string) *Success {
		s := &Success{Sequence: sequence}
		for _, name := range inputs {
			s.Request.Inputs = append(s.Request.Inputs, Input{Path: name})
		}
		return s
	}
	var h Holders
	for name, s := range map[string]*Success{"x": output(1, "a", "b"), "y": output(2, "c"), "z": output(3)} {
		if found := h.Add(name, s); found != nil {
			t.Errorf("%s: %v", name, found)
		}
	}
	for want, s := range map[string]*Success{
		"the rows of c are in y as well": output(9, "d", "c"),
		"the rows of a are in x as well": output(2, "a"),
		"z has the number 3 as well":     output(3, "e"),
	} {
		if found := h.Add("new", s); found == nil || !strings.HasPrefix(found.String(), want) {
			t.Errorf("found %v, want %q", found, want)
		}
	}
}

// BenchmarkHolders is what a reader pays for each input.
func BenchmarkHolders(b *testing.B) {
	s := &Success{}
	for i := range 1000 {
		s.Request.Inputs = append(s.Request.Inputs, Input{Path: strings.Repeat("/data/mail", 8) + string(rune('a'+i))})
	}
	for b.Loop() {
		var h Holders
		h.Add("out", s)
	}
}
