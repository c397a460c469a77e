package plan

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// flatRequest returns a request to convert an input of many columns to a format.
func flatRequest(t *testing.T, columns int, rows int64, name, options string) Request {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.avro")
	set := datagen.Flat(columns, 0)
	testenv.Must(t, set.WriteFile(file, datagen.Options{Rows: rows, Seed: 5}))
	r := request(file+".out", file)
	r.Output.Format, r.Output.FormatOptions = name, json.RawMessage(options)
	return r
}

// TestFixedPart checks that row groups are refused that consist mostly of bytes that do not
// depend on the rows, because of columns or of a filter.
func TestFixedPart(t *testing.T) {
	for _, tc := range []struct {
		columns         int
		format, options string
		min, max        int64 // bounds of the fixed part
	}{
		{79, "cfile", `{}`, 40 << 10, 80 << 10},
		{1000, "trevni", `{}`, 150 << 10, 250 << 10},
		{79, "parquet", `{}`, 30 << 10, 90 << 10},
		{2, "trevni", `{}`, 400, 1000},
		{6, "hfile", `{"key":["c0000"],"bloom":"hudi"}`, 420 << 10, 900 << 10},
		{6, "hfile", `{"key":["c0000"]}`, 1 << 10, 10 << 10},
	} {
		t.Run(fmt.Sprintf("%d columns of %s%s", tc.columns, tc.format, tc.options), func(t *testing.T) {
			r := flatRequest(t, tc.columns, 10, tc.format, tc.options)
			r.Output.RowGroupSize = 128 << 20
			s := mustLook(t, r)
			fixed := s.fixed()
			if fixed < tc.min || fixed > tc.max {
				t.Fatalf("%d bytes are fixed, want %d to %d", fixed, tc.min, tc.max)
			}
			for _, size := range []struct {
				ceiling         int64
				refused, warned bool
			}{
				{1, true, false}, {fixed, true, false}, {2*fixed - 1, true, false},
				{2 * fixed, false, true}, {4*fixed - 1, false, true}, {4 * fixed, false, false}, {128 << 20, false, false},
			} {
				r.Output.RowGroupSize = size.ceiling
				p, err := mustLook(t, r).Plan(t.Context(), "")
				if size.refused {
					failuretest.Want(t, err, failure.Usage, fmt.Sprintf("each row group has %d bytes", fixed),
						fmt.Sprintf("more than half of --row-group-size, which is %d bytes", size.ceiling), "use --row-group-size "+mebibytes(4*fixed))
					continue
				}
				testenv.Must(t, err)
				if warned := strings.Contains(fmt.Sprint(p.Warnings), "more than a quarter of --row-group-size"); warned != size.warned {
					t.Errorf("row groups of %d bytes: warnings %q", size.ceiling, p.Warnings)
				}
			}
		})
	}
}

// TestExpectedRowGroups checks that the expected row groups agree with those that are made,
// for input blocks that are larger than the pieces of tasks and for blocks that are smaller
// than row groups.
func TestExpectedRowGroups(t *testing.T) {
	for _, tc := range []struct {
		columns         int
		format, options string
		size            int64
	}{
		{79, "cfile", `{}`, 125 << 10}, {79, "cfile", `{}`, 256 << 10}, {79, "cfile", `{}`, 1 << 20},
		{200, "trevni", `{"Codec":"snappy"}`, 100 << 10}, {200, "trevni", `{"Codec":"snappy"}`, 512 << 10},
		{79, "parquet", `{}`, 125 << 10}, {79, "parquet", `{}`, 256 << 10}, {79, "parquet", `{}`, 1 << 20}, {200, "parquet", `{}`, 1 << 20},
		{6, "hfile", `{"key":["c0000"]}`, 40 << 10}, {6, "hfile", `{"key":["c0000"]}`, 400 << 10},
	} {
		t.Run(fmt.Sprintf("%d columns of %s in %d", tc.columns, tc.format, tc.size), func(t *testing.T) {
			r := flatRequest(t, tc.columns, 150_000/int64(tc.columns), tc.format, tc.options)
			r.Output.RowGroupSize, r.Output.BlockSize = tc.size, manifest.DefaultBlockSize
			expected, made := expectedAndMade(t, r)
			if math.Abs(expected/float64(made)-1) > 0.1 && math.Abs(expected-float64(made)) > 1 {
				t.Errorf("%.1f row groups are expected, got %d", expected, made)
			}
		})
	}
}

// expectedAndMade returns the number of row groups that the plan of a request expects, and the
// number that its tasks make.
func expectedAndMade(t *testing.T, r Request) (expected float64, made int) {
	t.Helper()
	s := mustLook(t, r)
	p, err := s.Plan(t.Context(), "")
	testenv.Must(t, err)
	for _, e := range s.Expect(p) {
		expected += e.RowGroups
	}
	for _, groups := range rowGroups(t, s, p) {
		made += len(groups)
	}
	t.Logf("%d tasks, %.1f row groups expected, %d made", len(p.Tasks), expected, made)
	return expected, made
}
