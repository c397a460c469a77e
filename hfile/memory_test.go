package hfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// unaccounted returns memory without an account.
func unaccounted() *column.Reservation { return &column.Reservation{Account: column.Unlimited{}} }

// uncounted is the most bytes that are allocated without an account: for a Reader, and for the
// decoders of codecs.
const uncounted = 1 << 20

// allocatedBytes returns how many bytes were allocated so far. Package runtime/metrics does not
// yet count those from a processor's local cache.
func allocatedBytes() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// withinAccount fails if allocate allocates more than it reserves.
func withinAccount(t *testing.T, memory *formattest.Memory, allocate func()) {
	t.Helper()
	reserved, allocated := memory.Total, allocatedBytes()
	allocate()
	reserved, allocated = memory.Total-reserved, allocatedBytes()-allocated
	if allocated > reserved*9/8+uncounted { // sizes are rounded up
		t.Fatalf("%d bytes were allocated, %d reserved", allocated, reserved)
	}
}

// loadedFile returns a file of only the blocks that are read on opening, compressed with ZSTD.
// The block with the given number claims more additional bytes.
func loadedFile(t *testing.T, number, more int) file {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	testenv.Must(t, err)
	var f file
	trailer := Trailer{Major: majorVersion, Codec: ZSTD, Levels: 1, DataIndex: 1}
	for i, block := range []struct {
		magic   string
		payload []byte
	}{
		{magicRoot, appendRootEntries(nil, []indexEntry{{key: AppendRowKey(nil, nil)}})},
		{magicRoot, nil},
		{magicInfo, Info{{"a", nil}}.append(nil)},
		{magicBloomMeta, new(bloomWriter).appendMeta(nil)},
	} {
		if block.magic == magicInfo {
			trailer.FileInfo = int64(len(f))
		}
		h := blockHeader{magic: block.magic, raw: len(block.payload), previous: -1}
		payload := z.EncodeAll(block.payload, nil)
		if i == number {
			h.raw += more
			payload = append(payload, make([]byte, 1000)...) // fewer bytes cannot decompress to as many
		}
		f = append(f, h.seal(append(make([]byte, headerSize), payload...))...)
	}
	return trailer.append(f)
}

// TestOpenIsBounded opens files of a few KB in which a block claims to decompress to many MB.
func TestOpenIsBounded(t *testing.T) {
	if r, err := loadedFile(t, -1, 0).open(); err != nil {
		t.Fatal(err)
	} else {
		r.Close()
	}
	for number := range 4 {
		f := loadedFile(t, number, 16<<20)
		memory := &formattest.Memory{Limit: 1 << 20}
		withinAccount(t, memory, func() {
			_, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
			if !errors.Is(err, formattest.ErrMemory) || memory.Held != 0 {
				t.Errorf("block %d: %d bytes are held, %v", number, memory.Held, err)
			}
		})
		f = loadedFile(t, number, maxLoadOnOpen+1)
		withinAccount(t, memory, func() {
			_, err := f.open()
			wantDamage(t, "no account", err, "at most 67108864 are decoded")
		})
	}
}

// hudiRow is the length of each row of hudiEntries: too long to be read in HBase's dialect.
const hudiRow = 200

// hudiEntries returns n entries of a root in the dialect of Hudi's older files.
func hudiEntries(n int) (b []byte) {
	for range n {
		b = append(b, make([]byte, pointerSize)...)
		b = protowire.AppendVarint(b, rowLengthSize+hudiRow)
		b = append(append(b, 0, hudiRow), make([]byte, hudiRow)...)
	}
	return b
}

// hudiIndex returns a file without cells, with a root of n entries in the dialect of Hudi's
// older files.
func hudiIndex(t *testing.T, n int) file {
	t.Helper()
	f := madeFile(t, WriterOptions{}, 0)
	payload := hudiEntries(n)
	h := blockHeader{magic: magicRoot, raw: len(payload), previous: -1}
	root := h.seal(append(make([]byte, headerSize), payload...))
	at := f.offsets(t, magicRoot)[0]
	empty := f.header(t, at)
	end := at + int64(empty.size())
	f = slices.Concat(f[:at], root, f[end:])
	return f.withTrailer(t, func(tr *Trailer) {
		tr.DataIndex, tr.FileInfo = n, tr.FileInfo+int64(len(root))-(end-at)
	})
}

