package trevni

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// A row group writes its blocks to a file with the codecs and the index of its columns.
func TestRowGroup(t *testing.T) {
	cols := []column.Column{{Name: "a", Type: column.Long, Parent: -1}, {Name: "b", Type: column.Bytes, Parent: -1}, {Name: "c", Type: column.Null, Parent: -1}}
	for _, codec := range codecNames {
		choices := map[string][]string{"codec": {codec, "b=null"}, "values": {"b"}}
		file := formattest.Source{
			Format: Format, Options: formattest.Options(t, Format, choices), Schema: "{}", Columns: cols, BlockSize: 2000, Rows: 1000,
			Fill: func(to *column.Buffers, row int) {
				to.Cols[0].AppendVarint(int64(row * row))
				to.Cols[1].AppendSized(make([]byte, row%50))
			},
		}.Files(t)
		f := openBytes(t, file[""])
		if err := f.Verify(t.Context()); err != nil || len(file) != 1 {
			t.Errorf("%s: %d files, %v", codec, len(file), err)
		}
		if c := f.Columns()[1]; c.Codec != "null" || !c.Values {
			t.Errorf("column b: codec %s, values %v", c.Codec, c.Values)
		}
	}
}

// Blocks may be encoded in any order. Whether the column ascends is determined in
// the order of the blocks.
func TestAscending(t *testing.T) {
	for _, test := range []struct {
		name   string
		blocks [][]int64
		want   bool
	}{
		{"one value", [][]int64{{5}}, true},
		{"equal values", [][]int64{{-7, -7}, {-7}, {-7, 300}}, true},
		{"less within the first block", [][]int64{{2, 1}, {3}}, false},
		{"less within the last block", [][]int64{{1}, {2, 4, 3}}, false},
		{"less between blocks", [][]int64{{1, 9}, {8, 10}, {11}}, false},
		{"equal blocks", [][]int64{{1, 2}, {1, 2}}, false},
	} {
		g, err := newRowGroup(Options{Codec: "null", Values: []string{"a"}}, "",
			[]column.Column{{Name: "b", Type: column.Long, Parent: -1}, {Name: "a", Type: column.Long, Parent: -1}})
		testenv.Must(t, err)
		for col := range g.columns {
			var jobs []format.EncodeJob
			for i, values := range test.blocks {
				b := &column.Block{Rows: int64(len(values)), FirstRow: g.columns[col].begun}
				for _, v := range values {
					b.Data = binary.AppendVarint(b.Data, v)
				}
				job, err := g.Begin(col, b)
				if err != nil {
					t.Fatalf("%s: block %d: %v", test.name, i, err)
				}
				jobs = append(jobs, job)
			}
			stored := make([]int, len(jobs))
			for i := range slices.Backward(jobs) {
				dst, err := jobs[i].Encode(nil)
				if err != nil {
					t.Fatalf("%s: block %d: %v", test.name, i, err)
				}
				stored[i] = len(dst)
			}
			for i := range jobs {
				if err := g.End(col, jobs[i], stored[i]); err != nil {
					t.Fatalf("%s: block %d: %v", test.name, i, err)
				}
			}
		}
		if got := g.columns[1].sorted; got != test.want {
			t.Errorf("%s: ascending %v", test.name, got)
		}
		if n := len(g.columns[0].table); n != 4+descriptorSize*len(test.blocks) {
			t.Errorf("%s: a column without index has a table of %d bytes", test.name, n)
		}
	}
}

// An invalid value of an indexed column is an error of its block.
func TestIndexRefuses(t *testing.T) {
	for _, test := range []struct {
		data []byte
		want string
	}{
		{nil, "trevni: column 0: first value: "},
		{[]byte{0x80}, "trevni: column 0: first value: "},
		{[]byte{2, 4, 0x80}, "trevni: column 0: the bytes end"},
	} {
		g, err := newRowGroup(Options{Values: []string{"a"}}, "", []column.Column{{Name: "a", Type: column.Long, Parent: -1}})
		testenv.Must(t, err)
		job, err := g.Begin(0, &column.Block{Rows: 3, Data: test.data})
		testenv.Must(t, err)
		if _, err := job.Encode(nil); !errors.Is(err, column.ErrShort) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("% x: %v", test.data, err)
		}
	}
}

