package job

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/shred"
)

// The sample is a fixed share of the input at fixed fractions of it, so that
// it costs little and does not change from run to run.
const (
	samplePoints  = 8
	sampleShare   = 64
	minSample     = 256 << 10
	maxSample     = 4 << 20
	maxSampleRows = 1 << 20 // of a block: rows of no bytes are not bounded by it
)

// sampler converts a few input blocks to a row group that is thrown away.
type sampler struct {
	r        *Request
	inputs   []manifest.Input
	starts   []int64 // of each input's blocks, if all inputs' were in one row
	total    int64
	maxBlock int64

	rg          format.RowGroup
	bufs        *column.Buffers
	shredder    *shred.Shredder
	resolutions resolutions
	rows        int64
	read        int64 // input bytes of the blocks that were converted

	// What follows is memory that blocks take one after the other.
	scan    ocf.Scanner
	stored  ocf.Block
	data    []byte
	block   column.Block
	encoded []byte
}

// sampleRatio returns the stored output bytes per stored input byte.
func (r *Request) sampleRatio(ctx context.Context, p *manifest.Plan, m *shred.Mapping, layout column.Layout, rg format.RowGroup) (float64, error) {
	s := &sampler{
		r: r, inputs: p.Inputs, maxBlock: min(p.Options.MaxInputBlock, r.blockMemory()), rg: rg,
		bufs: column.NewBuffers(m.Columns, layout, p.Options.BlockSize),
	}
	s.shredder = shred.NewShredder(m, s.bufs)
	if p.Options.ReaderSchema {
		s.resolutions.reader = m.Schema
	}
	for _, in := range p.Inputs {
		s.starts = append(s.starts, s.total)
		s.total += in.Size - in.HeaderSize
	}
	empty := rg.Size()
	if err := s.readAll(ctx); err != nil {
		return 0, err
	}
	for col := range s.bufs.Cols {
		if err := s.closeBlock(col); err != nil {
			return 0, err
		}
	}
	if s.read == 0 {
		return 1, nil
	}
	ratio := float64(rg.Size()-empty) / float64(s.read)
	return math.Round(ratio*1e4) / 1e4, nil
}

// readAll converts an equal share of the sample from each of the points on.
// Where blocks are large, later points are left out.
func (s *sampler) readAll(ctx context.Context) error {
	budget := min(max(s.total/sampleShare, minSample), maxSample)
	points := int64(samplePoints)
	if s.total <= budget {
		points = 1
	}
	pos := int64(0)
	for i := range points {
		pos = max(pos, s.total/points*i)
		for quota := budget / points; quota > 0 && pos < s.total && s.read < budget; {
			next, err := s.readFrom(ctx, pos, quota)
			if err != nil {
				return err
			}
			quota -= next - pos
			pos = next
		}
	}
	return nil
}

// readFrom converts blocks of one input from pos on until quota bytes are
// read, and returns where it stopped. Damage is not the sample's business: it
// ends the work on the input.
func (s *sampler) readFrom(ctx context.Context, pos, quota int64) (int64, error) {
	i, found := slices.BinarySearch(s.starts, pos)
	if !found {
		i--
	}
	for i+1 < len(s.starts) && s.starts[i+1] == pos {
		i++ // inputs without blocks
	}
	in := s.inputs[i]
	end := s.starts[i] + in.Size - in.HeaderSize
	f, err := s.r.openInput(ctx, in.Path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	h, err := ocf.ReadHeader(f, f.Size(), in.Path)
	if err != nil {
		return 0, err
	}
	d, err := ocf.NewDecoder(h.Codec, s.maxBlock)
	if err != nil {
		return 0, err
	}
	by, err := s.resolutions.of(in.Path, h.Schema)
	if err != nil {
		return 0, err
	}
	s.scan.Reset(f, f.Size(), in.Path, h, ocf.Range{Start: pos - s.starts[i] + h.Size, End: f.Size()})
	s.scan.LimitBlocks(s.maxBlock)
	resolver := shred.NewResolver(by, s.maxBlock)
	stop := pos + quota
	for b := &s.stored; pos < stop; {
		if err := s.scan.Next(ctx, b); err != nil {
			return end, sampleError(err)
		}
		if s.data, err = d.Decode(s.data, b, in.Path); err != nil {
			return end, sampleError(err)
		}
		if err := s.convert(b.Rows, resolver); err != nil {
			return end, sampleError(err)
		}
		s.read += b.Range().Len()
		pos = s.starts[i] + b.Range().End - h.Size
	}
	return pos, nil
}

// sampleError drops what ends the work on one input only.
func sampleError(err error) error {
	if d := (*damage.Error)(nil); err == io.EOF || errors.As(err, &d) {
		return nil
	}
	return err
}

// convert shreds the rows of the decoded block, resolved if there is a resolver.
func (s *sampler) convert(rows int64, resolver *shred.Resolver) error {
	sink, _ := s.rg.(format.RowSink)
	rest := s.data
	for range min(rows, maxSampleRows) {
		datum, n, err := resolver.Shred(s.shredder, rest)
		if err != nil {
			return err
		}
		if sink != nil {
			if err := sink.Row(s.rows, datum); err != nil {
				return err
			}
		}
		s.rows++
		rest = rest[n:]
		for _, col := range s.bufs.Due() {
			if err := s.closeBlock(col); err != nil {
				return err
			}
		}
		s.bufs.ClearDue()
	}
	return nil
}

// closeBlock encodes the open block of a column.
func (s *sampler) closeBlock(col int) error {
	if s.bufs.Cols[col].FirstRow() == s.rows {
		return nil
	}
	s.block.Reset()
	s.bufs.Cols[col].Finish(s.rows, &s.block)
	job, err := s.rg.Begin(col, &s.block)
	if err != nil {
		return err
	}
	if s.encoded, err = job.Encode(s.encoded[:0]); err != nil {
		return err
	}
	return s.rg.End(col, job, len(s.encoded))
}
