package cfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// countingReader counts reads and their bytes.
type countingReader struct {
	io.ReaderAt
	reads int
	bytes int
}

func (r *countingReader) ReadAt(p []byte, off int64) (int, error) {
	r.reads++
	r.bytes += len(p)
	return r.ReaderAt.ReadAt(p, off)
}

// counted returns a file whose reads are counted, and the height of its value index.
func counted(t *testing.T, raw *rawFile) (*File, *countingReader, int) {
	t.Helper()
	b := raw.bytes(t)
	reader := &countingReader{ReaderAt: bytes.NewReader(b)}
	f, err := Open(reader, int64(len(b)), "counted.cf")
	testenv.Must(t, err)
	height, err := f.Height(false)
	testenv.Must(t, err)
	return f, reader, height
}

// seekFiles returns files with ascending values, and the keys of the values.
func seekFiles() map[string]struct {
	raw  *rawFile
	keys [][]byte
} {
	type file = struct {
		raw  *rawFile
		keys [][]byte
	}
	files := map[string]file{}
	rng := rand.New(rand.NewPCG(1, 2))
	for name, step := range map[string]int64{"distinct": 700, "dense": 1, "few": 0, "one": -1} {
		for _, per := range []int{1, 3, 50} {
			values := make([]int64, 400)
			v := int64(-90_000)
			for i := range values {
				switch {
				case step > 0:
					v += rng.Int64N(step) + 1
				case step == 0 && rng.IntN(8) == 0:
					v += rng.Int64N(300)
				}
				values[i] = v
			}
			var keys [][]byte
			for _, v := range values {
				keys = append(keys, int64Key(v))
			}
			files[fmt.Sprintf("int64 %s, %d per block", name, per)] = file{int64File(values, per), keys}
		}
	}
	for _, per := range []int{1, 2, 7} {
		words := make([]string, 300)
		for i := range words {
			b := make([]byte, rng.IntN(5))
			for j := range b {
				b[j] = "\x00\x01a\xff"[rng.IntN(4)]
			}
			words[i] = string(b)
		}
		slices.Sort(words)
		var keys [][]byte
		for _, w := range words {
			keys = append(keys, []byte(w))
		}
		files[fmt.Sprintf("words, %d per block", per)] = file{stringFile(words, per), keys}
	}
	return files
}

// keyAt returns the key of the row that a cursor reads next.
func keyAt(t testing.TB, c *Cursor) []byte {
	t.Helper()
	var r Rows
	if _, err := c.Read(&r, 1); err != nil {
		t.Fatal(err)
	}
	typ := c.f.footer.Type
	if typ.Width() == 0 {
		return r.Binary(0)
	}
	return appendKey(nil, typ, r.Fixed)
}

func TestSeekValue(t *testing.T) {
	for name, file := range seekFiles() {
		b := file.raw.bytes(t)
		c := openBytes(t, b).Cursor()
		targets := slices.Clone(file.keys)
		for _, k := range file.keys {
			targets = append(targets, append(bytes.Clone(k), 0), append(bytes.Clone(k), 0xff))
			if len(k) > 0 {
				targets = append(targets, k[:len(k)-1])
			}
		}
		for _, k := range targets {
			want := sort.Search(len(file.keys), func(i int) bool { return bytes.Compare(file.keys[i], k) >= 0 })
			exact, err := c.SeekValue(k)
			if want == len(file.keys) {
				if !errors.Is(err, io.EOF) || exact || c.Ordinal() != int64(want) {
					t.Fatalf("%s, %x: %v, %v, expected the end", name, k, exact, err)
				}
				continue
			}
			if err != nil || c.Ordinal() != int64(want) || exact != bytes.Equal(file.keys[want], k) {
				t.Fatalf("%s, %x: row %d, %v, %v, expected row %d", name, k, c.Ordinal(), exact, err, want)
			}
			if got := keyAt(t, c); !bytes.Equal(got, file.keys[want]) {
				t.Fatalf("%s, %x: row %d is %x, expected %x", name, k, want, got, file.keys[want])
			}
		}
		c.Close()
	}
}

