package trevni

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// openAccounted opens a part within memory.
func openAccounted(f format.File, memory column.Account) (*File, error) {
	p, err := Format.Open([]format.File{f}, format.OpenOptions{Memory: memory})
	if err != nil {
		return nil, err
	}
	return p.(part).File, nil
}

// mustOpenAccounted is openAccounted for the bytes of a valid file.
func mustOpenAccounted(t *testing.T, b []byte, memory column.Account) *File {
	t.Helper()
	f, err := openAccounted(formattest.NewFile("part.trv", b), memory)
	testenv.Must(t, err)
	return f
}

// bytesFile returns a file with columns of bytes, each with a value of every size. A value of
// more than 64 KiB ends its block.
func bytesFile(t *testing.T, columns int, o Options, sizes ...int) []byte {
	t.Helper()
	cols := make([]column.Column, columns)
	for i := range cols {
		cols[i] = column.Column{Name: string(binary.AppendVarint([]byte("c"), int64(64+i))), Type: column.Bytes, Parent: -1}
	}
	rng := rand.NewChaCha8([32]byte{})
	return write(t, "", cols, o, len(sizes), func(w *Writer, row int) {
		value := make([]byte, sizes[row])
		_, _ = rng.Read(value) // never fails
		for i := range cols {
			w.Column(i).AppendSized(value)
		}
	})
}

// The memory of large blocks is released when the cursors of many columns move on to small
// blocks.
func TestLargeBlocksAreReleased(t *testing.T) {
	const columns, large = 100, 300 << 10
	b := bytesFile(t, columns, Options{Codec: "null", Checksum: "null"}, large, 100, 100)
	var memory formattest.Memory
	f := mustOpenAccounted(t, b, &memory)
	if memory.Held <= 0 || memory.Held > 1<<20 {
		t.Errorf("%d bytes held for the header", memory.Held)
	}
	r := newReader(t, f)
	r.rows(t, 1)
	if memory.Held < columns*large {
		t.Errorf("%d bytes held for %d blocks of %d", memory.Held, columns, large)
	}
	r.rows(t, 2)
	if memory.Held > 1<<20 {
		t.Errorf("%d bytes held after the large blocks", memory.Held)
	}
}

// Memory for a block is reserved before it is read: for the stored bytes until they are
// decoded, for the decoded bytes as long as the cursor is in the block.
func TestLargeBlocksAreReserved(t *testing.T) {
	const size = 1100 << 10
	for _, codec := range codecNames {
		b := bytesFile(t, 1, Options{Codec: codec}, size, 100)
		var memory formattest.Memory
		f := mustOpenAccounted(t, b, &memory)
		c, err := f.Cursor(0)
		testenv.Must(t, err)
		before := memory.Held
		if _, err := c.Value(nil); err != nil {
			t.Fatal(err)
		}
		if n := memory.Held - before; n < size || n > size+100+column.RoundBlock {
			t.Errorf("%s: %d bytes held in a block of %d", codec, n, size)
		}
		if n := memory.Peak - before; n < 2*size { // random bytes do not compress
			t.Errorf("%s: a peak of %d bytes for a block of %d and its stored bytes", codec, n, size)
		}
		if _, err := c.Value(nil); err != nil {
			t.Fatal(err)
		}
		if n := memory.Held - before; n > column.KeptBlock {
			t.Errorf("%s: %d bytes held in the small block after it", codec, n)
		}
	}
}

