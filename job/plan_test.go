package job

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/manifest"
)

func TestCut(t *testing.T) {
	piece := func(in int, start, end int64) manifest.Piece {
		return manifest.Piece{Input: in, Start: start, End: end}
	}
	for _, tc := range []struct {
		name  string
		sizes []int64
		want  [][]manifest.Piece
	}{
		{"nothing", nil, nil},
		{"exactly one", []int64{100}, [][]manifest.Piece{{piece(0, 0, 100)}}},
		{"up to 1.1 stays whole", []int64{110}, [][]manifest.Piece{{piece(0, 0, 110)}}},
		{"more than 1.1 is cut", []int64{111}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 111)}}},
		{"last up to 1.1", []int64{310}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 200)}, {piece(0, 200, 310)}}},
		{"last small", []int64{311}, [][]manifest.Piece{{piece(0, 0, 100)}, {piece(0, 100, 200)}, {piece(0, 200, 300)}, {piece(0, 300, 311)}}},
		{"groups", []int64{40, 60, 1, 99, 50}, [][]manifest.Piece{{piece(0, 0, 40), piece(1, 0, 60)}, {piece(2, 0, 1), piece(3, 0, 99)}, {piece(4, 0, 50)}}},
		{"a large one ends the group", []int64{10, 101, 10, 10}, [][]manifest.Piece{{piece(0, 0, 10)}, {piece(1, 0, 101)}, {piece(2, 0, 10), piece(3, 0, 10)}}},
	} {
		var inputs []manifest.Input
		for _, s := range tc.sizes {
			inputs = append(inputs, manifest.Input{Size: s})
		}
		got := cut(inputs, 100)
		if len(got) != len(tc.want) {
			t.Errorf("%s: %v", tc.name, got)
			continue
		}
		for i, task := range got {
			if task.ID != i || !slices.Equal(task.Pieces, tc.want[i]) {
				t.Errorf("%s: task %d is %+v, want %v", tc.name, i, task, tc.want[i])
			}
		}
	}
}

func TestSplitSize(t *testing.T) {
	for _, tc := range []struct {
		ceiling, head int64
		ratio         float64
		want          int64
	}{
		{1 << 20, 0, 1, 891290},
		{1 << 20, 0, 0.5, 1782579},
		{1 << 20, 91290, 1, 800000},
		{1 << 20, 1 << 20, 1, 104858}, // the header alone fills it
		{1 << 20, 0, 0, maxSplit},
		{1 << 20, 0, 1e9, minSplit},
	} {
		if got := splitSize(tc.ceiling, tc.head, tc.ratio); got != tc.want {
			t.Errorf("splitSize(%d, %d, %g) = %d, want %d", tc.ceiling, tc.head, tc.ratio, got, tc.want)
		}
	}
}

func TestBlockSize(t *testing.T) {
	for _, tc := range []struct {
		want, columns int
		memory        int64
		size          int
	}{
		{64 << 10, 100, 1 << 30, 64 << 10},
		{64 << 10, 10_000, 1 << 30, 64 << 10},
		{64 << 10, 20_000, 1 << 30, 32 << 10},
		{64 << 10, 10_000, 100 << 20, 4 << 10},
		{64 << 10, 100_000, 1 << 20, 4 << 10}, // never less
		{1 << 10, 100_000, 1 << 20, 1 << 10},  // but as small as asked for
		{100_000, 10_000, 1 << 30, 64 << 10},
	} {
		if got := blockSize(tc.want, tc.columns, tc.memory); got != tc.size {
			t.Errorf("blockSize(%d, %d, %d) = %d, want %d", tc.want, tc.columns, tc.memory, got, tc.size)
		}
	}
}

func TestPlanIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	for i, blocks := range []int{3, 40, 0, 1, 12} {
		writeInput(t, filepath.Join(dir, string(rune('a'+i))+".avro"), testSchema, uint64(i), blocks)
	}
	var first []byte
	for i, inputs := range [][]string{
		{dir},
		{dir + "/*.avro"},
		{dir + "/e.avro", dir + "/d.avro", dir, dir + "/./a.avro"},
	} {
		r := request(t, dir+".out", inputs...)
		r.Workers = 1 + 3*i
		p, err := MakePlan(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Errorf("inputs %v give another plan:\n%s\nthan\n%s", inputs, b, first)
		}
		if _, err := manifest.DecodePlan(b); err != nil {
			t.Error(err)
		}
		// The codec is null on both sides, and the values are copied.
		if math.Abs(p.Ratio-1) > 0.05 {
			t.Errorf("ratio %g of data that is copied", p.Ratio)
		}
	}
}

func TestSmallMemoryShrinksBlocks(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, filepath.Join(dir, "a.avro"), testSchema, 1, 1)
	r := request(t, dir+".out", dir)
	r.Memory = 64 << 10
	p, err := MakePlan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if p.Options.BlockSize != 16<<10 || len(p.Warnings) != 1 {
		t.Errorf("block size %d, warnings %v", p.Options.BlockSize, p.Warnings)
	}
}

func TestMemoryForColumns(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "wide.avro")
	var fields []string
	for i := range 3000 {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":["null","long"]}`, i))
	}
	writeInput(t, in, `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, 1, 0)
	r := request(t, filepath.Join(dir, "out"), in)
	r.Memory = 17 << 20
	_, err := MakePlan(context.Background(), r)
	wantKind(t, err, ErrUsage, "at least 18 MiB")
	r.Memory = 18 << 20
	if _, err := MakePlan(context.Background(), r); err != nil {
		t.Error(err)
	}
}
