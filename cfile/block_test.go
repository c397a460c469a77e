package cfile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The encoder reuses its memory for all files.
func TestEncoderAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	e := &blockEncoder{}
	combinations(func(o Options) {
		if o.Compression == Zlib || o.Type.Physical() != o.Type {
			return
		}
		o = o.withDefaults()
		rows := randomRows(r, o, 5000, 6)
		var b writtenBlocks
		var c coded
		if o.Encoding == Dict {
			c.codes, _ = newDictionary(o.BlockSize).code(nil, rows.Offsets, rows.Data)
		}
		run := func() {
			b.reset()
			e.setOptions(&o)
			if _, _, err := e.append(&b, 0, rows, c, false); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(5, run); n > 0 {
			t.Errorf("%v: %v allocations for each block", o, n)
		}
	})
}

// Rows of a file with a dictionary need no values if all have codes.
func TestCodesStandForValues(t *testing.T) {
	o := Options{Type: String, Nullable: true, BlockSize: 64, Positional: true}
	rows := &Rows{Valid: []byte{1, 0, 1, 1}, Values: *binaries("a", "b", "a")}
	want := write(t, o, rows)
	d := newDictionary(o.BlockSize)
	codes, _ := d.code(nil, rows.Offsets, rows.Data)
	var b writtenBlocks
	if _, _, err := encoderOf(o).append(&b, 0, &Rows{Valid: rows.Valid}, coded{codes: codes}, false); err != nil {
		t.Fatal(err)
	}
	a := newAssembly(o)
	file := append([]byte{}, a.head()...)
	file = append(file, b.stored...)
	index, err := a.add(&b.list[0])
	testenv.Must(t, err)
	tail, err := a.finish(d)
	if err != nil || string(append(append(file, index...), tail...)) != string(want) {
		t.Errorf("the bytes differ from those of the values: %v", err)
	}
}

// BenchmarkEncoder encodes a batch of 64 KiB, or of 8192 strings.
func BenchmarkEncoder(b *testing.B) {
	for _, o := range []Options{
		{Type: Int64, Encoding: Plain},
		{Type: Int64, Encoding: Bitshuffle},
		{Type: Int64, Encoding: RLE},
		{Type: Int64, Encoding: Bitshuffle, Nullable: true},
		{Type: Double, Encoding: Bitshuffle},
		{Type: Bool, Encoding: RLE},
		{Type: String, Encoding: Dict},
		{Type: String, Encoding: Plain},
		{Type: String, Encoding: Plain, Compression: Snappy},
		{Type: String, Encoding: Prefix},
	} {
		o.BlockSize = 64 << 10
		o = o.withDefaults()
		b.Run(fmt.Sprintf("%v/%v/%v/%v", o.Type, o.Encoding, o.Compression, o.Nullable), func(b *testing.B) {
			r := rand.New(rand.NewPCG(23, 24))
			n := 8192
			if w := o.Type.Width(); w > 0 {
				n = (64 << 10) / w
			}
			rows := randomRows(r, o, n, 6)
			e := &blockEncoder{}
			e.setOptions(&o)
			var blocks writtenBlocks
			d := newDictionary(1 << 20)
			var c coded
			b.SetBytes(int64(rows.size()))
			b.ReportAllocs()
			for b.Loop() {
				blocks.reset()
				if o.Encoding == Dict {
					c.codes, _ = d.code(c.codes[:0], rows.Offsets, rows.Data)
				}
				if _, _, err := e.append(&blocks, 0, rows, c, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