// If memory is refused, the error is that of the account, not damage. When there is
// memory again, the cursor can go on.
func TestRefusedMemory(t *testing.T) {
	const size = 1100 << 10
	for _, codec := range []string{"null", "deflate", "snappy"} {
		b := bytesFile(t, 1, Options{Codec: codec}, 100<<10, size, 100)
		for _, limit := range []int64{size / 2, size + size/2} { // no room for the stored bytes, or for the decoded ones
			memory := formattest.Memory{Limit: limit}
			f := mustOpenAccounted(t, b, &memory)
			read, err := f.Cursor(0)
			testenv.Must(t, err)
			var v column.Vector
			if n, _, err := read.Read(&v, 1); n != 1 || err != nil {
				t.Fatalf("%s: the small row: %d, %v", codec, n, err)
			}
			seek, err := f.Cursor(0)
			testenv.Must(t, err)
			held := memory.Held
			_, _, readErr := read.Read(&v, 1)
			_, _, again := read.Read(&v, 1)
			seekErr := seek.SeekRow(1)
			if seekErr == nil {
				_, seekErr = seek.Value(nil)
			}
			if memory.Held > held {
				t.Errorf("%s, %d bytes: %d held after the refusals, %d before", codec, limit, memory.Held, held)
			}
			for what, err := range map[string]error{
				"read": readErr, "read again": again, "seek": seekErr, "verify": f.Verify(context.Background()),
			} {
				if !errors.Is(err, formattest.ErrMemory) || isDamage(err) {
					t.Errorf("%s, %d bytes: %s: %v", codec, limit, what, err)
				}
			}
			memory.Limit = 0
			if err = read.SeekRow(1); err == nil {
				v.Reset()
				_, _, err = read.Read(&v, 1)
			}
			if err != nil || len(v.Data) != size {
				t.Errorf("%s: with memory again: %d bytes, %v", codec, len(v.Data), err)
			}
		}
	}
}

// TestRefusedHeader checks that Open fails without memory for the header.
func TestRefusedHeader(t *testing.T) {
	b := bytesFile(t, 1, Options{}, 10)
	_, err := openAccounted(formattest.NewFile("part.trv", b), &formattest.Memory{Limit: 10})
	if !errors.Is(err, formattest.ErrMemory) || isDamage(err) {
		t.Error(err)
	}
}

// A few stored bytes that claim to be hundreds of MiB are damage, and take no
// memory of that size.
func TestClaimedSizesTakeNoMemory(t *testing.T) {
	zeros := make([]byte, 8<<20)
	for _, codec := range codecNames {
		for _, raw := range []uint32{200 << 20, 500 << 20} {
			few := []byte{2, 'x'}
			contents := map[string][]byte{"a few bytes": few}
			if codec == "snappy" {
				contents["a size that Snappy also claims"] = nil
			} else if codec != "null" {
				contents["zeros"] = append(binary.AppendVarint(nil, int64(len(zeros))), zeros...)
			}
			for what, content := range contents {
				stored := binary.AppendUvarint(nil, uint64(raw))
				if content != nil {
					var err error
					if stored, err = encoderOf(codec).encode(nil, content); err != nil {
						t.Fatal(err)
					}
				}
				b := rawFile{
					version: 2, rows: 1, meta: Metadata{{keyCodec, []byte(codec)}},
					cols: []rawColumn{{meta: meta("a bytes"), rows: 1, data: stored}},
				}.bytes()
				binary.LittleEndian.PutUint32(b[len(b)-len(stored)-8:], raw)
				var memory formattest.Memory
				f := mustOpenAccounted(t, b, &memory)
				if f.Columns()[0].Checksum != "null" {
					t.Fatal("the file has checksums")
				}
				blocks, err := f.Blocks(0)
				if err != nil || blocks[0].RawSize != int64(raw) {
					t.Fatalf("%v, %v", blocks, err)
				}
				var d *damage.Error
				if err := f.Verify(context.Background()); !errors.As(err, &d) || d.Kind != damage.Size && d.Kind != damage.Codec {
					t.Errorf("%s, %s as %d: %v", codec, what, raw, err)
				}
				if memory.Peak > 4<<20 {
					t.Errorf("%s, %s as %d: %d bytes reserved", codec, what, raw, memory.Peak)
				}
			}
		}
	}
}

// countedFile counts the bytes read from a file.
type countedFile struct {
	*os.File
	size, bytes int64
}

func (f *countedFile) Size() int64 { return f.size }

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.bytes += int64(len(p))
	return f.File.ReadAt(p, off)
}

func (f *countedFile) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

