package cfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// binaries returns BINARY values.
func binaries(words ...string) *encoding.Values {
	v := &encoding.Values{}
	for _, w := range words {
		v.AppendBinary([]byte(w))
	}
	return v
}

// codesOf returns the numbers of the values in d.
func codesOf(d *dictionary, v *encoding.Values) (codes []uint32) {
	b, n := d.code(nil, v.Offsets, v.Data)
	for i := range n {
		codes = append(codes, binary.LittleEndian.Uint32(b[4*i:]))
	}
	return codes
}

func TestDictionaryNumbersStringsInOrder(t *testing.T) {
	d := newDictionary(1 << 20)
	for _, c := range []struct {
		words *encoding.Values
		codes []uint32
	}{
		{binaries(), nil},
		{binaries("b", "a", "b", "", "b"), []uint32{0, 1, 0, 2, 0}},
		{binaries("", "a", "c", "aa"), []uint32{2, 1, 3, 4}},
	} {
		if got := codesOf(d, c.words); fmt.Sprint(got) != fmt.Sprint(c.codes) {
			t.Errorf("%q: %v, want %v", c.words.Data, got, c.codes)
		}
	}
	words, err := encoding.NewDictionary(d.appendBlock(nil))
	if err != nil || words.Len() != 5 || string(words.Word(4)) != "aa" {
		t.Errorf("%v words: %v", words, err)
	}
}

func TestDictionaryOfManyStrings(t *testing.T) {
	const n = 50_000
	d, v := newDictionary(8<<20), &encoding.Values{}
	for i := range n {
		v.AppendBinary(fmt.Appendf(nil, "%x", i*i))
	}
	for range 2 {
		for i, code := range codesOf(d, v) {
			if code != uint32(i) {
				t.Fatalf("%q is number %d, want %d", v.Binary(i), code, i)
			}
		}
	}
	if d.full() {
		t.Error("the dictionary is full")
	}
	if block := d.appendBlock(nil); len(block) > d.size() || len(block) < d.size()-groupPadding {
		t.Errorf("a block of %d bytes, want at most %d", len(block), d.size())
	}
}

// The estimate of five strings of 8 bytes: header 12, two tags, five offsets of a byte
// each, and the strings: 59.
func TestDictionaryIsFullByKudusEstimate(t *testing.T) {
	v := &encoding.Values{}
	for i := range 9 {
		v.AppendBinary(fmt.Appendf(nil, "string %d", i))
	}
	for _, c := range []struct{ blockSize, taken int }{{58, 5}, {59, 6}, {12, 1}, {1, 0}} {
		d := newDictionary(c.blockSize)
		if got := len(codesOf(d, v)); got != c.taken || !d.full() {
			t.Errorf("block size %d: takes %d, full %v; want %d", c.blockSize, got, d.full(), c.taken)
		}
		if got := codesOf(d, v); len(got) > 0 {
			t.Errorf("block size %d: takes %d more", c.blockSize, len(got))
		}
	}
}

func TestDictionaryRefusesLargeStrings(t *testing.T) {
	d := newDictionary(8 << 20)
	large := &encoding.Values{}
	large.AppendBinary(bytes.Repeat([]byte{1}, 6<<20))
	large.AppendBinary(bytes.Repeat([]byte{2}, 11<<20))
	if got := len(codesOf(d, large)); got != 1 || !d.full() {
		t.Errorf("takes %d strings, full %v", got, d.full())
	}
	if n := len(d.appendBlock(nil)); n > maxBlock {
		t.Errorf("a block of %d bytes", n)
	}
}

func TestDictionaryMemory(t *testing.T) {
	const blockSize = 256 << 10
	for _, width := range []int{2, 3, 4, 16, 400} {
		d, v := newDictionary(blockSize), &encoding.Values{}
		word := make([]byte, width)
		for i := 0; i < 1<<16 && !d.full(); i++ {
			word[0], word[1], word[width-1] = byte(i), byte(i>>8), byte(max(i>>16, i>>8))
			v.Reset()
			v.AppendBinary(word)
			d.code(nil, v.Offsets, v.Data)
		}
		if got := 4*cap(d.slots) + 4*cap(d.words.Offsets) + cap(d.words.Data); got > 6*blockSize {
			t.Errorf("strings of %d bytes: %d bytes for %d of them", width, got, d.words.BinaryLen())
		}
	}
}

