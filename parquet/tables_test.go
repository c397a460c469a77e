package parquet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// countedFile counts reads.
type countedFile struct {
	formattest.File
	reads, blocks, bytes *int
}

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	*f.reads++
	*f.bytes += len(p)
	return f.File.ReadAt(p, off)
}

func (f countedFile) ReadBlock(p []byte, _ int, off, _ int64) (int, error) {
	*f.blocks++
	return f.File.ReadAt(p, off)
}

func (f countedFile) ReadTable(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

func counted(b []byte) countedFile {
	return countedFile{formattest.NewFile("counted.parquet", b), new(int), new(int), new(int)}
}

// wideFile returns a file of many columns of numbers.
func wideFile(t *testing.T, columns, rows int) []byte {
	t.Helper()
	fields := make([]string, columns)
	for i := range fields {
		fields[i] = fmt.Sprintf(`{"name":"c%d","type":"float"}`, i)
	}
	schema := `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
	all := make([][]byte, rows)
	for row := range all {
		for col := range columns {
			all[row] = append(all[row], byte(row), byte(col), byte(row*col), 1)
		}
	}
	return formattest.Rows(t, Format, nil, schema, all, 1<<10).Files(t)[""]
}

// allBlocks returns the blocks of all columns.
func allBlocks(t *testing.T, p format.Part) (all [][]format.Block) {
	t.Helper()
	for i := range p.Columns() {
		blocks, err := boundedBlocks(p, i)
		testenv.Must(t, err)
		all = append(all, blocks)
	}
	return all
}

// The footer and the indexes of all columns take few reads, and those of one column few bytes.
func TestTablesTakeFewReads(t *testing.T) {
	for _, test := range []struct{ columns, rows, open, all int }{{20, 300, 1, 0}, {1000, 1500, 2, 12}} {
		b := wideFile(t, test.columns, test.rows)
		f := counted(b)
		p, err := openPart([]format.File{f}, format.OpenOptions{})
		testenv.Must(t, err)
		open, size := *f.reads, *f.bytes
		if open != test.open {
			t.Errorf("%d columns: %d reads to open the file, want %d", test.columns, open, test.open)
		}
		_, err = boundedBlocks(p, test.columns/2)
		testenv.Must(t, err)
		if n := *f.bytes - size; n > 3*tableWindow {
			t.Errorf("%d columns: %d bytes for the indexes of one", test.columns, n)
		}
		all := allBlocks(t, p)
		if n := *f.reads - open; n > test.all || *f.blocks > 0 {
			t.Errorf("%d columns, %d bytes from the first index on: %d reads for all indexes, want at most %d",
				test.columns, p.(*part).footerAt-p.(*part).chunks[0].columnIndex.offset, n, test.all)
		}
		// Without memory for windows, each is read alone.
		alone := mustOpen(t, b)
		alone.tables = tables{}
		alone.memory = &formattest.Memory{Limit: tableWindow - 1}
		for i := range alone.chunks {
			alone.memory = &formattest.Memory{Limit: tableWindow - 1}
			blocks, err := boundedBlocks(alone, i)
			testenv.Must(t, err)
			if !reflect.DeepEqual(blocks, all[i]) {
				t.Fatalf("column %d: blocks %v, want %v", i, blocks, all[i])
			}
		}
	}
}

// Only bounds need the column index, so rows can be read if it is damaged.
func TestBlocksNeedNoBounds(t *testing.T) {
	file := smallFile(t, "snappy")
	at := mustOpen(t, file).chunks[0].columnIndex.offset
	file[at+5] ^= 1
	p := mustOpen(t, file)
	blocks, err := p.Blocks(0)
	testenv.Must(t, err)
	if err := p.Bounds(0, blocks); !isDamage(err) {
		t.Errorf("bounds of a damaged index: %v", err)
	}
}

// A dictionary is no block, and is read before the first page.
func TestDictionaryIsNoBlock(t *testing.T) {
	rows := make([][]byte, 1000)
	for i := range rows {
		rows[i] = []byte{6, 'a' + byte(i%20), 'b', 'c'}
	}
	f := counted(formattest.Rows(t, Format, nil, `"string"`, rows, 1<<10).Files(t)[""])
	p, err := openPart([]format.File{f}, format.OpenOptions{})
	testenv.Must(t, err)
	c := p.(*part).cursor(0)
	for range 2 {
		testenv.Must(t, c.SeekRow(0))
		n, err := c.Skip(1000)
		testenv.Must(t, err)
		if n != 1000 {
			t.Errorf("%d values", n)
		}
	}
	blocks, err := p.Blocks(0)
	testenv.Must(t, err)
	if words := c.reader.words; words == nil || *f.blocks != 2 || len(blocks) < 2 || *f.reads > 3 {
		t.Errorf("%d blocks read of %d, %d other reads, dictionary %v", *f.blocks, len(blocks), *f.reads, words)
	}
}

// Lengths are read from the smallest leaf below their column. Cursors that use the same pages
// read them once, even if one of them is a page ahead.
func TestLengthsOfTheSmallestLeaf(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":{"type":"record","name":"I",` +
		`"fields":[{"name":"s","type":"string"},{"name":"b","type":"boolean"}]}}}]}`
	rows := make([][]byte, 60_000)
	for i := range rows {
		rows[i] = []byte{2, 6, byte(i), byte(i >> 8), 'c', byte(i) & 1, 0}
	}
	f := counted(formattest.Rows(t, Format, nil, schema, rows, 1<<10).Files(t)[""])
	p, err := openPart([]format.File{f}, format.OpenOptions{})
	testenv.Must(t, err)
	lengths, values := p.(*part).cursor(0), p.(*part).cursor(2)
	if lengths.reader.c.leaf.Name != "a[]#b" || lengths.reader.c != values.reader.c {
		t.Fatalf("the lengths are read from %s", lengths.reader.c.leaf.Name)
	}
	for _, c := range []*cursor{lengths, values} {
		_, err = c.Skip(100)
		testenv.Must(t, err)
	}
	pages := lengths.pages
	for i := range pages[1:] {
		for _, c := range []*cursor{lengths, values, values} {
			if row := pages[i+1].first - 1; c.next == i+1 {
				testenv.Must(t, c.SeekRow(row))
				_, err = c.Skip(2)
				testenv.Must(t, err)
			}
		}
	}
	if len(pages) < 3 || *f.blocks != len(pages) {
		t.Errorf("%d reads of %d pages", *f.blocks, len(pages))
	}
}

// A wrong first byte is noticed even if the file is opened without it.
func TestFirstBytesAreVerified(t *testing.T) {
	b := wideFile(t, 1000, 100)
	b[0] ^= 1
	p := mustOpen(t, b)
	for what, err := range map[string]error{"verify": p.Verify(t.Context(), nil), "dump": p.Dump(io.Discard)} {
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Magic || d.Offset != 0 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The sizes of all blocks add up to the bytes of the column chunks, which follow the magic.
func TestBlockSizes(t *testing.T) {
	files := map[string][]byte{"row groups": formattest.Rows(t, Format, nil, `"string"`, wordRows(300, 10), 1<<10).File(t, 3)}
	for _, codec := range testCodecs {
		files[codec] = codedFile(t, map[string][]string{optionCompression: {codec}})
	}
	for name, file := range files {
		p, sum := mustOpen(t, file), int64(len(magic))
		for _, blocks := range allBlocks(t, p) {
			for _, b := range blocks {
				sum += b.StoredSize
			}
		}
		if chunks := p.chunks; sum != chunks[len(chunks)-1].end {
			t.Errorf("%s: the blocks end at %d, the column chunks at %d", name, sum, chunks[len(chunks)-1].end)
		}
	}
}
