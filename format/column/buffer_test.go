package column

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"
)

// oneColumn returns the buffers of one column.
func oneColumn(t Type, layout Layout, limit int) (*Buffers, *Buffer) {
	s := NewBuffers([]Column{{Name: "c", Type: t, Array: true, Parent: -1}}, layout, limit)
	return s, &s.Cols[0]
}

func finish(b *Buffer, rows int64) Block {
	var dst Block
	b.Finish(rows, &dst)
	return dst
}

func TestRunsOfLengths(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []uint32
		want    []byte // zig-zag varints
	}{
		{"one zero", []uint32{0}, []byte{0}},
		{"one one", []uint32{1}, []byte{2}},
		{"two zeros are -1", []uint32{0, 0}, []byte{1}},
		{"two ones are -2", []uint32{1, 1}, []byte{3}},
		{"three zeros are -3", []uint32{0, 0, 0}, []byte{5}},
		{"three ones are -4", []uint32{1, 1, 1}, []byte{7}},
		{"a change ends the repeat", []uint32{0, 0, 1, 1, 1, 0}, []byte{1, 7, 0}},
		{"a longer length ends the repeat", []uint32{1, 1, 2, 2}, []byte{3, 4, 4}},
	} {
		_, b := oneColumn(Null, Interleaved, 1<<16)
		for _, n := range c.lengths {
			b.Length(n)
		}
		if got := finish(b, 1).Data; !bytes.Equal(got, c.want) {
			t.Errorf("%s: % x, want % x", c.name, got, c.want)
		}
	}
}