// TestOpenReserves opens files of many small parts, which take more bytes in memory than in
// the file.
func TestOpenReserves(t *testing.T) {
	const n = 40_000
	var many Info
	for range n {
		many = append(many, Pair{"k", []byte("v")})
	}
	for name, f := range map[string]file{
		"info":  madeFile(t, WriterOptions{Info: many}, 1),
		"root":  madeFile(t, WriterOptions{BlockSize: 1, IndexBlockSize: MaxDataBlock}, 4999),
		"rows":  hudiIndex(t, n/4),
		"tail":  madeFile(t, WriterOptions{Info: Info{{"k", make([]byte, 4<<20)}}}, 1),
		"bloom": madeFile(t, WriterOptions{RowBloom: true}, 1000),
	} {
		memory := &formattest.Memory{Limit: 1 << 30}
		withinAccount(t, memory, func() {
			r, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			r.Close()
		})
		if memory.Held != 0 {
			t.Errorf("%s: %d bytes are held", name, memory.Held)
		}
	}
}

// Memory reserved for the entries of one dialect is released before another is tried.
func TestDialectsReserve(t *testing.T) {
	const n = 10
	memory, payload := unaccounted(), hudiEntries(n)
	entry := int64(unsafe.Sizeof(indexEntry{}))
	if _, _, err := dataRoot(memory, payload, n, 1, 0); err != nil || memory.Held != n*(entry+keyOverhead+hudiRow) {
		t.Errorf("%d bytes are held for the data index, %v", memory.Held, err)
	}
	r := &Reader{trailer: &Trailer{MetaIndex: n}, memory: *unaccounted()}
	if err := r.metaRoot(payload, 0); err != nil || r.memory.Held != n*entry {
		t.Errorf("%d bytes are held for the meta index, %v", r.memory.Held, err)
	}
}

// TestVerifyIsBounded verifies a file of long keys. Its blocks are not compressed: under the
// race detector, pools drop decoders, and new ones would count as memory of the file.
func TestVerifyIsBounded(t *testing.T) {
	f := madeBy(t, WriterOptions{BlockSize: 1}, 0, func(w *Writer) {
		for i := range 100 {
			key := AppendKey(nil, fmt.Appendf(nil, "%0*d", 30_000, i), nil, nil, 0, Put)
			testenv.Must(t, w.Append(key, nil))
		}
	})
	memory := &formattest.Memory{Limit: 1 << 30}
	r, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
	testenv.Must(t, err)
	withinAccount(t, memory, func() {
		testenv.Must(t, r.Verify(context.Background()))
	})
	r.Close()
	if memory.Held != 0 {
		t.Errorf("%d bytes are held", memory.Held)
	}
}

// A ZSTD frame may claim any size.
func TestZstdFrameSize(t *testing.T) {
	frame := append([]byte{0x28, 0xB5, 0x2F, 0xFD, 0b1010_0000}, 0, 0, 0, 16) // 256 MiB, one segment
	frame = append(frame, 3, 0, 0, 'v')                                       // the last block, RLE
	withinAccount(t, &formattest.Memory{}, func() {
		for _, payload := range [][]byte{frame, chunk(100, chunk(len(frame), frame))} {
			if err := decompress(ZSTD, make([]byte, 100), payload); err == nil {
				t.Error("a frame that is larger than its block is decompressed")
			}
		}
	})
}

// TestManyIndexBlocks verifies a file with many empty index blocks.
func TestManyIndexBlocks(t *testing.T) {
	f := madeBy(t, WriterOptions{}, 3, func(w *Writer) {
		flush(t, w)
		for range 20_000 {
			w.block(t, magicLeaf)
		}
	})
	memory := &formattest.Memory{Limit: 64 << 20}
	withinAccount(t, memory, func() {
		r, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
		testenv.Must(t, err)
		defer r.Close()
		wantDamage(t, "unused", r.Verify(t.Context()), "no index leads to the index block")
	})
	if memory.Held != 0 {
		t.Errorf("%d bytes are held", memory.Held)
	}
}
