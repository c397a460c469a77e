package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// lender lends pieces of memory, and records which are lent.
type lender struct {
	t       *testing.T
	left    int // pieces; unlimited if negative
	refused bool
	lent    map[*byte]int
}

func newLender(t *testing.T, pieces int) *lender {
	return &lender{t: t, left: pieces, lent: make(map[*byte]int)}
}

// Take returns more than n bytes, which are not zero.
func (l *lender) Take(n int) []byte {
	if l.left == 0 {
		l.refused = true
		return nil
	}
	l.left--
	b := bytes.Repeat([]byte{0xa5}, n+100)
	l.lent[&b[0]] = len(b)
	return b
}

func (l *lender) Give(b []byte) {
	l.t.Helper()
	if n := l.lent[&b[0]]; n != len(b) {
		l.t.Errorf("%d bytes are returned, want %d", len(b), n)
	}
	delete(l.lent, &b[0])
}

// owns reports whether data is memory that is lent.
func (l *lender) owns(data []byte) bool {
	return cap(data) > 0 && l.lent[&data[:1][0]] == cap(data)
}

const lentBlock = 1 << 10 // block size of the tests with a lender

// lending returns a column's buffer that can borrow the given number of pieces.
func lending(t *testing.T, typ Type, layout Layout, pieces int) (*Buffers, *Buffer, *lender) {
	s, b := oneColumn(typ, layout, lentBlock)
	l := newLender(t, pieces)
	s.Provide(make([]byte, 2*BlockMemory(lentBlock)), lentBlock, l)
	return s, b, l
}

func TestLargeValuesTakeLentMemory(t *testing.T) {
	_, b, l := lending(t, Bytes, Interleaved, -1)
	var block Block
	for i, size := range []int{100, 10 * lentBlock, lentBlock, 3 * lentBlock, BlockMemory(lentBlock)} {
		value := bytes.Repeat([]byte{byte(i + 1)}, size)
		b.Append(value)
		b.Finish(int64(i+1), &block)
		if !bytes.Equal(block.Data, value) {
			t.Errorf("got %d bytes, want %d, or wrong ones", len(block.Data), size)
		}
		large := cap(block.Data) > BlockMemory(lentBlock)
		if large != (size > lentBlock) || large != l.owns(block.Data) {
			t.Errorf("%d bytes in %d of memory; lent: %t", size, cap(block.Data), l.owns(block.Data))
		}
		if large {
			l.Give(block.Data[:cap(block.Data)])
			block.Data = nil
		}
		if len(l.lent) > 0 {
			t.Errorf("%d bytes: %d pieces are still lent", size, len(l.lent))
		}
	}
	if l.refused {
		t.Error("refused")
	}
}

// A block that outgrows lent memory returns it, and Reset returns the rest.
func TestLentMemoryIsReturned(t *testing.T) {
	s, b, l := lending(t, Bytes, Interleaved, -1)
	var want []byte
	for i := range 40 {
		value := bytes.Repeat([]byte{byte(i)}, lentBlock)
		b.Append(value)
		want = append(want, value...)
		if i > 1 && len(l.lent) != 1 {
			t.Fatalf("after %d bytes: %d pieces are lent", len(want), len(l.lent))
		}
	}
	if l.left > -5 {
		t.Errorf("the block grew %d times", -1-l.left)
	}
	if !bytes.Equal(b.data[:b.n], want) {
		t.Error("the block does not have the appended bytes")
	}
	s.Reset()
	if len(l.lent) > 0 {
		t.Errorf("after Reset: %d pieces are lent", len(l.lent))
	}
	b.Append([]byte("next"))
	if got := finish(b, 1); string(got.Data) != "next" || l.owns(got.Data) {
		t.Errorf("after Reset: %q", got.Data)
	}
}

// appends are ways to fill a block, by a few bytes or by many. Each takes the number of the
// append.
var appends = []struct {
	name   string
	typ    Type
	layout Layout
	append func(b *Buffer, i int)
}{
	{"one after the other", Bytes, Interleaved, func(b *Buffer, _ int) { b.Append(make([]byte, 30)) }},
	{"long", Bytes, Interleaved, func(b *Buffer, _ int) { b.Append(make([]byte, 2*lentBlock)) }},
	{"sized", Bytes, Interleaved, func(b *Buffer, i int) { b.AppendSized(make([]byte, i%200)) }},
	{"long and sized", Bytes, Interleaved, func(b *Buffer, _ int) { b.AppendSized(make([]byte, 2*lentBlock)) }},
	{"bytes", Int, Interleaved, func(b *Buffer, i int) { b.AppendByte(byte(i)) }},
	{"varints", Long, Interleaved, func(b *Buffer, i int) { b.AppendVarint(int64(i) << (i % 40)) }},
	{"words", Double, Interleaved, func(b *Buffer, i int) { b.AppendWord(uint64(i), 8) }},
	{"heads", String, Interleaved, func(b *Buffer, i int) { b.AppendHead(new([16]byte), i%17) }},
	{"short strings", String, Interleaved, func(b *Buffer, i int) { b.AppendShort(make([]byte, 64), i%65) }},
	{"lengths", Null, Interleaved, func(b *Buffer, i int) { b.Length(uint32(2 + i%1000)) }},
	{"lengths and values", Int, Interleaved, func(b *Buffer, i int) {
		b.Length(uint32(i % 3))
		for range i % 3 {
			b.AppendVarint(int64(i))
		}
	}},
	{"booleans with lengths", Boolean, Interleaved, func(b *Buffer, _ int) {
		b.Present()
		b.AppendBool(true)
	}},
	{"booleans of split layout", Boolean, Split, func(b *Buffer, _ int) { b.AppendBool(true) }},
}

