package shred_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Rows of any schema are read from the shredder's blocks, from any row on.
func TestCursorsOfRandomData(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := mapping(t, randavro.Schema(r), shred.Options{RecursiveBytes: true})
		var want [][]byte
		for range 20 {
			row, _ := randavro.Pair(r, m.Schema.Root())
			want = append(want, row)
		}
		blocks := make([]column.Block, len(m.Columns))
		for i, data := range shredded(t, m, want) {
			blocks[i] = column.Block{Data: data, Rows: int64(len(want))}
		}
		cursors, values := make([]*column.Cursor, len(blocks)), make([]shred.Values, len(blocks))
		for i := range blocks {
			c, err := column.NewCursor(m.Columns, blocks, i)
			testenv.Must(t, err)
			cursors[i], values[i] = c, c
		}
		a := shred.NewAssembler(m, values, nil)
		for range 5 {
			from := r.IntN(len(want) + 1)
			to := from + r.IntN(len(want)-from+1)
			for _, c := range cursors {
				testenv.Must(t, c.SeekRow(int64(from)))
			}
			a.Start(int64(to - from))
			for i := from; i < to; i++ {
				if got, err := a.Row(nil); err != nil || !bytes.Equal(got, want[i]) {
					t.Fatalf("seed %d, row %d of [%d, %d): %v\ngot  % x\nwant % x\n%s", seed, i, from, to, err, got, want[i], m.Schema.JSON())
				}
			}
		}
	}
}
