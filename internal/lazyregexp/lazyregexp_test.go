package lazyregexp

import (
	"slices"
	"testing"
)

func TestRegexp(t *testing.T) {
	r := New(`a(\d+)`)
	if !r.MatchString("xa12") || r.MatchString("b") {
		t.Error("MatchString is wrong")
	}
	if s := r.FindString("xa12y"); s != "a12" {
		t.Errorf("found %q", s)
	}
	if s := r.FindStringSubmatch("xa12y"); !slices.Equal(s, []string{"a12", "12"}) {
		t.Errorf("found %q", s)
	}
	if at := r.FindStringSubmatchIndex("xa12y"); !slices.Equal(at, []int{1, 4, 2, 4}) {
		t.Errorf("found %d", at)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for an invalid regular expression")
		}
	}()
	New(`(`)()
}