func (f *countedFile) ReadTable(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// headerOf returns the start of a header whose only metadata claims to have length bytes.
func headerOf(length int64) []byte {
	b := append([]byte(magic), 2)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = binary.AppendVarint(b, 1)
	b = append(binary.AppendVarint(b, 1), 'k')
	return binary.AppendVarint(b, length)
}

// A claimed length in a header does not decide how much is read, even if the file is
// that large.
func TestLongHeaders(t *testing.T) {
	for _, test := range []struct {
		name         string
		length, size int64
		limit        int64
		kind         damage.Kind // "" for a refusal of memory
	}{
		{"beyond the limit of headers", 900_000_000, 1 << 30, 0, damage.Unsupported},
		{"beyond the end", 1 << 40, 1 << 30, 0, damage.Unsupported},
		{"the largest", 1<<63 - 1, 1 << 30, 0, damage.Unsupported},
		{"beyond memory", 200_000_000, 1 << 30, 1 << 20, ""},
		{"beyond the end of a small file", 900_000_000, 1000, 0, damage.Truncated},
		{"beyond the end of a larger file", 1 << 20, 1<<20 - 1, 0, damage.Truncated},
	} {
		name := filepath.Join(t.TempDir(), "a.trv")
		err := os.WriteFile(name, headerOf(test.length), 0o600)
		if err == nil {
			err = os.Truncate(name, test.size)
		}
		testenv.Must(t, err)
		stored, err := os.Open(name)
		testenv.Must(t, err)
		f, memory := &countedFile{File: stored, size: test.size}, formattest.Memory{Limit: test.limit}
		_, err = openAccounted(f, &memory)
		var d *damage.Error
		if test.kind == "" {
			if !errors.Is(err, formattest.ErrMemory) || isDamage(err) {
				t.Errorf("%s: %v", test.name, err)
			}
		} else if !errors.As(err, &d) || d.Kind != test.kind {
			t.Errorf("%s: %v, want damage of the kind %s", test.name, err, test.kind)
		}
		if memory.Peak > 4<<20 || f.bytes > 4<<20 {
			t.Errorf("%s: %d bytes reserved, %d read", test.name, memory.Peak, f.bytes)
		}
		if memory.Held != 0 {
			t.Errorf("%s: %d bytes held of a header that was not read", test.name, memory.Held)
		}
		testenv.Must(t, stored.Close())
	}
}

// A header that is longer than the first read is read.
func TestHeaderOfManyBytes(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 300_000)
	b := bytesFile(t, 1, Options{Meta: []KeyValue{{"k", text}}}, 10)
	var memory formattest.Memory
	f := mustOpenAccounted(t, b, &memory)
	if got, _ := f.Meta().Get("k"); !bytes.Equal(got, text) {
		t.Errorf("%d bytes of metadata, want %d", len(got), len(text))
	}
	if memory.Held < int64(len(text)) || memory.Peak > 10*int64(len(text)) {
		t.Errorf("%d bytes held, peak %d, for a header of %d", memory.Held, memory.Peak, len(text))
	}
	if err := f.Verify(context.Background()); err != nil {
		t.Error(err)
	}
}

// parentFile returns a file of a column with children, and one block of each.
func parentFile(t *testing.T, children int) []byte {
	t.Helper()
	cols := []column.Column{{Name: "p", Type: column.Null, Array: true, Parent: -1}}
	for i := range children {
		cols = append(cols, column.Column{Name: "p#" + string(rune('A'+i)), Type: column.Boolean, Parent: 0})
	}
	return write(t, "", cols, Options{}, 60_000, func(w *Writer, row int) {
		n := 1 + row%2 // no repeats, which would take few bytes
		w.Column(0).Length(uint32(n))
		for i := range children {
			for range n {
				w.Column(1 + i).AppendBool(true)
			}
		}
	})
}

// The children of a column count their items in its blocks, which are in memory only once
// for all of them.
func TestParentsBlockIsHeldOnce(t *testing.T) {
	const children = 40
	var memory formattest.Memory
	f := mustOpenAccounted(t, parentFile(t, children), &memory)
	r := newReader(t, f)
	before, want := memory.Held, int64(0)
	for i := range f.Columns() {
		blocks, err := f.Blocks(i)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("column %d: %d blocks, %v", i, len(blocks), err)
		}
		want += blocks[0].RawSize
	}
	r.rows(t, 2)
	if n := memory.Held - before; n < want || n > want+children+1+column.RoundBlock {
		t.Errorf("%d bytes held, the blocks have %d", n, want)
	}
}
