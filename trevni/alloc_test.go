//go:build !race

// The race detector makes pools drop items at random, so this counts without it.

package trevni

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Encoding a block allocates nothing, except when its table grows.
func TestEncodeDoesNotAllocate(t *testing.T) {
	cols := []column.Column{{Name: "a", Type: column.Long, Parent: -1}}
	raw := binary.AppendVarint(nil, 12345)
	raw = bytes.Repeat(raw, 20_000)
	for _, codec := range []string{"null", "snappy", "deflate"} {
		g, err := newRowGroup(Options{Codec: codec}, "{}", cols)
		testenv.Must(t, err)
		g.columns[0].table = append(make([]byte, 0, 1<<20), g.columns[0].table...)
		block := &column.Block{Data: raw, Rows: 10}
		dst := make([]byte, 0, 1<<20)
		run := func() {
			job, err := g.Begin(0, block)
			testenv.Must(t, err)
			if dst, err = job.Encode(dst[:0]); err != nil {
				t.Fatal(err)
			}
			testenv.Must(t, g.End(0, job, len(dst)))
			block.FirstRow += block.Rows
		}
		if n := testing.AllocsPerRun(50, run); n >= 1 {
			t.Errorf("%s: %v allocations per block", codec, n)
		}
	}
}

// Reading values and batches allocates nothing after the first time.
func TestReadDoesNotAllocate(t *testing.T) {
	for _, every := range []int{0, 10} {
		s := newSampler(9)
		readWithoutAllocations(t, openBytes(t, sampleFile(t, s, 400, every, Options{})))
	}
}

func readWithoutAllocations(t *testing.T, f *File) {
	for i, col := range f.Columns() {
		if blocks, err := f.Blocks(i); err != nil {
			t.Fatal(err)
		} else if len(blocks) > 1 && (f.last[i] != nil || col.Parent >= 0) {
			continue // the cursors of a file share blocks of lengths, which are therefore new
		}
		c, err := f.Cursor(i)
		testenv.Must(t, err)
		var v column.Vector
		var value []byte
		// The first pass fills the buffers, also those of ancestors.
		pass := func() {
			testenv.Must(t, c.SeekRow(0))
			for range 20 {
				v.Reset()
				if _, err := readMany(c, &v, 5); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Skip(2); err != nil {
					t.Fatal(err)
				}
				if col.Array {
					if _, err := c.Length(); err != nil {
						t.Fatal(err)
					}
				} else if value, err = c.Value(value[:0]); err != nil {
					t.Fatal(err)
				}
			}
			testenv.Must(t, c.SeekRow(f.RowCount()/2))
		}
		pass()
		if n := testing.AllocsPerRun(20, pass); n >= 1 {
			t.Errorf("column %s: %v allocations", col.Name, n)
		}
	}
}
