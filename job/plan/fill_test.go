package plan

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
)

// rowGroups runs the mapper on the tasks of a plan and returns the sizes of the row groups that
// have rows, by task.
func rowGroups(t testing.TB, s *Survey, p *manifest.Plan) (sizes [][]int64) {
	t.Helper()
	folder, err := spill.OpenFolder(t.TempDir())
	testenv.Must(t, err)
	defer func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	}()
	spaces := new(mapper.Workspaces)
	defer spaces.Close()
	cfg := mapper.Config{
		Mapping: s.Mapping, Writer: s.writer, RowGroupSize: p.Request.Options.RowGroupSize, BlockSize: p.BlockSize,
		MaxInputBlock: p.Request.Options.MaxInputBlock, MaxLostRows: -1, Workers: 1, Spill: folder, Workspaces: spaces, Memory: 16 << 20,
	}
	for _, task := range p.Tasks {
		var sources []mapper.Source
		for _, piece := range task.Pieces {
			in := p.Request.Inputs[piece.Input]
			f, _, err := input.Open(t.Context(), nil, in)
			testenv.Must(t, err)
			defer func() { _ = f.Close() }()
			h, err := ocf.ReadHeader(f, in.Size, in.Path)
			testenv.Must(t, err)
			sources = append(sources, mapper.Source{Name: in.Path, R: f, Size: in.Size, Header: h, Range: ocf.Range{Start: piece.Start, End: piece.End}})
		}
		var groups []int64
		if _, err := mapper.Run(t.Context(), sources, cfg, func(g mapper.RowGroup) error {
			size := int64(0)
			for _, out := range g.Outputs {
				size += out.Size
			}
			if g.Rows > 0 {
				groups = append(groups, size)
			}
			return g.Spill.Close()
		}); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, groups)
	}
	return sizes
}

// writeFlat writes a file of about n bytes of uniform data.
func writeFlat(t testing.TB, file string, columns int, n int64) {
	t.Helper()
	set := datagen.Flat(columns, 0)
	o := datagen.Options{Rows: max(n/int64(7*columns), 1), Seed: 5, BlockSize: 2 << 10}
	testenv.Must(t, set.WriteFile(file, o))
}

// TestRowGroupsFillUp checks that the row groups of plans for uniform data are nearly full.
// Row groups and blocks are smaller than usual by the same factor.
func TestRowGroupsFillUp(t *testing.T) {
	const scale = 64
	all, over := 0, 0
	for _, tc := range []struct {
		columns int
		size    int64 // size of row groups
		tasks   int64 // approximate number of tasks
		codec   string
		filled  float64
	}{
		{10, 32 << 20, 20, "snappy", 0.9},
		{100, 32 << 20, 20, "snappy", 0.85},
		{100, 32 << 20, 20, "deflate", 0.85},
		{400, 32 << 20, 20, "null", 0.9},
		{400, 32 << 20, 20, "snappy", 0.75},
		{400, 32 << 20, 20, "deflate", 0.7},
		{1000, 32 << 20, 20, "snappy", 0.65},
		{100, 128 << 20, 6, "snappy", 0.9},
		{400, 128 << 20, 6, "snappy", 0.85},
		{1000, 128 << 20, 6, "snappy", 0.8},
	} {
		if testing.Short() && tc.size > 32<<20 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s in %d MiB", tc.columns, tc.codec, tc.size>>20), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.avro")
			writeFlat(t, file, tc.columns, tc.size/scale*tc.tasks)
			r := request(file+".out", file)
			r.Output.RowGroupSize, r.Output.BlockSize = tc.size/scale, manifest.DefaultBlockSize/scale
			r.Output.FormatOptions = formatOptions(tc.codec)
			s := mustLook(t, r)
			p, err := s.Plan(t.Context(), "")
			testenv.Must(t, err)
			sizes, expected, sum := rowGroups(t, s, p), s.Expect(p), int64(0)
			for i, groups := range sizes {
				all++
				if len(groups) > 1 {
					over++
				}
				if i < len(sizes)-1 {
					sum += groups[0]
				}
				if off := math.Abs(float64(expected[i].Bytes)/float64(groups[0]) - 1); off > 0.08 {
					t.Errorf("task %d: the file has %d bytes, %d are expected", i, groups[0], expected[i].Bytes)
				}
			}
			filled := float64(sum) / float64(r.Output.RowGroupSize) / float64(len(sizes)-1)
			if filled < tc.filled {
				t.Errorf("row groups are filled to %.2f, want %.2f", filled, tc.filled)
			}
			t.Logf("%d tasks, filled to %.3f", len(sizes), filled)
		})
	}
	if over*50 >= all {
		t.Errorf("%d of %d tasks make a second file", over, all)
	}
}

// TestRowGroupsWithDictionaries checks that tasks make one full row group each in formats with
// dictionaries. A sample of few rows has only a small part of these. In Parquet, the bounds of open
// blocks are several times the bytes that the blocks become.
func TestRowGroupsWithDictionaries(t *testing.T) {
	for _, tc := range []struct {
		format         string
		columns, scale int64
	}{{"cfile", 400, 8}, {"parquet", 400, 8}, {"parquet", 1000, 4}} {
		t.Run(fmt.Sprintf("%d columns of %s", tc.columns, tc.format), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.avro")
			writeFlat(t, file, int(tc.columns), 128<<20/tc.scale*4)
			r := request(file+".out", file)
			r.Output.Format, r.Output.FormatOptions = tc.format, nil
			r.Output.RowGroupSize, r.Output.BlockSize = 128<<20/tc.scale, manifest.DefaultBlockSize/int(tc.scale)
			s := mustLook(t, r)
			p, err := s.Plan(t.Context(), "")
			testenv.Must(t, err)
			for i, groups := range rowGroups(t, s, p) {
				filled := float64(groups[0]) / float64(r.Output.RowGroupSize)
				if len(groups) > 1 || filled < 0.7 && i < len(p.Tasks)-1 {
					t.Errorf("task %d makes files of %d bytes, filled to %.2f", i, groups, filled)
				}
				t.Logf("filled to %.2f", filled)
			}
		})
	}
}

// TestLargeInputBlocks checks that each task makes one row group even if pieces have few
// blocks, and some pieces one block more than others.
func TestLargeInputBlocks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.avro")
	set := datagen.Flat(10, 0)
	testenv.Must(t, set.WriteFile(file, datagen.Options{Rows: 50_000, Seed: 5, BlockSize: 20_000}))
	r := request(file+".out", file)
	r.Output.RowGroupSize, r.Output.BlockSize = 128<<10, 1<<10
	s := mustLook(t, r)
	p, err := s.Plan(t.Context(), "")
	testenv.Must(t, err)
	for i, groups := range rowGroups(t, s, p) {
		if len(groups) > 1 {
			t.Errorf("task %d makes files of %d bytes", i, groups)
		}
	}
}

// TestRowGroupsWithoutRoom checks the split size if the header or the open blocks fill the row
// groups.
func TestRowGroupsWithoutRoom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.avro")
	writeFlat(t, file, 100, 1<<20)
	r := request(file+".out", file)
	for _, size := range []int64{33 << 10, 64 << 10} {
		r.Output.RowGroupSize = size
		p := mustPlan(t, r)
		if p.SplitSize < minSplit || p.SplitSize > max(size, minSplit) {
			t.Errorf("row groups of %d bytes: split at %d bytes", size, p.SplitSize)
		}
	}
	r.Output.RowGroupSize = maxSplit
	if p := mustPlan(t, r); len(p.Tasks) != 1 {
		t.Errorf("%d tasks in an endless row group", len(p.Tasks))
	}
}
