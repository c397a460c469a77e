package plan

import (
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// checkFixed refuses row groups that consist mostly of bytes that do not depend on the rows,
// because the output would be many files with few rows each. If more than a quarter of a row
// group consists of such bytes, it warns.
func (s *Survey) checkFixed(p *manifest.Plan) error {
	ceiling, fixed := p.Request.Options.RowGroupSize, s.fixed()
	text := func(share string) string {
		return fmt.Sprintf("each row group has %d bytes that do not depend on its rows (%d columns), more than %s of --row-group-size, which is %d bytes: "+
			"use --row-group-size %s or more, fewer columns (--schema), or options of the format that add less to each file",
			fixed, p.Columns, share, ceiling, mebibytes(4*fixed))
	}
	//guard: refuses a ceiling with room for only a few rows
	if fixed > ceiling/2 {
		return failure.New(failure.Usage, "%s", text("half"))
	}
	if fixed > ceiling/4 {
		p.Warnings = append(p.Warnings, text("a quarter"))
	}
	return nil
}

// fixed returns the part of a row group's counted size that does not depend on the rows: headers,
// tables and filters, and the minimum size of a block of each column.
func (s *Survey) fixed() int64 {
	n := s.empty.Size()
	for col := range s.Mapping.Columns {
		n += bound(s.empty, col, 1, 0, 0)
	}
	return n
}

// mebibytes returns a size in the syntax of flags, rounded up to a whole number of MiB.
func mebibytes(bytes int64) string { return fmt.Sprintf("%dMiB", (bytes+1<<20-1)>>20) }

// Expected is the expected output of a task.
type Expected struct {
	// RowGroups is the number of row groups. It is less than 1 for a piece of an input that
	// is smaller than the input's blocks, because perhaps no block begins in it.
	RowGroups float64
	// Bytes is the size of each row group.
	Bytes int64
}

// Expect returns the expected output of each task of p, the last plan of this survey.
func (s *Survey) Expect(p *manifest.Plan) []Expected {
	expected := make([]Expected, len(p.Tasks))
	if len(p.Tasks) == 0 {
		return expected
	}
	end := float64(s.filling.largest)
	for i := range p.Tasks {
		end = max(end, float64(p.Tasks[i].Bytes()))
	}
	fits := s.filling.rollsAfter(float64(p.Request.Options.RowGroupSize), end)
	for i, t := range p.Tasks {
		bytes, cut := t.Bytes(), false
		for _, piece := range t.Pieces {
			in := &p.Request.Inputs[piece.Input]
			cut = cut || piece.Start > 0 || piece.End < in.Size
			if in.Unreadable != "" {
				bytes -= piece.End - piece.Start
			} else if piece.Start == 0 {
				bytes -= min(in.HeaderSize, piece.End)
			}
		}
		groups, each := s.filling.rowGroups(float64(bytes), cut, fits)
		expected[i] = Expected{RowGroups: groups, Bytes: s.empty.Size() + int64(each*p.Ratio)}
	}
	return expected
}

// rowGroups returns how many row groups a task makes of bytes of input, and how many bytes of
// input each row group takes, at most fits. cut is whether the task has a piece of a cut input.
func (f *filling) rowGroups(bytes float64, cut bool, fits float64) (groups, each float64) {
	share := 1.0
	if block := float64(f.largest); cut && bytes < block {
		bytes, share = block, bytes/block
	}
	groups = max(math.Ceil(bytes/fits), 1)
	return groups * share, bytes / groups
}
