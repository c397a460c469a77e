package cfile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// write returns the file of rows.
func write(t testing.TB, o Options, rows ...*Rows) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, o)
	for _, r := range rows {
		if err == nil {
			err = w.Append(r)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	if w.Size() != int64(file.Len()) || w.assembly.bound(-1) != w.Size() {
		t.Fatalf("a file of %d bytes, got the sizes %d and %d", file.Len(), w.Size(), w.assembly.bound(-1))
	}
	return file.Bytes()
}

func (o Options) String() string {
	return fmt.Sprintf("%v %v %v, nullable %v, blocks of %d and %d",
		o.Type, o.Encoding, o.Compression, o.Nullable, o.BlockSize, o.IndexBlockSize)
}

// part returns the rows from from to to.
func (r *Rows) part(o Options, from, to int) *Rows {
	var p Rows
	first, end := from, to
	if o.Nullable {
		p.Valid = r.Valid[from:to]
		first, end = countOnes(r.Valid[:from]), countOnes(r.Valid[:to])
	}
	if width := o.Type.Width(); width > 0 {
		p.Fixed = r.Fixed[first*width : end*width]
		return &p
	}
	for i := first; i < end; i++ {
		p.AppendBinary(r.Binary(i))
	}
	return &p
}

func equalRows(a, b *Rows) bool {
	same := bytes.Equal(a.Valid, b.Valid) && bytes.Equal(a.Fixed, b.Fixed) && a.BinaryLen() == b.BinaryLen()
	for i := 0; same && i < a.BinaryLen(); i++ {
		same = bytes.Equal(a.Binary(i), b.Binary(i))
	}
	return same
}

// combinations calls fn for every type, encoding and compression, nullable or not.
func combinations(fn func(o Options)) {
	for t := range Type(endOfTypes) {
		if !t.valid() {
			continue
		}
		for _, e := range t.Encodings() {
			for _, c := range []Compression{NoCompression, Snappy, LZ4, Zlib} {
				for _, nullable := range []bool{false, true} {
					fn(Options{Type: t, Encoding: e, Compression: c, Nullable: nullable, Positional: true})
				}
			}
		}
	}
}

// randomRows returns n rows with extreme and random values. Many of them repeat. In nullable
// rows about share of 8 are not null.
func randomRows(r *rand.Rand, o Options, n, share int) *Rows {
	rows := &Rows{}
	values := n
	if o.Nullable {
		for len(rows.Valid) < n {
			valid := byte(0)
			if r.IntN(8) < share {
				valid = 1
			}
			rows.Valid = append(rows.Valid, bytes.Repeat([]byte{valid}, 1+r.IntN(3)*r.IntN(20))...)
		}
		rows.Valid = rows.Valid[:n]
		values = countOnes(rows.Valid)
	}
	if o.Type.Physical() == Binary {
		rows.Values = *randomStrings(r, values)
		return rows
	}
	rows.Values = *integers(r, o.Type, values)
	if o.Type.Physical() != Bool {
		for i := 0; i < len(rows.Fixed); i += 7 * o.Type.Width() { // the least and the greatest
			copy(rows.Fixed[i:], bytes.Repeat([]byte{byte(-r.IntN(2))}, o.Type.Width()))
		}
	}
	return rows
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	combinations(func(o Options) {
		for _, n := range []int{0, 1, 7, 8, 9, 1000} {
			o.BlockSize, o.IndexBlockSize = 1<<r.IntN(12), 1<<r.IntN(9)
			share := []int{0, 4, 8}[r.IntN(3)]
			rows := randomRows(r, o, n, share)
			f := openBytes(t, write(t, o, rows))
			got, err := readAll(f, 1+r.IntN(2*n+1))
			if err != nil || !equalRows(&got, rows) {
				t.Errorf("%v: %d rows: %v", o, n, err)
			}
			if m := f.Footer(); m.Values != int64(n) || m.Type != o.Type || m.Encoding != o.Encoding ||
				m.Compression != o.Compression || m.Nullable != o.Nullable {
				t.Errorf("%v: %+v", o, m)
			}
		}
	})
}

func TestRoundTripOfManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	combinations(func(o Options) {
		if (r.IntN(10) > 0 || testing.Short()) && !(o.Type == String && o.Compression == LZ4) {
			return
		}
		o.BlockSize, o.IndexBlockSize = 4096, 512
		rows := randomRows(r, o, 200_000, 7)
		got, err := readAll(openBytes(t, write(t, o, rows)), 1<<20)
		if err != nil || !equalRows(&got, rows) {
			t.Errorf("%v: %v", o, err)
		}
	})
}

