package column_test

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
)

func TestGroups(t *testing.T) {
	for _, test := range []struct {
		n        int
		children []int
		want     []int
	}{
		{0, nil, []int{0}},
		{1, nil, []int{1}},
		{64, nil, []int{64}},
		{65, nil, []int{64, 65}},
		{200, []int{64, 65, 130}, []int{66, 131, 195, 200}},
		{66, []int{64, 65}, []int{66}},
	} {
		got := column.Groups(test.n, func(col int) bool { return slices.Contains(test.children, col) })
		if !slices.Equal(got, test.want) {
			t.Errorf("%d columns with the children %v: groups end at %v, want %v", test.n, test.children, got, test.want)
		}
	}
}
