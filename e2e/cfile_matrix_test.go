package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// cell is a kind of file.
type cell struct {
	typ         cfile.Type
	encoding    cfile.Encoding
	compression cfile.Compression
	nullable    bool
}

func (c cell) String() string {
	nullable := "not null"
	if c.nullable {
		nullable = "nullable"
	}
	return fmt.Sprintf("%v %v %v %s", c.typ, c.encoding, c.compression, nullable)
}

// cells returns all kinds of files that the current Kudu supports.
func cells() (all []cell) {
	for typ := cfile.Type(0); typ <= cfile.Date; typ++ {
		if _, known := cfile.ParseType(typ.String()); !known {
			continue
		}
		for _, e := range typ.Encodings() {
			for c := cfile.NoCompression; c <= cfile.Zlib && e != cfile.GroupVarint; c++ {
				all = append(all, cell{typ, e, c, false}, cell{typ, e, c, true})
			}
		}
	}
	return all
}

// content describes the rows of a file of any kind.
type content struct {
	pattern pattern
	rows    int
}

func contents(nullable bool) []content {
	all := []content{{random, 0}, {mixed, 200_000}}
	for _, rows := range []int{1, 7, 8, 9, 1000} {
		for _, p := range []pattern{random, extreme, repeated} {
			all = append(all, content{p, rows})
		}
		if nullable {
			all = append(all, content{allNull, rows})
		}
	}
	if nullable {
		all = append(all, content{allNull, 200_000})
	}
	return all
}

// TestKindsOfCFiles writes files of every kind and has Kudu read them. Outside of a soak,
// each kind has one content, and only every 20th kind the largest.
func TestKindsOfCFiles(t *testing.T) {
	k := newKudu(t)
	all := cells()
	var files int
	inParallel(len(all), func(i int) {
		c := all[i]
		some := contents(c.nullable)
		if !soak.Full() {
			n := i * 7 % len(some)
			if some[n].rows > 1000 && i%20 > 0 {
				n++
			}
			some = some[n%len(some):][:1]
		}
		for j, content := range some {
			if t.Failed() {
				return
			}
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			rows := rowsLike(r, content.pattern, c.typ, c.nullable, content.rows)
			name := fmt.Sprintf("%v, %d rows %s", c, content.rows, content.pattern)
			file := writeCFile(t, c.options(r, content.rows), rows, r)
			footer := cfile.Footer{Type: c.typ, Encoding: c.encoding, Compression: c.compression, Nullable: c.nullable, Values: int64(content.rows)}
			k.wantRows(t, file, kuduText(c.typ, rows, c.nullable), footerLines(footer)...)
			wantOwnRows(t, file, rows)
			if t.Failed() {
				t.Errorf("of %s", name)
				return
			}
			must(t, os.Remove(file))
		}
		mu.Lock()
		defer mu.Unlock()
		files += len(some)
	})
	t.Logf("Kudu read %d files of %d kinds", files, len(all))
}

// options returns the options for a file of the kind. Every second file with many rows has
// such small blocks that its index has several levels.
func (c cell) options(r *rand.Rand, rows int) cfile.Options {
	o := cfile.Options{Type: c.typ, Encoding: c.encoding, Compression: c.compression, Nullable: c.nullable, Positional: true}
	if rows >= 1000 && r.IntN(2) == 0 {
		o.BlockSize, o.IndexBlockSize = 512+r.IntN(2000), 64+r.IntN(200)
	}
	if rows < 1000 && r.IntN(2) == 0 {
		o.BlockSize = 1 + r.IntN(40) // of some bytes each
	}
	return o
}

// footerLines returns lines of Kudu's text for a footer.
func footerLines(f cfile.Footer) []string {
	e := f.Encoding.String()
	switch f.Encoding {
	case cfile.Plain, cfile.Prefix, cfile.Dict:
		e += "_ENCODING"
	}
	return []string{
		"data_type: " + f.Type.String(), "encoding: " + e, fmt.Sprint("num_values: ", f.Values),
		"compression: " + f.Compression.String(), fmt.Sprint("is_type_nullable: ", f.Nullable),
	}
}