func TestAValueEndsTheRepeat(t *testing.T) {
	_, b := oneColumn(Int, Interleaved, 1<<16)
	for range 2 {
		b.Length(1)
		b.AppendVarint(5)
	}
	b.Length(0)
	b.Length(0)
	if got, want := finish(b, 4).Data, []byte{2, 10, 2, 10, 1}; !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestBooleansArePackedUntilALength(t *testing.T) {
	_, b := oneColumn(Boolean, Interleaved, 1<<16)
	b.Length(9)
	for i := range 9 {
		b.AppendBool(i%3 == 0)
	}
	b.Length(1)
	b.AppendBool(true)
	b.Length(1)
	b.AppendBool(true)
	if got, want := finish(b, 3).Data, []byte{18, 0b01001001, 0, 2, 1, 2, 1}; !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
	for range 3 {
		b.AppendBool(true)
	}
	if got, want := finish(b, 6).Data, []byte{7}; !bytes.Equal(got, want) {
		t.Errorf("next block: % x, want % x", got, want)
	}
}

func TestSplitKeepsLengthsApart(t *testing.T) {
	_, b := oneColumn(Boolean, Split, 1<<16)
	b.Length(2)
	b.AppendBool(true)
	b.AppendBool(false)
	b.Length(0)
	b.Length(0)
	got := finish(b, 3)
	if !bytes.Equal(got.Data, []byte{1, 0}) || !slices.Equal(got.Lengths, []uint32{2, 0, 0}) {
		t.Errorf("data % x, lengths %v", got.Data, got.Lengths)
	}
}

func TestABlockIsDueAtItsSize(t *testing.T) {
	s, b := oneColumn(Bytes, Interleaved, 8)
	b.Append(make([]byte, 7))
	if len(s.Due()) != 0 {
		t.Fatal("due below the block size")
	}
	b.AppendByte(1)
	b.AppendByte(1)
	if !slices.Equal(s.Due(), []int{0}) {
		t.Fatalf("due %v, want column 0 once", s.Due())
	}
	s.ClearDue()
	if got := finish(b, 3); got.Rows != 3 || got.FirstRow != 0 || len(got.Data) != 9 {
		t.Errorf("block %+v", got)
	}
	b.AppendSized(make([]byte, 20))
	if !slices.Equal(s.Due(), []int{0}) {
		t.Errorf("next block: due %v", s.Due())
	}
	if got := finish(b, 4); got.Rows != 1 || got.FirstRow != 3 {
		t.Errorf("next block: %d rows from row %d", got.Rows, got.FirstRow)
	}
}

func TestAPendingRunDoesNotMakeABlockDue(t *testing.T) {
	s, b := oneColumn(Null, Interleaved, 1)
	for range 1000 {
		b.Length(0)
	}
	if len(s.Due()) != 0 {
		t.Error("due for a repeat that is not written")
	}
}

// Restore also removes booleans that share a byte with others.
func TestRestoreRemovesBooleans(t *testing.T) {
	for before := range 18 {
		values := []bool{true, false, false, true, true, false, true, true, true, false, true, false, true, true, false, false, true, true, true, true}
		b := NewBuffers([]Column{{Type: Boolean, Parent: -1}}, Interleaved, 1<<10)
		want := NewBuffers([]Column{{Type: Boolean, Parent: -1}}, Interleaved, 1<<10)
		for i, v := range values[:before] {
			b.Cols[0].AppendBool(v)
			want.Cols[0].AppendBool(values[i])
		}
		m := b.Cols[0].Mark()
		for range 11 {
			b.Cols[0].AppendBool(true)
		}
		b.Cols[0].Restore(m)
		for _, v := range values[before:] {
			b.Cols[0].AppendBool(v)
			want.Cols[0].AppendBool(v)
		}
		var got, all Block
		b.Cols[0].Finish(20, &got)
		want.Cols[0].Finish(20, &all)
		if !bytes.Equal(got.Data, all.Data) {
			t.Errorf("after %d values: %x, want %x", before, got.Data, all.Data)
		}
	}
}

func TestRestoreRemovesALength(t *testing.T) {
	_, b := oneColumn(Boolean, Interleaved, 1<<16)
	b.Length(3)
	b.AppendBool(true)
	b.AppendBool(true)
	b.AppendBool(true)
	b.Length(0)
	m := b.Mark()
	b.Length(1)
	b.AppendBool(true)
	b.Restore(m)
	b.Length(0)
	if got, want := finish(b, 3).Data, []byte{6, 7, 1}; !bytes.Equal(got, want) {
		t.Errorf("% x, want % x", got, want)
	}
}

func TestFinishExchangesMemory(t *testing.T) {
	_, b := oneColumn(Bytes, Interleaved, 64)
	var block Block
	b.Append(make([]byte, 64))
	b.Finish(1, &block)
	allocs := testing.AllocsPerRun(100, func() {
		b.Append(block.Data[:32])
		b.Append(block.Data[:32])
		block.Reset()
		b.Finish(2, &block)
	})
	if allocs > 1 {
		t.Errorf("%.0f allocations per block", allocs)
	}
}

func TestParseType(t *testing.T) {
	for i := Null; i <= Bytes; i++ {
		if got, ok := ParseType(i.String()); !ok || got != i {
			t.Errorf("%s parses as %s, %t", i, got, ok)
		}
	}
	if _, ok := ParseType("Long"); ok {
		t.Error("Long parses; the names are lower-case")
	}
}

func TestSized(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 8191, 8192, 1 << 20} {
		value := bytes.Repeat([]byte{0x80}, n)
		encoded := append(binary.AppendVarint(nil, int64(n)), value...)
		if got := Sized(encoded); !bytes.Equal(got, value) {
			t.Errorf("got %d bytes, want %d", len(got), n)
		}
	}
}

// TestProvidedMemory provides one piece of memory for the blocks of a column. Each block
// gets the memory of the block before the last.
func TestProvidedMemory(t *testing.T) {
	const blockSize = 16 << 10
	s, b := oneColumn(Bytes, Interleaved, blockSize)
	memory := make([]byte, BlockMemory(blockSize))
	within := func(data []byte) bool {
		p := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
		from := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
		return p >= from && p < from+uintptr(len(memory))
	}
	s.Provide(memory, blockSize, nil)
	var block Block
	for i, c := range []struct {
		name   string
		values int // of 1 KiB each
		within bool
	}{
		{"few values", 3, false},
		{"more", 10, true},
		{"few in the memory of the first", 3, false},
		{"whole", 16, true},
		{"few again", 3, false},
		{"beyond", 40, false},
		{"in the memory that it left", 10, true},
	} {
		value := bytes.Repeat([]byte{byte(i)}, 1<<10)
		for range c.values {
			b.Append(value)
		}
		b.Finish(int64(i+1), &block)
		if want := bytes.Repeat(value, c.values); !bytes.Equal(block.Data, want) {
			t.Errorf("%s: got %d bytes, or wrong ones", c.name, len(block.Data))
		}
		if within(block.Data) != c.within {
			t.Errorf("%s: in the provided memory: %v", c.name, !c.within)
		}
	}
}