// Once memory is refused, appends have no effect. There may still be some, because the owner
// does not check each time.
func TestRefusedMemory(t *testing.T) {
	for _, c := range appends {
		for pieces := range 3 {
			t.Run(fmt.Sprint(c.name, pieces), func(t *testing.T) {
				s, b, l := lending(t, c.typ, c.layout, pieces)
				n := 0
				for ; !l.refused && n < 100*lentBlock; n++ {
					c.append(b, n)
				}
				if !l.refused || l.left != 0 || len(l.lent) > 1 {
					t.Fatalf("refused %t; %d pieces left, %d lent", l.refused, l.left, len(l.lent))
				}
				for i := range 5000 {
					c.append(b, n+i)
				}
				if !l.refused {
					t.Error("the refusal is not recorded")
				}
				if data, _ := b.Size(); data > cap(b.data)+pendingRepeatMax {
					t.Errorf("%d bytes in %d", data, cap(b.data))
				}
				s.Reset()
				if len(l.lent) > 0 {
					t.Errorf("after Reset: %d pieces are lent", len(l.lent))
				}
			})
		}
	}
}

// Restore works even if the memory of the mark is lost.
func TestRestoreAfterARefusal(t *testing.T) {
	s, b, l := lending(t, Int, Interleaved, 0)
	for i := 0; !l.refused; i++ {
		m := b.Mark()
		b.Length(2)
		b.AppendVarint(int64(i))
		b.AppendVarint(int64(i))
		if i%2 == 0 || l.refused {
			b.Restore(m)
		}
	}
	for i := range 5000 {
		b.Length(2)
		b.AppendWord(uint64(i), 8)
		b.AppendWord(uint64(i), 8)
	}
	s.Reset()
	b.Append([]byte("next"))
	if got := finish(b, 1); string(got.Data) != "next" {
		t.Errorf("after Reset: %q", got.Data)
	}
}

// A block has the same content in any memory.
func TestBlocksAreTheSameInAnyMemory(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 9))
		c := Column{Type: Type(r.IntN(10)), Array: r.IntN(2) == 0, Parent: -1}
		limit := 64 << r.IntN(10)
		var all [2]*Buffers
		l := newLender(t, -1)
		for i := range all {
			all[i] = NewBuffers([]Column{c}, Layout(seed%2), limit)
		}
		all[1].Provide(make([]byte, r.IntN(4)*BlockMemory(limit)), limit, l)
		blocks := new([2]Block)
		for row := range int64(20) {
			for i := range all {
				fill, b := rand.New(rand.NewPCG(seed, uint64(row))), &all[i].Cols[0]
				fillColumn(fill, c, b)
				if c.Type == Bytes && fill.IntN(8) == 0 {
					b.AppendSized(bytes.Repeat(binary.AppendVarint(nil, row), fill.IntN(100<<10)))
				}
			}
			if r.IntN(4) > 0 {
				continue
			}
			for i := range all {
				all[i].Cols[0].Finish(row+1, &blocks[i])
			}
			if got, want := blocks[1], blocks[0]; !bytes.Equal(got.Data, want.Data) || fmt.Sprint(got.Lengths) != fmt.Sprint(want.Lengths) {
				t.Fatalf("seed %d, row %d: %s of %d bytes, want %d", seed, row, c.TypeName(), len(got.Data), len(want.Data))
			}
			if cap(blocks[1].Data) > BlockMemory(limit) {
				l.Give(blocks[1].Data[:cap(blocks[1].Data)])
				blocks[1].Data = nil
			}
		}
		if all[1].Reset(); len(l.lent) > 0 {
			t.Errorf("seed %d: %d pieces are still lent", seed, len(l.lent))
		}
	}
}

// TestRefusedBooleans appends to the last byte of a block that was lost.
func TestRefusedBooleans(t *testing.T) {
	s, b := oneColumn(Boolean, Interleaved, 1<<10)
	l := newLender(t, 0)
	s.Provide(nil, 1<<10, l)
	b.Length(100_000)
	for range 100_000 {
		b.AppendBool(true)
	}
	if !l.refused {
		t.Error("not refused")
	}
}
