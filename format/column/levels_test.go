package column

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// level is a word of n entries.
func level(rep, def, n int) uint32 { return uint32(def | rep<<11 | (n-1)<<21) }

func TestLevelRun(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 1}, {0, 1, 2048}, {1023, 2047, 1}, {1, 2, 3}, {1023, 0, 2048}} {
		if rep, def, n := LevelRun(level(c[0], c[1], c[2])); rep != c[0] || def != c[1] || n != c[2] {
			t.Errorf("%v: got %d, %d, %d", c, rep, def, n)
		}
	}
}

// leveled returns the buffers of columns with layout Levels: a list of records of an int and
// an optional int, and an optional list of ints.
func leveled(limit int) *Buffers {
	return NewBuffers([]Column{
		{Type: Null, Array: true, Parent: -1, Def: 1, Rep: 1},
		{Type: Int, Parent: 0, Def: 1, Rep: 1},
		{Type: Int, Array: true, Optional: true, Parent: 0, Def: 2, Rep: 1},
		{Type: Null, Array: true, Optional: true, Parent: -1, Def: 1},
		{Type: Int, Array: true, Parent: 3, Def: 2, Rep: 1},
	}, Levels, limit)
}

func wantLevels(t *testing.T, b *Buffer, rows int64, want ...uint32) {
	t.Helper()
	_, most := b.Size()
	if got := finish(b, rows); !slices.Equal(got.Lengths, want) || len(want) > most {
		t.Errorf("column %d: words %x, at most %d; want %x", b.index, got.Lengths, most, want)
	}
}

func TestPendingEntries(t *testing.T) {
	s := leveled(1 << 10)
	list, optional, items := &s.Cols[0], &s.Cols[3], &s.Cols[4]
	for range 5000 {
		list.Absent()
		optional.Absent()
	}
	around := list.BeginList()
	for i := range 3 {
		list.Item()
		if i == 1 {
			s.Cols[2].Present()
		} else {
			s.Cols[2].Absent()
		}
	}
	list.Length(3)
	list.EndList(around)
	optional.Present()
	items.Length(3000)
	optional.Present()
	m := items.Mark()
	items.Length(2)
	items.Restore(m)
	items.Absent()
	optional.Absent()
	if len(s.Due()) > 0 {
		t.Errorf("due: %v", s.Due())
	}
	wantLevels(t, list, 5001)
	wantLevels(t, &s.Cols[1], 5001, level(0, 0, 2048), level(0, 0, 2048), level(0, 0, 904), level(0, 1, 1), level(1, 1, 2))
	wantLevels(t, &s.Cols[2], 5001, level(0, 0, 2048), level(0, 0, 2048), level(0, 0, 904), level(0, 1, 1), level(1, 2, 1), level(1, 1, 1))
	wantLevels(t, items, 5003, level(0, 0, 2048), level(0, 0, 2048), level(0, 0, 904), level(0, 2, 1), level(1, 2, 2048), level(1, 2, 951),
		level(0, 1, 1), level(0, 0, 1))
	list.Absent()
	wantLevels(t, &s.Cols[1], 5002, level(0, 0, 1))
	wantLevels(t, &s.Cols[2], 5002, level(0, 0, 1))
	list.Absent()
	s.Reset()
	wantLevels(t, &s.Cols[1], 1)
	wantLevels(t, &s.Cols[2], 1)
}

// A leaf that grew while another block was finished becomes due by its next word.
func TestFinishMakesNothingDue(t *testing.T) {
	s := leveled(4)
	list := &s.Cols[0]
	for range 5000 {
		list.Absent()
	}
	var dst Block
	s.Cols[1].Finish(5000, &dst)
	if len(s.Due()) > 0 || s.passed > 0 {
		t.Errorf("due: %v; the row has passed %d words", s.Due(), s.passed)
	}
	list.BeginList()
	list.Item()
	s.Cols[2].Absent()
	if !slices.Equal(s.Due(), []int{2}) {
		t.Errorf("due after an entry: %v", s.Due())
	}
}

// Lists of entries that are passed on in any parts have the same words.
func TestRunsAreTheSameInAnyParts(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		var whole, parts, part runs
		for range 50 {
			levels, n := uint32(r.IntN(2)), uint32(1+r.IntN(1<<r.IntN(13)))
			for range n {
				whole.add(levels)
			}
			before := len(part.words)
			if completed := part.addRun(levels, n); completed != (len(part.words) > before) {
				t.Fatalf("seed %d: %d entries: completed %t", seed, n, completed)
			}
			if r.IntN(5) == 0 {
				most := parts.len() + part.len()
				parts.addAll(&part)
				if part.reset(); parts.len() > most {
					t.Fatalf("seed %d: %d words, want at most %d", seed, parts.len(), most)
				}
			}
		}
		parts.addAll(&part)
		whole.complete()
		parts.complete()
		if !slices.Equal(whole.words, parts.words) {
			t.Fatalf("seed %d: %s, want %s", seed, text(parts.words), text(whole.words))
		}
	}
}

func text(words []uint32) (s string) {
	for _, w := range words {
		rep, def, n := LevelRun(w)
		s += fmt.Sprintf(" %d×(%d,%d)", n, rep, def)
	}
	return s
}

// Each append uses the first 64 bytes of a buffer. Buffers are not two cache lines apart:
// then these bytes would have only half of the places in a processor's cache.
func TestBufferSize(t *testing.T) {
	if size := unsafe.Sizeof(Buffer{}); size != 112 {
		t.Errorf("a buffer has %d bytes", size)
	}
	if at := unsafe.Offsetof(Buffer{}.runs) + unsafe.Offsetof(runs{}.words); at != 64 {
		t.Errorf("the fields of each append have %d bytes", at)
	}
}
