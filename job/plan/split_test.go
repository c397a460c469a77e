package plan

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/job/manifest"
)

func TestCut(t *testing.T) {
	piece := func(in int, start, end int64) manifest.Piece {
		return manifest.Piece{Input: in, Start: start, End: end}
	}
	for _, tc := range []struct {
		name  string
		sizes []int64
		want  [][]manifest.Piece
	}{
		{"nothing", nil, nil},
		{"exactly one", []int64{100}, [][]manifest.Piece{{piece(0, 0, 100)}}},
		{"at most 1.1 stays whole", []int64{110}, [][]manifest.Piece{{piece(0, 0, 110)}}},
		{"more than 1.1 is cut", []int64{111}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 111)}}},
		{"last up to 1.1", []int64{310}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 200)}, {piece(0, 200, 310)}}},
		{"last small", []int64{311}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 200)}, {piece(0, 200, 300)}, {piece(0, 300, 311)}}},
		{"groups", []int64{40, 60, 1, 99, 50}, [][]manifest.Piece{{piece(0, 0, 40), piece(1, 0, 60)}, {piece(2, 0, 1), piece(3, 0, 99)}, {piece(4, 0, 50)}}},
		{"a large input ends the group", []int64{10, 101, 10, 10}, [][]manifest.Piece{{piece(0, 0, 10)}, {piece(1, 0, 101)}, {piece(2, 0, 10), piece(3, 0, 10)}}},
	} {
		var inputs []manifest.Input
		for _, s := range tc.sizes {
			inputs = append(inputs, manifest.Input{Size: s})
		}
		got := cut(inputs, 100)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v", tc.name, got)
			continue
		}
		for i, task := range got {
			if task.ID != i || !slices.Equal(task.Pieces, tc.want[i]) {
				t.Errorf("%s: task %d is %+v, want %v", tc.name, i, task, tc.want[i])
			}
		}
	}
}

// TestSplitSize checks that few last pieces are larger than the room.
func TestSplitSize(t *testing.T) {
	const room = 1_000_000
	for _, tc := range []struct {
		name  string
		sizes []int64
		want  int64
	}{
		{"nothing", nil, room},
		{"fits exactly", []int64{3 * room}, room},
		{"a small piece is left", []int64{3*room + room/2}, room},
		{"the last piece is too large", []int64{3*room + 55_000}, 980_000},
		{"two are too large", []int64{3*room + 55_000, 20*room + 85_000}, 980_000},
		{"one of very many is too large", []int64{120*room + 55_000}, room},
		{"all are too large", slices.Repeat([]int64{room + 90_000}, 1000), 990_000},
		{"with every size", []int64{room + 1, room * 106 / 100, room*110/100 - 1}, room * 10 / 11},
	} {
		var inputs []manifest.Input
		for _, s := range tc.sizes {
			inputs = append(inputs, manifest.Input{Size: s})
		}
		got := splitSize(inputs, room)
		if got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
		tasks, over := cut(inputs, got), 0
		for i := range tasks {
			if tasks[i].Bytes() > room {
				over++
			}
		}
		if over*maxOver > len(tasks) {
			t.Errorf("%s: %d of %d tasks have too much", tc.name, over, len(tasks))
		}
	}
	if got := splitSize(nil, 0); got != minSplit {
		t.Errorf("without room: %d", got)
	}
}