// The bytes of a file depend on its rows, not on the calls that append them.
func TestBatchesDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	combinations(func(o Options) {
		if o.Compression != NoCompression {
			return
		}
		o.BlockSize, o.IndexBlockSize = 200, 100
		const n = 5000
		rows := randomRows(r, o, n, 5)
		want := write(t, o, rows)
		var parts []*Rows
		for from := 0; from < n; {
			to := min(n, from+1+r.IntN(1<<r.IntN(10)))
			parts = append(parts, rows.part(o, from, to))
			from = to
		}
		if got := write(t, o, parts...); !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes, but %d in other batches", o, len(want), len(got))
		}
	})
}

// A block ends after a row with any encoding.
func TestAppenderLeavesOpenRows(t *testing.T) {
	o := Options{Type: Int32, Encoding: Plain, Nullable: true, BlockSize: 16, Positional: true}
	e := encoderOf(o)
	rows := &Rows{Valid: []byte{0, 1, 1, 1, 0, 0, 1, 0}}
	rows.Fixed = make([]byte, 4*4)
	for _, c := range []struct {
		open         bool
		rows, values int
		blocks       []writtenBlock
	}{
		{true, 4, 3, []writtenBlock{{rows: 4, values: 3}}},
		{false, 8, 4, []writtenBlock{{rows: 4, values: 3}, {rows: 4, values: 1}}},
	} {
		var b writtenBlocks
		n, values, err := e.append(&b, 100, rows, coded{}, c.open)
		if err != nil || n != c.rows || values != c.values || len(b.list) != len(c.blocks) {
			t.Fatalf("open %v: %d rows, %d values, %+v, %v", c.open, n, values, b.list, err)
		}
		for i, want := range c.blocks {
			if got := b.list[i]; got.rows != want.rows || got.values != want.values {
				t.Errorf("open %v, block %d: %+v, want %+v", c.open, i, got, want)
			}
		}
	}
}

// Nulls and long runs take no room, but the rows of a block are limited.
func TestMostRowsOfABlock(t *testing.T) {
	rows := &Rows{Valid: make([]byte, maxRows+5)}
	f := openBytes(t, write(t, Options{Type: Int8, Encoding: RLE, Nullable: true, Positional: true}, rows))
	blocks, err := f.Blocks()
	if err != nil || len(blocks) != 2 || blocks[1].Ordinal != maxRows {
		t.Errorf("%+v, %v", blocks, err)
	}
	same := &Rows{}
	same.Fixed = make([]byte, maxRows+5)
	f = openBytes(t, write(t, Options{Type: Int8, Encoding: RLE, Positional: true}, same))
	if blocks, err = f.Blocks(); err != nil || len(blocks) != 2 || blocks[1].Ordinal != maxRows {
		t.Errorf("%+v, %v", blocks, err)
	}
}

func TestTooLongValuesAreRefusedFirst(t *testing.T) {
	for _, c := range []struct {
		o    Options
		size int
		row  int64
	}{
		{Options{Type: Binary, Positional: true}, MaxValue + 1, 4},
		{Options{Type: Binary, Encoding: Prefix, Positional: true, Nullable: true}, MaxValue + 1, 5},
		{Options{Type: String, Encoding: Plain, ValueIndex: true}, MaxKey + 1, 4},
	} {
		var file bytes.Buffer
		c.o.BlockSize = 1
		w, err := NewWriter(&file, c.o)
		testenv.Must(t, err)
		rows := &Rows{Values: *binaries("a", "b", "c")}
		if c.o.Nullable {
			rows.Valid = []byte{1, 1, 0, 1}
		}
		testenv.Must(t, w.Append(rows))
		before := file.Len()
		rows.Values = *binaries("d", strings.Repeat("e", c.size), "f")
		err = w.Append(rows)
		var long *TooLongError
		if !errors.As(err, &long) || long.Row != c.row || long.Size != c.size || file.Len() != before {
			t.Errorf("%+v: %v, %d bytes written", c.o, err, file.Len()-before)
		}
		if again := w.Close(); again != err {
			t.Errorf("%+v: Close: %v", c.o, again)
		}
	}
}