// Strings for which the dictionary has no room are stored plain, and so are all later strings,
// even those that the dictionary has.
func TestFullDictionary(t *testing.T) {
	o := Options{Type: String, Nullable: true, BlockSize: 64, Positional: true}
	rows := &Rows{}
	for i := range 100 {
		rows.Valid = append(rows.Valid, 1, 0)
		rows.AppendBinary(fmt.Appendf(nil, "string %d", i%20))
	}
	file := write(t, o, rows)
	f := openBytes(t, file)
	got, err := readAll(f, 1000)
	if err != nil || !equalRows(&got, rows) {
		t.Fatal(err)
	}
	words, err := f.dictionary()
	if err != nil || words.Len() != 6 {
		t.Errorf("%d strings, %v", words.Len(), err)
	}
	blocks, err := f.Blocks()
	testenv.Must(t, err)
	reader := blockReader{f: f, from: f.readBlock}
	for i, b := range blocks {
		raw, err := reader.read(b.Pointer)
		testenv.Must(t, err)
		_, n := binary.Uvarint(raw)
		size, m := binary.Uvarint(raw[n:])
		mode := raw[n+m+int(size)]
		if want := byte(min(i, 1) + 1); mode != want {
			t.Errorf("block %d has mode %d, want %d", i, mode, want)
		}
	}
	if blocks[1].Ordinal != 11 { // after the sixth string, and before the null
		t.Errorf("the second block begins with row %d", blocks[1].Ordinal)
	}
}

// A string that the dictionary block cannot hold ends the block before it. The nulls before
// the string belong to that block, also if they are appended in another call.
func TestDictionaryBlockIsTooLarge(t *testing.T) {
	o := Options{Type: Binary, Nullable: true, BlockSize: maxBlockSize, Positional: true}
	rows := &Rows{Valid: []byte{0, 1, 0, 0, 1, 0, 1}}
	for _, n := range []int{7 << 20, 11 << 20, 3} {
		rows.AppendBinary(make([]byte, n))
	}
	want := write(t, o, rows)
	for cut := range 7 {
		if got := write(t, o, rows.part(o, 0, cut), rows.part(o, cut, 7)); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, but %d if the rows are appended in two calls, %d in the first", len(want), len(got), cut)
		}
	}
	f := openBytes(t, want)
	got, err := readAll(f, 10)
	if err != nil || !equalRows(&got, rows) {
		t.Error(err)
	}
	blocks, err := f.Blocks()
	if err != nil || len(blocks) != 3 || blocks[1].Ordinal != 4 || blocks[2].Ordinal != 5 {
		t.Errorf("%+v, %v", blocks, err)
	}
}

// Open rows hold the codes of strings, not the strings.
func TestOpenRowsHoldCodesOnly(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, Options{Type: Binary, Positional: true})
	testenv.Must(t, err)
	rows := &Rows{}
	rows.AppendBinary(make([]byte, 100<<10))
	for range 1000 {
		testenv.Must(t, w.Append(rows))
	}
	if n := w.open.size() + len(w.codes); n > 10_000 {
		t.Errorf("1000 rows take %d bytes", n)
	}
}

// The memory of a part's dictionaries is counted by their block size, so they must not hold
// long strings.
func TestDictionariesOfColumnsHoldNoLongStrings(t *testing.T) {
	const size = 64 << 10
	d := newColumnDictionary(&Options{BlockSize: size})
	for _, test := range []struct {
		word int
		ok   bool
	}{{10, true}, {size, true}, {size, false}, {4 << 20, false}} {
		_, ok := d.number(bytes.Repeat([]byte{byte(test.word)}, test.word+d.words.BinaryLen()))
		if ok != test.ok {
			t.Errorf("a string of %d bytes after %d: %v", test.word, d.block, ok)
		}
	}
	if n := cap(d.words.Data); !d.full() || n > 3*size {
		t.Errorf("%d bytes are held, full is %v", n, d.full())
	}
}
