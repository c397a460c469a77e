package multiset

import "testing"

func sumOf(items ...string) (s Sum) {
	for _, item := range items {
		s.Add([]byte(item))
	}
	return s
}

func TestSum(t *testing.T) {
	all := sumOf("a", "b", "b", "")
	for _, c := range []struct {
		name string
		s    Sum
		same bool
	}{
		{"another order", sumOf("b", "", "a", "b"), true},
		{"an item less often", sumOf("a", "b", ""), false},
		{"another item in its place", sumOf("a", "a", "b", ""), false},
		{"one item for two", sumOf("a", "bb", ""), false},
		{"an empty item less", sumOf("a", "b", "b"), false},
		{"none", Sum{}, false},
	} {
		if (c.s == all) != c.same || (c.s.String() == all.String()) != c.same {
			t.Errorf("%s: got %s and %s, want equal: %v", c.name, c.s, all, c.same)
		}
	}
}
