package cfile

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func openAccounted(t testing.TB, b []byte, memory *formattest.Memory) *File {
	t.Helper()
	r := bytes.NewReader(b)
	f, err := newFile(r, int64(len(b)), "test.cf", func(p []byte, off, _ int64) (int, error) { return r.ReadAt(p, off) }, memory)
	testenv.Must(t, err)
	return f
}

// Memory is reserved for the blocks of a cursor, and released by Close. That of header, footer
// and dictionary stays reserved.
func TestMemory(t *testing.T) {
	for name, b := range samples(t) {
		var memory formattest.Memory
		f := openAccounted(t, b, &memory)
		if f.footer.Dictionary != nil {
			if _, err := f.dictionary(); err != nil {
				t.Fatal(err)
			}
		}
		before := memory.Held
		if before <= 0 || before > 4<<10 {
			t.Errorf("%s: %d bytes held after Open", name, before)
		}
		c := f.Cursor()
		testenv.Must(t, c.Skip(f.footer.Values/2))
		_, _ = c.SeekValue([]byte{0x80})
		if memory.Held == before && f.footer.Values > 0 {
			t.Errorf("%s: a cursor holds no bytes", name)
		}
		c.Close()
		if _, err := c.Read(new(Rows), 1); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: read of a closed cursor: %v", name, err)
		}
		testenv.Must(t, walk(f))
		if _, err := f.Blocks(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Height(true); err != nil {
			t.Fatal(err)
		}
		if memory.Held != before {
			t.Errorf("%s: %d bytes held, %d before", name, memory.Held, before)
		}
	}
}

// The memory of a cursor's decoder is reserved.
func TestDecoderMemory(t *testing.T) {
	for name, b := range samples(t) {
		var memory formattest.Memory
		f := openAccounted(t, b, &memory)
		if e := f.footer.Encoding.resolve(f.footer.Type.Physical()); e != Bitshuffle || f.footer.Values == 0 {
			continue
		}
		before := memory.Held
		c := f.Cursor()
		if _, err := c.Read(new(Rows), 1); err != nil {
			t.Fatal(err)
		}
		if held := memory.Held - before; held < shuffledMemory {
			t.Errorf("%s: a cursor holds %d bytes", name, held)
		}
		c.Close()
	}
}

// An error about memory is not damage of the file.
func TestRefusedMemory(t *testing.T) {
	for name, b := range samples(t) {
		var free formattest.Memory
		testenv.Must(t, walk(openAccounted(t, b, &free)))
		for limit := free.Peak - 1; limit > 0; limit = limit * 3 / 4 {
			memory := formattest.Memory{Limit: limit}
			r := bytes.NewReader(b)
			f, err := newFile(r, int64(len(b)), name, func(p []byte, off, _ int64) (int, error) { return r.ReadAt(p, off) }, &memory)
			if err == nil {
				err = walk(f)
			} else if memory.Held != 0 {
				t.Errorf("%s: %d bytes held of a file that is not open", name, memory.Held)
			}
			if !errors.Is(err, formattest.ErrMemory) || isDamage(err) {
				t.Fatalf("%s with %d bytes: %v", name, limit, err)
			}
		}
	}
}

// Both the stored and the decompressed bytes of large blocks are accounted for. The memory of
// a large block is released for a small one.
func TestLargeBlocks(t *testing.T) {
	for _, c := range []Compression{NoCompression, Snappy} {
		const large = 3 << 20
		var values [][]byte
		for i := range 3 {
			values = append(values, randomBytes(uint64(i), []int{100, large, 100}[i]))
		}
		raw := &rawFile{fan: 9, order: "p", Footer: Footer{Type: Binary, Encoding: Plain, Compression: c, Values: 3}}
		for i, v := range values {
			raw.blocks = append(raw.blocks, rawBlock{ordinal: uint32(i), raw: binaryBlock(uint32(i), v)})
		}
		var memory formattest.Memory
		f := openAccounted(t, raw.bytes(t), &memory)
		cursor := f.Cursor()
		for i, v := range values {
			var r Rows
			if _, err := cursor.Read(&r, 1); err != nil || !bytes.Equal(r.Data, v) {
				t.Fatalf("%s: row %d: %d bytes, %v", c, i, len(r.Data), err)
			}
			low, high := int64(len(v)), int64(len(v))+2*column.RoundBlock
			if memory.Held < low || memory.Held > high {
				t.Errorf("%s: %d bytes held in a block of %d", c, memory.Held, len(v))
			}
		}
		if low := int64(large); memory.Peak < low || c != NoCompression && memory.Peak < 2*low {
			t.Errorf("%s: a peak of %d bytes", c, memory.Peak)
		}
		cursor.Close()
	}
}

// Blocks are decoded in the memory of earlier blocks.
func TestNoAllocationForEachBlock(t *testing.T) {
	values := make([]int64, 64_000)
	for i := range values {
		values[i] = int64(i)
	}
	words := make([]string, 4000)
	for i := range words {
		words[i] = "word"
	}
	nullable, _ := nullableRows(400, 100)
	for name, raw := range map[string]*rawFile{
		"plain": int64File(values, 100), "prefix": stringFile(words, 10), "nullable": nullable,
	} {
		raw.fan = 20
		f := openBytes(t, raw.bytes(t))
		var rows Rows
		allocations := testing.AllocsPerRun(5, func() {
			c := f.Cursor()
			for {
				rows.Reset()
				if _, err := c.Read(&rows, 1000); err != nil {
					break
				}
			}
			c.Close()
		})
		if allocations > 60 {
			t.Errorf("%s: %.0f allocations for %d blocks", name, allocations, len(raw.blocks))
		}
	}
}
