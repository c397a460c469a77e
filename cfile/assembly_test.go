package cfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestBoundOfTheFileSize(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	combinations(func(o Options) {
		if o.Compression == Snappy || o.Type.Physical() != o.Type {
			return
		}
		o.BlockSize, o.IndexBlockSize = 64, 1<<(3+r.IntN(6))
		o.ValueIndex = o.Type.Keyed() && !o.Nullable
		o.KeyBounds = o.ValueIndex
		rows := randomRows(r, o, 600, 6)
		for n := 0; n <= 600; n += 1 + r.IntN(40) {
			var file bytes.Buffer
			w, err := NewWriter(&file, o)
			if err == nil {
				err = w.Append(rows.part(o, 0, n))
			}
			if err == nil {
				err = w.EndBlock()
			}
			testenv.Must(t, err)
			words := -1
			if w.dictionary != nil {
				words = w.dictionary.size()
			}
			bound, levels := w.assembly.bound(words), len(w.assembly.positional.levels)
			testenv.Must(t, w.Close())
			slack := int64(200 + 64*levels)
			if o.Compression != NoCompression {
				slack += bound / 2
			}
			if size := int64(file.Len()); size > bound || bound > size+slack {
				t.Errorf("%v, %d rows: %d bytes, want at most %d", o, n, size, bound)
			}
		}
	})
}

// If the key of a row is also the last key of the block before, the index has the whole key.
// Other keys end with the first byte that differs.
func TestKeysOfTheValueIndex(t *testing.T) {
	o := Options{Type: String, Encoding: Plain, ValueIndex: true, KeyBounds: true, BlockSize: 1}
	f := openBytes(t, write(t, o, &Rows{Values: *binaries("apple", "apple", "applet", "banana", "blue")}))
	blocks, err := f.Blocks()
	testenv.Must(t, err)
	var keys []string
	for _, b := range blocks {
		keys = append(keys, string(b.Key))
	}
	if want := "[a apple applet b bl]"; fmt.Sprint(keys) != want {
		t.Errorf("%v, want %v", keys, want)
	}
	least, _ := f.Footer().Get("min_key")
	greatest, _ := f.Footer().Get("max_key")
	if string(least) != "apple" || string(greatest) != "blue" {
		t.Errorf("keys from %q to %q", least, greatest)
	}
}

// If both indexes have a block to write, that of the positional index comes first.
func TestIndexesOfManyLevels(t *testing.T) {
	rows := &Rows{}
	for i := range 4000 {
		rows.Fixed = binary.LittleEndian.AppendUint32(rows.Fixed, uint32(i))
	}
	for _, size := range []int{1, 40, 64, 1000} {
		o := Options{Type: Int32, Encoding: Plain, Positional: true, ValueIndex: true, BlockSize: 1, IndexBlockSize: size}
		f := openBytes(t, write(t, o, rows))
		for _, positional := range []bool{true, false} {
			if n, err := f.Height(positional); err != nil || n < 2 {
				t.Errorf("index blocks of %d: height %d, %v", size, n, err)
			}
		}
		if err := walk(f); err != nil {
			t.Errorf("index blocks of %d: %v", size, err)
		}
		c := f.Cursor()
		var key []byte
		for i := 0; i < 4000; i += 37 {
			key = binary.BigEndian.AppendUint32(key[:0], uint32(i)^1<<31)
			if exact, err := c.SeekValue(key); !exact || err != nil || c.Ordinal() != int64(i) {
				t.Errorf("index blocks of %d, value %d: row %d, %v, %v", size, i, c.Ordinal(), exact, err)
			}
		}
	}
}

func TestMoreRowsThanOrdinals(t *testing.T) {
	o := Options{Type: Int8, Positional: true}
	a := newAssembly(o)
	for i, rows := range []int{math.MaxUint32, 1} {
		if _, err := a.add(&writtenBlock{rows: rows, size: 10}); (err != nil) != (i > 0) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

func TestTooMuchMetadata(t *testing.T) {
	for _, size := range []int{maxMessage - 100, maxMessage} {
		a := newAssembly(Options{Type: Int8, Positional: true, Metadata: []Pair{{"key", make([]byte, size)}}})
		tail, err := a.finish(nil)
		if refused := size == maxMessage; (err != nil) != refused || (tail == nil) != refused {
			t.Errorf("metadata of %d bytes: %v", size, err)
		}
		if _, err := a.finish(nil); err == nil {
			t.Error("finished twice")
		}
	}
}