func TestLongestValues(t *testing.T) {
	for _, enc := range String.Encodings() {
		o := Options{Type: String, Encoding: enc, Nullable: true, Positional: true, BlockSize: maxBlockSize}
		rows := &Rows{Valid: []byte{1, 0, 1, 1, 0, 1, 1}}
		for _, n := range []int{10, 7 << 20, MaxValue, MaxValue, 0} {
			rows.AppendBinary(make([]byte, n))
		}
		got, err := readAll(openBytes(t, write(t, o, rows)), 10)
		if err != nil || !equalRows(&got, rows) {
			t.Errorf("%v: %v", enc, err)
		}
	}
}

func TestRowsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		o    Options
		rows Rows
	}{
		{Options{Type: Int32}, Rows{Valid: []byte{1}}},
		{Options{Type: Int32, Nullable: true}, Rows{Valid: []byte{1}}},
		{Options{Type: String, Nullable: true}, Rows{Valid: []byte{1, 1}, Values: *binaries("a")}},
		{Options{Type: String, Nullable: true}, Rows{Values: *binaries("a")}},
	} {
		c.o.Positional = true
		w, err := NewWriter(&bytes.Buffer{}, c.o)
		testenv.Must(t, err)
		if err := w.Append(&c.rows); err == nil {
			t.Errorf("%+v: %+v", c.o, c.rows)
		}
	}
	odd := Rows{}
	odd.Fixed = make([]byte, 5)
	if w, err := NewWriter(&bytes.Buffer{}, Options{Type: Int32, Positional: true}); err != nil || w.Append(&odd) == nil {
		t.Errorf("five bytes of INT32: %v", err)
	}
}

func TestTooLargeBlocksAreRefused(t *testing.T) {
	for _, c := range []Compression{NoCompression, LZ4} {
		for _, size := range []int{maxBlock, maxBlock + 1} {
			_, err := appendStored(nil, &Options{Compression: c}, make([]byte, size))
			if (err != nil) != (size > maxBlock) {
				t.Errorf("%v: a block of %d bytes: %v", c, size, err)
			}
		}
	}
}

// Append only checks the length of this memory, it does not touch it.
func TestTooManyBytesInACall(t *testing.T) {
	w, err := NewWriter(&bytes.Buffer{}, Options{Type: Binary, Encoding: Plain, Positional: true})
	if err == nil {
		err = w.Append(&Rows{Values: *binaries("a")})
	}
	testenv.Must(t, err)
	rows := &Rows{Values: *binaries("b")}
	rows.Data = make([]byte, math.MaxUint32)
	if err := w.Append(rows); err == nil {
		t.Error("offsets of more than 32 bits")
	}
}

// limitedWriter fails once left bytes are written.
type limitedWriter struct{ left int }

var errFull = errors.New("full")

func (f *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	f.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriterKeepsItsFirstError(t *testing.T) {
	o := Options{Type: Int32, Encoding: Plain, Positional: true, BlockSize: 16, IndexBlockSize: 16}
	rows := &Rows{}
	rows.Fixed = make([]byte, 400)
	size := len(write(t, o, rows))
	for left := range size {
		w, err := NewWriter(&limitedWriter{left}, o)
		if w == nil && err == errFull {
			continue
		}
		if err == nil {
			err = w.Append(rows)
		}
		if err == nil {
			err = w.Close()
		}
		if err != errFull || w.Append(rows) != errFull || w.EndBlock() != errFull || w.Close() != errFull {
			t.Errorf("room for %d bytes: %v", left, err)
		}
	}
	w, err := NewWriter(&bytes.Buffer{}, o)
	if err == nil {
		err = w.Close()
	}
	if err != nil || w.Append(rows) != errClosed || w.EndBlock() != errClosed || w.Close() != errClosed {
		t.Errorf("a closed writer: %v", err)
	}
}