func TestRowGroupRefuses(t *testing.T) {
	cols := []column.Column{{Name: "a", Type: column.Null, Parent: -1}}
	g, err := NewGroupWriter(Options{}).NewRowGroup("{}", cols, BlockSize)
	testenv.Must(t, err)
	for _, b := range []column.Block{{Rows: 0}, {Rows: 1 << 31}, {Rows: 1, FirstRow: 1}} {
		if _, err := g.Begin(0, &b); err == nil {
			t.Errorf("a block of %d rows from %d was accepted", b.Rows, b.FirstRow)
		}
	}
	huge, err := unix.Mmap(-1, 0, 1<<31, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	testenv.Must(t, err)
	defer func() { _ = unix.Munmap(huge) }()
	if _, err := g.Begin(0, &column.Block{Rows: 1, Data: huge}); err == nil {
		t.Error("a block of 2 GiB was accepted")
	}
	if _, err := g.Finish(1); err == nil {
		t.Error("a row group without its row was finished")
	}
	job, err := g.Begin(0, &column.Block{Rows: 1})
	testenv.Must(t, err)
	if err := g.End(0, nil, 5); err == nil {
		t.Error("a block of another job was accepted")
	}
	for _, stored := range []int{3, 1<<31 + 4} { // with a checksum of four
		if err := g.End(0, job, stored); err == nil {
			t.Errorf("a block of %d stored bytes was accepted", stored)
		}
	}
	if _, err := g.Finish(1); err == nil {
		t.Error("a row group without the end of its block was finished")
	}
	testenv.Must(t, g.End(0, job, 5))
	if _, err := g.Begin(0, &column.Block{Rows: 1, FirstRow: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Finish(1); err == nil {
		t.Error("a row group with an extra block was finished")
	}
	if _, err := NewGroupWriter(Options{Codec: "lzo"}).NewRowGroup("{}", cols, BlockSize); err == nil {
		t.Error("an unknown codec was accepted")
	}
	if _, err := Format.Writer([]byte(`{"codec": "lz4", "checksum": "null"}`)); err == nil {
		t.Error("options of a later program were accepted")
	}
}

// A part is one file.
func TestPartOfSeveralFiles(t *testing.T) {
	f := formattest.NewFile("part.trv", write(t, "", []column.Column{{Name: "n", Type: column.Int, Parent: -1}}, Options{}, 0, nil))
	if _, err := Format.Open([]format.File{f}, format.OpenOptions{}); err != nil {
		t.Error(err)
	}
	var d *damage.Error
	if _, err := Format.Open([]format.File{f, f}, format.OpenOptions{}); !errors.As(err, &d) || d.Kind != damage.Unsupported {
		t.Errorf("a part of two files: %v", err)
	}
}

// decodeBlock decodes a block as a cursor does.
func decodeBlock(codec string, stored []byte, size int64) ([]byte, error) {
	var z decompressor
	if err := z.check(codec, stored, size); err != nil {
		return nil, err
	}
	return z.decode(codec, nil, stored, size)
}

// No bytes make a codec exceed its bound.
func TestCodecBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range codecNames {
		e := encoderOf(name)
		for _, n := range []int{0, 1, 2, 5, 100, 4096, 65536, 70_000, 200_000} {
			for kind := range 4 {
				raw := make([]byte, n)
				for i := range raw {
					switch kind {
					case 0:
						raw[i] = byte(rng.Uint32())
					case 1:
						raw[i] = byte(rng.IntN(200))
					case 2:
						raw[i] = byte(i / 4) // repeats of four: worst for bzip2
					}
				}
				enc, err := e.encode([]byte("before"), raw)
				if err != nil || !bytes.HasPrefix(enc, []byte("before")) {
					t.Fatalf("%s: %v", name, err)
				}
				if enc = enc[6:]; len(enc) > e.bound(n) {
					t.Errorf("%s: %d bytes became %d, the bound is %d", name, n, len(enc), e.bound(n))
				}
				if dec, err := decodeBlock(name, enc, int64(n)); err != nil || !bytes.Equal(dec, raw) {
					t.Errorf("%s: %d bytes of kind %d: %v", name, n, kind, err)
				}
			}
		}
	}
}
