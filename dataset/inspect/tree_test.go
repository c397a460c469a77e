package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTree(t *testing.T) {
	cases := []struct{ name, columns, want string }{
		{"flat", "id from from_name", "id from from_name"},
		{"array of records", "hops[] hops[]#host hops[]#port size", "hops[] -host -port size"},
		{"map", "m> m>key m>value#a m>value#b[]", "m> -key -(value) --a --b[]"},
		{"record", "a#x a#y b", "(a) -x -y b"},
		{"record of records", "a#b#x a#b#y a#c z", "(a) -(b) --x --y -c z"},
		{"path of a single field", "a#b#x c/int", "a#b#x c/int"},
		{"union", "u/int u/long u/t.R u/t.R#f[] u/t.R#f[]#g", "(u) -/int -/long -/t.R --f[] ---g"},
		{"array of arrays", "a[] a[][] a[][][] b", "a[] -[] --[] b"},
		{"array of maps", "a[] a[]> a[]>key a[]>value", "a[] -> --key --value"},
		{"name that begins another name", "to to[] tom", "to -[] tom"},
		{"not depth first", "a#x b a#y", "a#x b a#y"},
		{"equal names", "a a b", "a - b"},
		{"hostile", "/x/ /> >key > [", "/x/ /> (>) -key - ["},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var columns []Column
			for i, name := range strings.Fields(c.columns) {
				columns = append(columns, Column{Number: i, Name: name})
			}
			var got []string
			next := 0
			for _, n := range tree(columns) {
				label := n.Label
				if n.Column < 0 {
					label = "(" + label + ")"
				} else {
					if n.Column != next || n.Name != columns[next].Name {
						t.Errorf("got node %+v, want column %d", n, next)
					}
					next++
				}
				got = append(got, strings.Repeat("-", n.Depth)+label)
			}
			if next != len(columns) || !slices.Equal(got, strings.Fields(c.want)) {
				t.Errorf("got %q, want %q", got, strings.Fields(c.want))
			}
		})
	}
	if got := tree([]Column{{}, {Number: 1}, {Number: 2, Name: "a"}}); len(got) != 3 || got[2].Depth != 0 {
		t.Errorf("columns without names: %v", got)
	}
}

// The number of columns limits that of nodes, even if names are long and deep.
func TestTreeBound(t *testing.T) {
	var columns []Column
	deep := strings.Repeat("a#", 10_000)
	for i := range 1_000 {
		columns = append(columns, Column{Number: i, Name: deep[:2*(i*7919%10_000)] + fmt.Sprint(i)})
	}
	if n := len(tree(columns)); n > 2*len(columns) {
		t.Errorf("%d nodes of %d columns", n, len(columns))
	}
}

// FuzzTree nests any names: each column occurs once, in order, below nodes whose
// names begin its name.
func FuzzTree(f *testing.F) {
	f.Add("hops[] hops[]#host hops[]#tags> hops[]#tags>key size/int")
	f.Add("# ## > >> [ [] / a# a#")
	f.Fuzz(func(t *testing.T, text string) {
		var columns []Column
		for i, name := range strings.Split(text, " ") {
			columns = append(columns, Column{Number: i, Name: name})
		}
		nodes := tree(columns)
		if len(nodes) > 2*len(columns) {
			t.Fatalf("%d nodes of %d columns", len(nodes), len(columns))
		}
		next := 0
		above := []string{}
		for _, n := range nodes {
			if n.Column >= 0 {
				if n.Column != next || n.Name != columns[next].Name {
					t.Fatalf("got node %+v, want column %d", n, next)
				}
				next++
			}
			if n.Depth > len(above) {
				t.Fatalf("node %+v skips a level", n)
			}
			if n.Depth > 0 && !strings.HasPrefix(n.Name, above[n.Depth-1]) {
				t.Fatalf("node %+v is below %q", n, above[n.Depth-1])
			}
			above = append(above[:n.Depth], n.Name)
		}
		if next != len(columns) {
			t.Fatalf("got %d of %d columns", next, len(columns))
		}
	})
}
