//go:build !race

// The race detector makes pools forget at random, so this counts without it.

package trevni

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rowtocol/rowtocol/column"
)

// A block costs no allocation, but for the growth of its table.
func TestEncodeDoesNotAllocate(t *testing.T) {
	cols := []column.Column{{Name: "a", Type: column.Long, Parent: -1}}
	raw := binary.AppendVarint(nil, 12345)
	raw = bytes.Repeat(raw, 20_000)
	for _, codec := range []string{"null", "snappy", "deflate"} {
		g, err := newRowGroup(Options{Codec: codec}, "{}", cols)
		if err != nil {
			t.Fatal(err)
		}
		g.columns[0].table = append(make([]byte, 0, 1<<20), g.columns[0].table...)
		block := &column.Block{Data: raw, Rows: 10}
		dst := make([]byte, 0, 1<<20)
		run := func() {
			job, err := g.Begin(0, block)
			if err != nil {
				t.Fatal(err)
			}
			if dst, err = job.Encode(dst[:0]); err != nil {
				t.Fatal(err)
			}
			if err := g.End(0, job, len(dst)); err != nil {
				t.Fatal(err)
			}
			block.FirstRow += block.Rows
		}
		if n := testing.AllocsPerRun(50, run); n >= 1 {
			t.Errorf("%s: %v allocations per block", codec, n)
		}
	}
}