// TestSeekRow moves a cursor by seeks, skips and reads, and compares the rows there.
func TestSeekRow(t *testing.T) {
	for name, file := range seekFiles() {
		for _, order := range []string{"pv", "p", "v"} {
			file.raw.order = order
			rng := rand.New(rand.NewPCG(3, 4))
			n := int64(len(file.keys))
			c := openBytes(t, file.raw.bytes(t)).Cursor()
			at := int64(0)
			for range soak.Rounds(150, 2000) {
				var err error
				switch rng.IntN(4) {
				case 0:
					at = rng.Int64N(n + 1)
					err = c.SeekRow(at)
				case 1:
					by := rng.Int64N(min(20, n-at+1))
					at += by
					err = c.Skip(by)
				case 2:
					by := rng.Int64N(min(20, n-at+1))
					var values int64
					if values, err = c.skip(by); values != by {
						t.Fatalf("%s (%s): %d of %d rows have a value", name, order, values, by)
					}
					at += by
				}
				if at == n && errors.Is(err, io.EOF) {
					at, err = 0, c.SeekRow(0) // the cursor was at the end
				}
				if err != nil || c.Ordinal() != at {
					t.Fatalf("%s (%s): at row %d, %v, expected %d", name, order, c.Ordinal(), err, at)
				}
				if at == n {
					continue
				}
				if got := keyAt(t, c); !bytes.Equal(got, file.keys[at]) {
					t.Fatalf("%s (%s): row %d is %x, expected %x", name, order, at, got, file.keys[at])
				}
				at++
			}
			c.Close()
		}
	}
}

func TestSeekRefuses(t *testing.T) {
	f := openBytes(t, int64File([]int64{1, 2, 3}, 2).bytes(t))
	for _, row := range []int64{-1, 4} {
		if err := f.Cursor().SeekRow(row); err == nil || isDamage(err) {
			t.Errorf("row %d: %v", row, err)
		}
	}
	for _, n := range []int64{-1, 4} {
		if err := f.Cursor().Skip(n); err == nil || isDamage(err) {
			t.Errorf("skip %d: %v", n, err)
		}
	}
	raw := int64File([]int64{1, 2, 3}, 2)
	raw.order = "p"
	if _, err := openBytes(t, raw.bytes(t)).Cursor().SeekValue(int64Key(1)); err == nil || isDamage(err) {
		t.Errorf("without a value index: %v", err)
	}
}

// Seeks read only the index blocks that lead to the data block, and that block.
func TestSeeksReadOnePath(t *testing.T) {
	values := make([]int64, soak.Rounds(200_000, 10_000_000))
	for i := range values {
		values[i] = 3 * int64(i)
	}
	raw := int64File(values, 250)
	raw.fan = 12
	f, reader, height := counted(t, raw)
	if height < 3 {
		t.Fatal(height)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 300 {
		row := rng.IntN(len(values))
		if i%3 == 0 {
			row -= row % 250 // the first of a block
		}
		for name, seek := range map[string]func(*Cursor) error{
			"row": func(c *Cursor) error { return c.SeekRow(int64(row)) },
			"exact": func(c *Cursor) error {
				exact, err := c.SeekValue(int64Key(values[row]))
				if !exact {
					t.Errorf("the value of row %d is not found", row)
				}
				return err
			},
			"first greater": func(c *Cursor) error {
				exact, err := c.SeekValue(int64Key(values[row] - 1))
				if exact {
					t.Errorf("row %d: %d is found, but not a value", row, values[row]-1)
				}
				return err
			},
		} {
			c := f.Cursor()
			reader.reads = 0
			if err := seek(c); err != nil || c.Ordinal() != int64(row) {
				t.Fatalf("%s: row %d, %v, expected %d", name, c.Ordinal(), err, row)
			}
			if reader.reads > height+1 {
				t.Errorf("%s %d: %d blocks read, the tree has a height of %d", name, row, reader.reads, height)
			}
			reader.reads = 0
			testenv.Must(t, c.SeekRow(int64(row/250*250)))
			keyAt(t, c)
			if name == "row" && reader.reads != 0 {
				t.Errorf("%d blocks read for a row of the loaded block", reader.reads)
			}
			c.Close()
		}
	}
}

// The index has only the beginning of a word. If that matches, the seek also reads the block
// of the entry: one more leaf and data block.
func TestSeeksOfWordsReadOnePath(t *testing.T) {
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprintf("%06d", 3*i)
	}
	f, reader, height := counted(t, stringFile(words, 10))
	for i, w := range words {
		c := f.Cursor()
		reader.reads = 0
		exact, err := c.SeekValue([]byte(w))
		if err != nil || !exact || c.Ordinal() != int64(i) {
			t.Fatalf("%s: row %d, %v, %v, expected %d", w, c.Ordinal(), exact, err, i)
		}
		limit := height + 1
		if i%10 == 0 {
			limit += 2
		}
		if reader.reads > limit {
			t.Errorf("%s: %d blocks read, the tree has a height of %d", w, reader.reads, height)
		}
		c.Close()
	}
}
