package trevni

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// mustFindDamage returns the damage that Verify finds.
func mustFindDamage(t *testing.T, name string, b []byte) *damage.Error {
	t.Helper()
	_, err := verifyBytes(b)
	var d *damage.Error
	if !errors.As(err, &d) || d.File == "" {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// wantKind requires Verify to find damage of a kind.
func wantKind(t *testing.T, name string, b []byte, want damage.Kind) {
	t.Helper()
	if d := mustFindDamage(t, name, b); d.Kind != want {
		t.Errorf("%s: %v, want damage of the kind %s", name, d, want)
	}
}

// Bytes between header and columns belong to nothing, even if the header has no CRC
// that detects the changed starts.
func TestGaps(t *testing.T) {
	sound := rawFile{version: 2, cols: []rawColumn{{meta: meta("a null")}, {meta: meta("b null")}}}.bytes()
	f, err := verifyBytes(sound)
	testenv.Must(t, err)
	starts := f.HeaderSize() - 8*2
	for first := range f.Columns() {
		b := slices.Insert(bytes.Clone(sound), int(f.Columns()[first].Start), 1, 2, 3)
		for i, c := range f.Columns()[first:] {
			binary.LittleEndian.PutUint64(b[starts+8*int64(first+i):], uint64(c.Start+3))
		}
		if d := mustFindDamage(t, "a gap", b); d.Kind != damage.Trailing || d.Offset != f.Columns()[first].Start {
			t.Errorf("a gap at %d: %v", f.Columns()[first].Start, d)
		}
	}
}

// Java writes all checksums of a column as zero. If only one is zero, that is damage.
func TestOneZeroChecksum(t *testing.T) {
	b := dropCRC(sampleFile(t, newSampler(15), 6, 3, Options{Codec: "null"}))
	blocks, err := openBytes(t, b).Blocks(2)
	if err != nil || len(blocks) < 2 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	clear(b[blocks[0].Offset+blocks[0].StoredSize:][:checksumSize(ChecksumJava)])
	wantKind(t, "one checksum of zero", b, damage.Checksum)
}

// Java's zeros are accepted only in blocks that Java writes: not in compressed blocks, nor
// with the specification's checksums, nor in files with CRCs. There even a whole column of
// zeros is damage.
func TestAllChecksumsZero(t *testing.T) {
	deflate := dropCRC(sampleFile(t, newSampler(15), 6, 3, Options{Codec: "deflate"}))
	spec := dropCRC(sampleFile(t, newSampler(15), 6, 3, Options{Codec: "null", Checksum: ChecksumSpec}))
	own := sampleFile(t, newSampler(15), 6, 3, Options{Codec: "null"})
	for _, b := range [][]byte{deflate, spec, own} {
		f := openBytes(t, b)
		blocks, err := f.Blocks(2)
		if err != nil || len(blocks) < 2 {
			t.Fatalf("%d blocks, %v", len(blocks), err)
		}
		for _, d := range blocks {
			clear(b[d.Offset+d.StoredSize:][:checksumSize(f.Columns()[2].Checksum)])
		}
		var d *damage.Error
		if err := f.verifyColumn(t.Context(), nil, 2, nil); !errors.As(err, &d) || d.Kind != damage.Checksum {
			t.Errorf("all checksums of zero: %v", err)
		}
	}
}

// A read may be a request to remote storage. The checksums of a column that Java wrote
// are read once, and a dump does not read for each line.
func TestFewReads(t *testing.T) {
	b := dropCRC(sampleFile(t, newSampler(15), 600, 3, Options{Codec: "null"}))
	f, blocks := openBytes(t, b), 0
	for i, c := range f.Columns() {
		table, err := f.Blocks(i)
		testenv.Must(t, err)
		for _, d := range table {
			clear(b[d.Offset+d.StoredSize:][:checksumSize(c.Checksum)])
		}
		blocks += len(table)
	}
	for name, do := range map[string]func(*File) error{
		"verify": func(f *File) error { return f.Verify(t.Context()) },
		"dump":   func(f *File) error { return f.Dump(io.Discard) },
	} {
		r := &countingReader{Reader: bytes.NewReader(b)}
		f, err := Open(r, int64(len(b)), "test.trv")
		testenv.Must(t, err)
		if err := do(f); err != nil || !f.Unverified() {
			t.Errorf("%s: %v, unverified %v", name, err, f.Unverified())
		}
		// Each block is read with its checksum, a parent's block again for
		// its children.
		if limit := 5*blocks + 10*len(f.Columns()); r.reads > limit {
			t.Errorf("%s: %d reads of %d blocks and %d bytes", name, r.reads, blocks, len(b))
		}
	}
}

// A stream that ends before its block does leaves unread bytes.
func TestBytesAfterAStream(t *testing.T) {
	b := dropCRC(sampleFile(t, newSampler(16), 6, 0, Options{Codec: "deflate"}))
	f := openBytes(t, b)
	last := len(f.Columns()) - 1
	blocks, err := f.Blocks(last)
	if err != nil || len(blocks) != 1 || blocks[0].RawSize == 0 {
		t.Fatalf("%+v, %v", blocks, err)
	}
	b = slices.Insert(b, int(blocks[0].Offset+blocks[0].StoredSize), 'x')
	binary.LittleEndian.PutUint32(b[f.Columns()[last].Start+12:], uint32(blocks[0].StoredSize+1))
	wantKind(t, "a byte after a stream", b, damage.Codec)
}

// A stream of any length is read only up to the size in the block table.
func TestStreamsAreBounded(t *testing.T) {
	large, err := encoderOf("deflate").encode(nil, make([]byte, 64<<20))
	testenv.Must(t, err)
	before := allocated()
	if _, err := decodeBlock("deflate", large, 1000); !errors.Is(err, errRawSize) {
		t.Errorf("a stream of 64 MiB for a block of 1000 bytes: %v", err)
	}
	if n := allocated() - before; n > 16<<20 {
		t.Errorf("a stream of 64 MiB for a block of 1000 bytes: %d bytes allocated", n)
	}
}

// A block table is read only up to the block with rows that the file does not
// have.
func TestRowsBeyondTheFile(t *testing.T) {
	b := rawFile{version: 2, rows: 3, cols: []rawColumn{{meta: meta("a null"), rows: 4}}}.bytes()
	start := openBytes(t, b).Columns()[0].Start
	if d := mustFindDamage(t, "four rows of three", b); d.Kind != damage.Count || d.Block != 0 || d.Offset != start+4 {
		t.Errorf("four rows of three: %v", d)
	}
}

// indexed returns a file of one column with an index and without CRCs of header and
// tables.
func indexed(t *testing.T, values ...int64) []byte {
	t.Helper()
	cols := []column.Column{{Name: "a", Type: column.Long, Parent: -1}}
	b := dropCRC(write(t, "", cols, Options{Values: []string{"a"}}, len(values), func(w *Writer, row int) {
		w.Column(0).AppendVarint(values[row])
	}))
	testenv.Must(t, openBytes(t, b).Verify(context.Background()))
	return b
}

func TestWrongIndex(t *testing.T) {
	b := indexed(t, 5, 6)
	b[openBytes(t, b).Columns()[0].Start+4+descriptorSize] = 2 * 6
	wantKind(t, "another first value", b, damage.Value)

	b = indexed(t, 6, 5)
	at := bytes.Index(b, []byte(AscendingKey)) + len(AscendingKey) + 1
	if b[at] != 0 {
		t.Fatalf("values that descend are marked %d", b[at])
	}
	b[at] = 1
	wantKind(t, "values that do not ascend", b, damage.Value)
}

// TestSnappySizes decodes lengths that contradict the table, or that so few bytes cannot
// decompress to.
func TestSnappySizes(t *testing.T) {
	stored, err := encoderOf("snappy").encode(nil, []byte("hello"))
	testenv.Must(t, err)
	if _, err := decodeBlock("snappy", stored, 4); !errors.Is(err, errRawSize) {
		t.Errorf("5 bytes for 4: %v", err)
	}
	const huge = 1 << 30
	if _, err := decodeBlock("snappy", binary.AppendUvarint(nil, huge), huge); !errors.Is(err, errRawSize) {
		t.Errorf("1 GiB of 5 bytes: %v", err)
	}
}
