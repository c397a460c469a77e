package dataset

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// Blocks that are not used have at most a few MiB, and less if memory is short.
func TestBlockMemory(t *testing.T) {
	for _, c := range []struct {
		memory, block, most int64
		blocks              int
	}{
		{1 << 30, 1 << 20, 4 << 20, 20},
		{16 << 20, 1 << 20, 1 << 20, 6},
		{1 << 30, 16, 16 * mostFreeBlocks, 2 * mostFreeBlocks},
	} {
		pool := budget.New(c.memory)
		m := &blockMemory{heap: pool.NewHeap()}
		used := func() int64 { return pool.Size() - pool.Available() }
		var blocks []*ocf.Block
		for range c.blocks {
			b := m.take()
			testenv.Must(t, m.heap.Reserve(c.block))
			b.Data = make([]byte, 0, c.block)
			blocks = append(blocks, b)
		}
		m.release(blocks...)
		if kept := used(); kept > c.most || kept < c.most/2 {
			t.Errorf("%+v: %d bytes are kept", c, kept)
		}
		data := int64(0) // other code may still know the blocks
		for _, b := range blocks {
			data += int64(cap(b.Data))
		}
		if data != used() {
			t.Errorf("%+v: blocks have %d bytes, %d are reserved", c, data, used())
		}
		kept, b := used(), m.take()
		if int64(cap(b.Data)) != c.block || used() != kept {
			t.Errorf("%+v: took a block of %d bytes", c, cap(b.Data))
		}
		if m.shrink(); used() != c.block {
			t.Errorf("%+v: %d bytes are reserved for one block", c, used())
		}
		for _, other := range blocks {
			if other != b && other.Data != nil {
				t.Fatalf("%+v: a block has data after shrink", c)
			}
		}
		m.close()
		if m.release(b); used() != 0 || len(m.free) > 0 {
			t.Errorf("%+v: %d bytes are reserved after close", c, used())
		}
	}
}

// Blocks are released by their range, whether it is read to its end, read again from some row on, or
// ends with an error.
func TestRangesReleaseBlocks(t *testing.T) {
	var files []store.Location
	for _, name := range []string{"a", "b", "c"} {
		files = append(files, store.Location{Store: store.Local(), Path: filepath.Join(t.TempDir(), name)})
		testenv.Must(t, os.WriteFile(files[len(files)-1].Path, avrotest.Make(t, `"bytes"`, "null", avrotest.Block{Rows: 1, Data: append([]byte{126}, make([]byte, 63)...)}), 0o666))
	}
	pool := budget.New(64 << 20)
	d, err := Open(t.Context(), files, Options{Memory: pool})
	testenv.Must(t, err)
	p, err := d.Plan(Query{Limit: -1})
	testenv.Must(t, err)
	r := newRanges(p, rowsBlock)
	g, err := r.next(t.Context())
	testenv.Must(t, err)
	if len(g.parts) != 3 {
		t.Fatalf("%d parts in a range, want 3", len(g.parts))
	}
	g.resume(place{2, 0})
	g.release()
	if _, err := r.next(t.Context()); err != io.EOF {
		t.Fatal(err)
	}
	if r.retry(); pool.Available() != pool.Size() {
		t.Errorf("%d bytes are reserved", pool.Size()-pool.Available())
	}
	r.close()
}
