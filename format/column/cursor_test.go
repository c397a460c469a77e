package column

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// listColumns are an array of records: a boolean, a null, and an optional number.
var listColumns = []Column{
	{Name: "x[]", Type: Null, Array: true, Parent: -1},
	{Name: "b", Type: Boolean, Parent: 0},
	{Name: "n", Type: Null, Parent: 0},
	{Name: "o", Type: Int, Array: true, Optional: true, Parent: 0},
}

// listBlocks has rows of listColumns: row i has i%4 items. Item k is true in the column b if k%3
// is 0, and is k in the column o if k is even.
func listBlocks(rows int) (blocks []Block, items int) {
	bufs := NewBuffers(listColumns, Interleaved, 1<<16)
	for i := range rows {
		bufs.Cols[0].Length(uint32(i % 4))
		for range i % 4 {
			bufs.Cols[1].AppendBool(items%3 == 0)
			if items%2 == 0 {
				bufs.Cols[3].Present()
				bufs.Cols[3].AppendVarint(int64(items))
			} else {
				bufs.Cols[3].Absent()
			}
			items++
		}
	}
	for i := range bufs.Cols {
		blocks = append(blocks, finish(&bufs.Cols[i], int64(rows)))
	}
	return blocks, items
}

// A cursor moves to any row of the blocks, back and forth, and ends after the last item.
func TestCursorSeeks(t *testing.T) {
	const rows = 41
	blocks, items := listBlocks(rows)
	for col := range listColumns {
		c, err := NewCursor(listColumns, blocks, col)
		testenv.Must(t, err)
		for _, row := range []int{7, 40, 8, 8, 0, rows, 3} {
			testenv.Must(t, c.SeekRow(int64(row)))
			before := 0
			for i := range row {
				before += i % 4
			}
			want := items - before
			if col == 0 {
				want = rows - row
			}
			var v Vector
			n := 0
			for err = nil; err == nil; {
				read := 0
				read, _, err = c.Read(&v, 1000)
				n += read
			}
			if err != io.EOF || n != want {
				t.Fatalf("column %d from row %d: %d lengths or values, want %d; %v", col, row, n, want, err)
			}
			for i, b := range v.Bools {
				if b != ((before+i)%3 == 0) {
					t.Fatalf("boolean %d from row %d is %v", i, row, b)
				}
			}
			if i := slices.IndexFunc(v.Ints, func(k int32) bool { return int(k) < before }); i >= 0 {
				t.Fatalf("number %d from row %d is %d", i, row, v.Ints[i])
			}
		}
	}
}

// Each error of a cursor names the column, and the cursor works after it.
func TestCursorRefuses(t *testing.T) {
	blocks, _ := listBlocks(5)
	c, err := NewCursor(listColumns, blocks, 3)
	testenv.Must(t, err)
	for _, row := range []int64{-1, 6} {
		if err := c.SeekRow(row); err == nil {
			t.Errorf("there is a row %d of 5", row)
		}
		testenv.Must(t, c.SeekRow(1))
		var v Vector
		if n, _, err := c.Read(&v, 2); n != 2 || err != nil || !slices.Equal(v.Ints, []int32{0}) {
			t.Errorf("after the error: %d lengths, %v, %v", n, v.Ints, err)
		}
	}
	lengths, err := NewCursor(listColumns, blocks, 0)
	testenv.Must(t, err)
	if err := lengths.SeekRow(-1); err == nil {
		t.Error("there is a row -1")
	}
	testenv.Must(t, lengths.SeekRow(5))
	if _, _, err := lengths.Read(new(Vector), 1); err != io.EOF {
		t.Errorf("at the end of the rows: %v", err)
	}
	blocks[0].Data = nil
	var d *damage.Error
	if err := c.SeekRow(2); !errors.As(err, &d) || d.Column != "x[]" {
		t.Errorf("a parent without lengths: %v", err)
	}
	if _, err := NewCursor(listColumns, blocks, 1); !errors.As(err, &d) || d.Column != "x[]" {
		t.Errorf("booleans that nothing counts: %v", err)
	}
	if strconv.IntSize < 64 {
		t.Skip("a block has less than 2 GiB")
	}
	blocks[0].Data = make([]byte, math.MaxInt32+1) // never touched, so it takes no memory
	if _, err := NewCursor(listColumns, blocks, 0); !errors.As(err, &d) || d.Kind != damage.Unsupported {
		t.Errorf("a block of 2 GiB: %v", err)
	}
}
