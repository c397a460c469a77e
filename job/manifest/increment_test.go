package manifest

import "testing"

func TestStandingTo(t *testing.T) {
	s := &Success{Increment: true, Base: "base", Sequence: 3}
	for _, test := range []struct {
		id       string
		sequence int64
		want     Standing
	}{
		{"base", 1, Counts},
		{"base", 9, Counts},
		{"other", 4, Replaced},
		{"other", 3, Orphaned},
		{"other", 1, Orphaned},
		{"", 0, Orphaned},
	} {
		if got := s.StandingTo(test.id, test.sequence); got != test.want {
			t.Errorf("next to %q, number %d: %d, want %d", test.id, test.sequence, got, test.want)
		}
	}
	if s.Base = ""; s.StandingTo("", 0) != Counts || s.StandingTo("other", 4) != Replaced {
		t.Error("an increment without an output has another standing")
	}
}

func TestNotIncrement(t *testing.T) {
	s := &Success{ID: "0123456789abcdef", Sequence: 3}
	dir := IncrementName(3, s.ID)
	if s.NotIncrement(dir) == "" {
		t.Error("an output that replaces is accepted as an increment")
	}
	s.Increment = true
	if why := s.NotIncrement(dir); why != "" {
		t.Error(why)
	}
	if s.NotIncrement(IncrementName(4, s.ID)) == "" {
		t.Error("a copy under another name is accepted as an increment")
	}
}
