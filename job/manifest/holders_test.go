package manifest

import (
	"strings"
	"testing"
)

// TestHolders checks that the rows of an input are found in two outputs, which may have the
// same number.
func TestHolders(t *testing.T) {
	output := func(inputs ...string) *Success {
		s := &Success{Sequence: 1}
		for _, name := range inputs {
			s.Request.Inputs = append(s.Request.Inputs, Input{Path: name})
		}
		return s
	}
	var h Holders
	for name, s := range map[string]*Success{"x": output("a", "b"), "y": output("c"), "z": output()} {
		if found := h.Add(name, s); found != nil {
			t.Errorf("%s: %v", name, found)
		}
	}
	for want, s := range map[string]*Success{
		"the rows of c are in y as well": output("d", "c"),
		"the rows of a are in x as well": output("a"),
	} {
		if found := h.Add("new", s); found == nil || !strings.HasPrefix(found.String(), want) {
			t.Errorf("found %v, want %q", found, want)
		}
	}
}

// BenchmarkHolders measures how long Add takes for each input.
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