// writeCFile writes rows in batches of any size.
func writeCFile(t *testing.T, o cfile.Options, rows *cfile.Rows, r *rand.Rand) (file string) {
	t.Helper()
	var out bytes.Buffer
	w, err := cfile.NewWriter(&out, o)
	if err == nil {
		err = writeBatches(w, o, rows, r)
	}
	if err == nil {
		err = w.Close()
	}
	f, createErr := os.CreateTemp(t.TempDir(), "*.cf")
	must(t, createErr)
	_, writeErr := f.Write(out.Bytes())
	must(t, writeErr)
	must(t, f.Close())
	if err != nil {
		t.Errorf("write %+v: %v", o, err)
	}
	return f.Name()
}

func writeBatches(w *cfile.Writer, o cfile.Options, rows *cfile.Rows, r *rand.Rand) error {
	batch := cfile.Rows{}
	row, value, all := 0, 0, rowCount(o, rows)
	for row < all {
		batch.Reset()
		n := min(1+r.IntN(5000), all-row)
		values := n
		if o.Nullable {
			batch.Valid = append(batch.Valid, rows.Valid[row:row+n]...)
			values = bytes.Count(batch.Valid, []byte{1})
		}
		for i := value; i < value+values; i++ {
			if width := o.Type.Width(); width == 0 {
				batch.AppendBinary(rows.Binary(i))
			} else {
				batch.Fixed = append(batch.Fixed, rows.Fixed[i*width:][:width]...)
			}
		}
		if err := w.Append(&batch); err != nil {
			return err
		}
		row, value = row+n, value+values
	}
	return nil
}

func rowCount(o cfile.Options, rows *cfile.Rows) int {
	if o.Nullable {
		return len(rows.Valid)
	}
	return valuesOf(o.Type, rows)
}

// readCFile returns all rows of a file.
func readCFile(t *testing.T, file string) (cfile.Footer, *cfile.Rows) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return cfile.Footer{}, &cfile.Rows{}
	}
	rows := &cfile.Rows{}
	f, err := cfile.Open(bytes.NewReader(data), int64(len(data)), file)
	if err != nil {
		t.Error(err)
		return cfile.Footer{}, rows
	}
	c := f.Cursor()
	defer c.Close()
	for left := f.Footer().Values; left > 0; {
		n, err := c.Read(rows, int(left))
		if err != nil {
			t.Errorf("%s: %d rows before the end: %v", file, left, err)
			break
		}
		left -= int64(n)
	}
	return *f.Footer(), rows
}

// wantOwnRows fails the test unless our own reader reads the given rows from a file.
func wantOwnRows(t *testing.T, file string, want *cfile.Rows) {
	t.Helper()
	_, got := readCFile(t, file)
	if !bytes.Equal(got.Valid, want.Valid) || !sameValues(&got.Values, &want.Values) {
		t.Errorf("%s: our own reader reads other rows", file)
	}
}

func sameValues(a, b *encoding.Values) bool {
	if a.BinaryLen() != b.BinaryLen() || !bytes.Equal(a.Fixed, b.Fixed) || !bytes.Equal(a.Data, b.Data) {
		return false
	}
	for i := range a.BinaryLen() {
		if !bytes.Equal(a.Binary(i), b.Binary(i)) {
			return false
		}
	}
	return true
}

// TestKuduValueIndex removes the positional index from files with both indexes. Kudu
// finds all rows by the value index.
func TestKuduValueIndex(t *testing.T) {
	k := newKudu(t)
	var all []cell
	for _, c := range cells() {
		if c.typ.Keyed() && !c.nullable {
			all = append(all, c)
		}
	}
	step := soak.Rounds(16, 1)
	inParallel(len(all)/step, func(i int) {
		c := all[i*step]
		for _, rows := range []int{1, 1000, soak.Rounds(3000, 200_000)} {
			r := rand.New(rand.NewPCG(uint64(i), uint64(rows)))
			want := rowsLike(r, sorted, c.typ, false, rows)
			o := c.options(r, rows)
			o.ValueIndex, o.KeyBounds = true, true
			file := writeCFile(t, o, want, r)
			text := kuduText(c.typ, want, false)
			k.wantRows(t, file, text)
			bare := strings.TrimSuffix(file, ".cf") + "-bare.cf"
			must(t, os.WriteFile(bare, withoutPositions(t, readFile(t, file)), 0o666))
			k.wantRows(t, bare, text)
			wantOwnRows(t, bare, want)
			if t.Failed() {
				t.Errorf("of %v, %d rows", c, rows)
				return
			}
		}
	})
}
