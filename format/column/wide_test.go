package column

import (
	"strings"
	"testing"
)

// TestWideNumbersAreDue checks that, with layout Levels, a block of numbers is due by the
// bytes that they have in a fixed size, and not by those in the data.
func TestWideNumbersAreDue(t *testing.T) {
	const blockSize = 64 << 10
	for _, test := range []struct {
		column Column
		value  int64
		size   int // bytes of a number by which a block is due
	}{
		{Column{Type: Long}, 1, 8},
		{Column{Type: Long}, 1 << 40, 8},
		{Column{Type: Long}, -1 << 63, 8},
		{Column{Type: Int}, 0, 4},
		{Column{Type: Int}, 1 << 30, 4},
		{Column{Type: Int, Symbols: []string{"A"}}, 0, 5},
		{Column{Type: Int, Symbols: []string{"A", strings.Repeat("B", 100)}}, 0, 104},
		{Column{Type: Int, Symbols: []string{strings.Repeat("A", blockSize), ""}}, 1, blockSize + 4},
	} {
		bufs := NewBuffers([]Column{test.column}, Levels, blockSize)
		var block Block
		for row := range int64(3) { // blocks
			n := 0
			for ; len(bufs.Due()) == 0; n++ {
				bufs.Cols[0].AppendVarint(test.value)
			}
			if got := n * test.size; got < blockSize*3/4 || got > blockSize+8*test.size {
				t.Errorf("%s %d: due at %d numbers, %d bytes", test.column.Type, test.value, n, got)
			}
			bufs.Cols[0].Finish(row+1, &block)
			bufs.ClearDue()
		}
	}
}

func TestCountVarints(t *testing.T) {
	b := []byte("\x00\x80\x01\xff\xff\xff\x7f\x05\x80\x80\x80\x01\x02")
	want := 0
	for n := range len(b) + 1 {
		if got := countVarints(b[:n]); got != want {
			t.Errorf("%d varints in %x, want %d", got, b[:n], want)
		}
		if n < len(b) && b[n] < 0x80 {
			want++
		}
	}
}

// noMemory has no memory for large blocks.
type noMemory struct{}

func (noMemory) Take(int) []byte { return nil }
func (noMemory) Give([]byte)     {}

// TestLostBlockOfNumbers checks that a block can grow on after it was lost for want of memory.
func TestLostBlockOfNumbers(t *testing.T) {
	bufs := NewBuffers([]Column{{Type: Long, Array: true, Def: 1, Rep: 1, Parent: -1}}, Levels, 4<<10)
	bufs.Provide(nil, 4<<10, noMemory{})
	for i := range 100_000 {
		bufs.Cols[0].AppendVarint(int64(i) << 20)
	}
	if len(bufs.Due()) != 1 {
		t.Error("the block is not due")
	}
}
