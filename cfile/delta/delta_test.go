package delta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
)

func isDamage(err error) bool { return errors.As(err, new(*damage.Error)) }

// sample makes n deltas in an order, of rows between which others are without any.
func sample(order Order, n int) []Delta {
	var all []Delta
	for i := range n {
		group, nth := i/3, i%3 // three deltas of a row
		if order == Undo {
			nth = 2 - nth
		}
		d := Delta{Key: Key{Row: uint32(10 * group), Timestamp: uint64(1+nth) << (group % 60)}}
		switch i % 5 {
		case 0:
			d.Kind = Delete
		case 1:
			d.Change = Change{Reinsert, []Cell{{Column: 1, Value: binary.LittleEndian.AppendUint64(nil, uint64(i))}}}
		default:
			d.Change = Change{Update, []Cell{{Column: uint32(10 + i%4), Value: fmt.Append(nil, "value ", i)}, {Column: 20, Null: true}}}
		}
		all = append(all, d)
	}
	return all
}

func written(t testing.TB, order Order, all []Delta) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, order)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := w.Append(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func opened(t testing.TB, file []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(file), int64(len(file)), "test.cf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func cursor(t testing.TB, f *File) *Cursor {
	t.Helper()
	c := f.Cursor()
	t.Cleanup(c.Close)
	return c
}

// same reads what a cursor is before, and compares.
func same(t testing.TB, c *Cursor, want []Delta) {
	t.Helper()
	for i := range want {
		var got Delta
		if err := c.Next(&got); err != nil {
			t.Fatal(err)
		}
		if got.Key != want[i].Key || got.Kind != want[i].Kind || len(got.Cells) != len(want[i].Cells) ||
			len(got.Cells) > 0 && !reflect.DeepEqual(got.Cells, want[i].Cells) {
			t.Fatalf("got %+v, want %+v", got, want[i])
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, order := range []Order{Redo, Undo} {
		for _, n := range []int{1, 2, 3, 50_000} {
			all := sample(order, n)
			f := opened(t, written(t, order, all))
			if f.Len() != int64(n) {
				t.Errorf("%d deltas, want %d", f.Len(), n)
			}
			c := cursor(t, f)
			same(t, c, all)
			if err := c.Next(new(Delta)); !errors.Is(err, io.EOF) {
				t.Errorf("behind the last delta: %v", err)
			}
			stats := noStats()
			for i := range all {
				stats.add(all[i].Timestamp, &all[i].Change)
			}
			if !reflect.DeepEqual(*f.Stats(), stats) {
				t.Errorf("%d deltas: stats %+v, want %+v", n, *f.Stats(), stats)
			}
		}
	}
}

// TestSeekRow finds the deltas of each row, and those of the next if it has none.
func TestSeekRow(t *testing.T) {
	for _, order := range []Order{Redo, Undo} {
		const n = 9000
		all := sample(order, n)
		c := cursor(t, opened(t, written(t, order, all)))
		for i := 0; i < n; i += 3 {
			at := n - 3 - i // backwards
			row := all[at].Row
			if err := c.SeekRow(row); err != nil {
				t.Fatal(err)
			}
			same(t, c, all[at:min(at+4, n)])
			if row == 0 {
				continue
			}
			if err := c.SeekRow(row - 9); err != nil {
				t.Fatal(err)
			}
			same(t, c, all[at:at+1])
		}
		for _, row := range []uint32{all[n-1].Row + 1, math.MaxUint32} {
			if err := c.SeekRow(row); err != nil {
				t.Fatal(err)
			}
			if err := c.Next(new(Delta)); !errors.Is(err, io.EOF) {
				t.Errorf("behind the last row: %v", err)
			}
		}
	}
}

// counted counts reads.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.n++
	return c.ReaderAt.ReadAt(p, off)
}

// TestSeekReads the index blocks on the way, and the blocks in which the deltas of a row may
// begin.
func TestSeekReads(t *testing.T) {
	const n = 60_000
	all := sample(Undo, n)
	file := written(t, Undo, all)
	r := &counted{ReaderAt: bytes.NewReader(file)}
	f, err := Open(r, int64(len(file)), "test.cf")
	if err != nil {
		t.Fatal(err)
	}
	height, err := f.file.Height(false)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; at += 999 {
		c := f.Cursor()
		r.n = 0
		if err := c.SeekRow(all[at].Row); err != nil {
			t.Fatal(err)
		}
		if r.n > height+2 {
			t.Errorf("%d reads, and the index has %d levels", r.n, height)
		}
		same(t, c, all[at:at+3])
		c.Close()
	}
}

// TestFooter is as Kudu writes it.
func TestFooter(t *testing.T) {
	all := []Delta{
		{Key{7, 2288}, Change{Update, []Cell{{Column: 2, Value: []byte("hello")}}}},
		{Key{7, 2289}, Change{Kind: Delete}},
		{Key{7, 2290}, Change{Reinsert, []Cell{{Column: 2, Null: true}, {Column: 1, Null: true}}}},
	}
	file := written(t, Redo, all)
	f, err := cfile.Open(bytes.NewReader(file), int64(len(file)), "test.cf")
	if err != nil {
		t.Fatal(err)
	}
	of := f.Footer()
	if of.Type != cfile.Binary || of.Encoding != cfile.Plain || of.Compression != cfile.LZ4 || of.Positional != nil || of.Value == nil || of.Nullable || of.Values != 3 {
		t.Errorf("footer %+v", of)
	}
	stats := unhex(t, "0801"+"19f008000000000000"+"21f208000000000000"+"2a0408011001"+"2a0408021002"+"3001")
	if len(of.Metadata) != 1 || of.Metadata[0].Key != "deltafilestats" || !bytes.Equal(of.Metadata[0].Value, stats) {
		t.Errorf("metadata %x, want %x", of.Metadata, stats)
	}
	blocks, err := f.Blocks()
	if err != nil {
		t.Fatal(err)
	}
	if key := unhex(t, "07f90000"); len(blocks) != 1 || !bytes.Equal(blocks[0].Key, key) {
		t.Errorf("blocks %+v, want one with the key %x", blocks, key)
	}
	c := f.Cursor()
	defer c.Close()
	var rows cfile.Rows
	if _, err := c.Read(&rows, 3); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"07f90000" + "01020668656c6c6f", "07f90001" + "02", "07f90002" + "0302000100"} {
		if got := rows.Binary(i); !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("delta %d is %x, want %s", i, got, want)
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	if _, err := NewWriter(io.Discard, 2); err == nil {
		t.Error("an order that there is not is taken")
	}
	gone := func(row uint32, at uint64) Delta { return Delta{Key{row, at}, Change{Kind: Delete}} }
	for what, c := range map[string]struct {
		order Order
		all   []Delta
	}{
		"a row that is less":             {Redo, []Delta{gone(2, 1), gone(1, 2)}},
		"a row that is less, UNDO":       {Undo, []Delta{gone(2, 2), gone(1, 1)}},
		"an earlier time":                {Redo, []Delta{gone(2, 2), gone(2, 1)}},
		"a later time, UNDO":             {Undo, []Delta{gone(2, 1), gone(2, 2)}},
		"no change":                      {Redo, []Delta{gone(2, 1), {}}},
		"a value longer than blocks are": {Redo, []Delta{{Change: Change{Update, []Cell{{Value: make([]byte, 16<<20)}}}}}},
	} {
		w, err := NewWriter(io.Discard, c.order)
		if err != nil {
			t.Fatal(err)
		}
		last := len(c.all) - 1
		for i := range c.all[:last] {
			if err := w.Append(&c.all[i]); err != nil {
				t.Fatal(err)
			}
		}
		err = w.Append(&c.all[last])
		if err == nil {
			t.Errorf("%s is taken", what)
		}
		next := gone(9, 9)
		if again := w.Append(&next); !errors.Is(again, err) {
			t.Errorf("%s: then: %v", what, again)
		}
		if again := w.Close(); !errors.Is(again, err) {
			t.Errorf("%s: at the end: %v", what, again)
		}
	}
	w, err := NewWriter(io.Discard, Redo)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, ErrNoDeltas) {
		t.Errorf("without deltas: %v", err)
	}
}

// TestWriterNamesRow of a delta that is longer than files take.
func TestWriterNamesRow(t *testing.T) {
	w, err := NewWriter(io.Discard, Redo)
	if err != nil {
		t.Fatal(err)
	}
	long := Delta{Key{Row: 7}, Change{Update, []Cell{{Value: make([]byte, cfile.MaxValue)}}}}
	if err := w.Append(&long); err == nil || !strings.Contains(err.Error(), "row 7") {
		t.Errorf("got %v, want an error about row 7", err)
	}
}

// full is a disk without room for more than so many bytes.
type full int

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), int(*f))
	if *f -= full(n); n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestFullDisk is told, wherever it becomes full.
func TestFullDisk(t *testing.T) {
	all := sample(Redo, 3)
	size := len(written(t, Redo, all))
	for room := range size {
		disk := full(room)
		w, err := NewWriter(&disk, Redo)
		for i := 0; i < len(all) && err == nil; i++ {
			err = w.Append(&all[i])
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("%d of %d bytes: %v", room, size, err)
		}
	}
}
