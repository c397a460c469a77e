package trevni

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func FuzzOpen(f *testing.F) {
	// These files are small: minimizing larger inputs takes the fuzzer long.
	for _, codec := range codecNames {
		s := newSampler(1)
		s.cols = []column.Column{
			{Name: "i", Type: column.Int, Parent: -1},
			{Name: "r", Type: column.Null, Array: true, Parent: -1},
			{Name: "b", Type: column.Boolean, Parent: 1},
			{Name: "s", Type: column.String, Array: true, Parent: 1},
		}
		b := sampleFile(f, s, 3, 2, Options{Codec: codec, Values: []string{"i"}})
		f.Add(b)
		f.Add(dropCRC(b)) // without CRCs changed bytes are decoded
	}
	f.Add(rawFile{version: 2, rows: 1, cols: []rawColumn{{meta: meta("a int"), rows: 1, data: []byte{2}}}}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Open(bytes.NewReader(b), int64(len(b)), "fuzz.trv")
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		file.MaxBlock = 1 << 20
		if err := file.Verify(context.Background()); err != nil && !isDamage(err) {
			t.Fatal(err)
		}
		if err := file.Dump(io.Discard); err != nil && !isDamage(err) {
			t.Fatal(err)
		}
		for i := range file.Columns() {
			exercise(t, file, i)
		}
	})
}

// FuzzColumn reads arbitrary bytes as the only block of a column of any type
// and shape, which may be a child.
func FuzzColumn(f *testing.F) {
	f.Add(uint8(column.Int), true, false, uint16(2), []byte{2, 4, 0})
	f.Add(uint8(column.String), false, true, uint16(1), []byte{4, 'a', 'b'})
	f.Add(uint8(column.Boolean), true, true, uint16(3), []byte{2, 1, 1})
	f.Add(uint8(column.Null), true, false, uint16(9), []byte{0x0f})
	f.Fuzz(func(t *testing.T, typ uint8, array, child bool, rows uint16, data []byte) {
		text := "a " + column.Type(typ%10).String()
		if array {
			text += " array"
		}
		cols := []rawColumn{{meta: meta("p null array"), rows: uint32(rows), data: bytes.Repeat([]byte{2}, int(rows))}}
		if child {
			text += " parent=p"
		}
		cols = append(cols, rawColumn{meta: meta(text), rows: uint32(rows), data: data})
		file := openBytes(t, rawFile{version: 2, rows: int64(rows), cols: cols}.bytes())
		verified := file.Verify(context.Background())
		if verified != nil && !isDamage(verified) {
			t.Fatal(verified)
		}
		exercise(t, file, 1)
		if verified != nil {
			return
		}
		// A file that Verify accepts can be read to the end.
		c, err := file.Cursor(1)
		testenv.Must(t, err)
		for range rows {
			n := 1
			if array {
				if n, err = c.Length(); err != nil {
					t.Fatal(err)
				}
			}
			for range min(n, 1000) {
				if _, err := c.Value(nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzLengths writes lengths chosen by the input and reads them back.
func FuzzLengths(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 1, 5, 1, 0})
	f.Add([]byte{1})
	f.Add(bytes.Repeat([]byte{0}, 300))
	f.Fuzz(func(t *testing.T, lengths []byte) {
		cols := []column.Column{{Name: "a", Type: column.Null, Array: true, Parent: -1}, {Name: "b", Type: column.Boolean, Array: true, Parent: -1}}
		file := openBytes(t, write(t, "", cols, Options{Codec: "null"}, len(lengths), func(w *Writer, row int) {
			n := lengths[row]
			w.Column(0).Length(uint32(n))
			w.Column(1).Length(uint32(n))
			for i := range n {
				w.Column(1).AppendBool((i+n)%3 == 0)
			}
		}))
		testenv.Must(t, file.Verify(context.Background()))
		r := newReader(t, file)
		for row, n := range lengths {
			for col := range 2 {
				if got, err := r.curs[col].Length(); err != nil || got != int(n) {
					t.Fatalf("row %d: length %d, %v, expected %d", row, got, err, n)
				}
			}
			for i := range n {
				if v, err := r.curs[1].Value(nil); err != nil || (v[0] == 1) != ((i+n)%3 == 0) {
					t.Fatalf("row %d value %d: %v, %v", row, i, v, err)
				}
			}
		}
	})
}
