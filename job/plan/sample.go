package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
)

// Sizes of the sample. It is a fixed share of the input, taken at fixed positions, so that
// it costs little and is the same in every run.
const (
	samplePoints = 8
	sampleShare  = 64
	minSample    = 256 << 10
	minPerColumn = 1 << 10 // with less, the framing of blocks would weigh too much
	maxSample    = 4 << 20
)

// sampler converts a few input blocks to a row group that is discarded.
type sampler struct {
	resolve     input.Resolve
	inputs      []manifest.Input
	starts      []int64 // position of each input's first block, as if the blocks of all inputs were one file
	total       int64   // bytes of the blocks of all inputs
	columns     int
	resolutions *input.Resolutions
	sample      *mapper.Sample
}

// sample converts a sample of the inputs to find out how row groups fill up.
func (s *Survey) sample(ctx context.Context, blockSize int) (*filling, error) {
	reserved := min(mapper.OpenBlocks(s.writer, blockSize, len(s.Mapping.Columns))+mapper.SampleMemory, s.config.Memory.Available())
	if err := s.config.Memory.Reserve(reserved); err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	defer s.config.Memory.Release(reserved)
	r := s.newSampler(blockSize)
	defer r.sample.Close()
	err := r.readAll(ctx)
	//guard: refuses a plan that would depend on the memory
	if errors.As(err, new(*budget.Error)) {
		return nil, failure.As(failure.Usage, err)
	}
	if err != nil {
		return nil, err
	}
	columns, err := r.sample.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return newFilling(s.empty, blockSize, r.sample, columns), nil
}

// newSampler returns a sampler whose sample the caller closes.
func (s *Survey) newSampler(blockSize int) *sampler {
	r := &sampler{resolve: s.config.Resolve, inputs: s.Request.Inputs, columns: len(s.Mapping.Columns)}
	r.resolutions = input.NewResolutions(&s.Request, s.Mapping.Schema)
	onDamage := mapper.Skip
	if s.Request.Options.OnDamage == "fail" {
		onDamage = mapper.Fail
	}
	r.sample = mapper.NewSample(mapper.Config{
		Mapping: s.Mapping, Writer: s.writer, BlockSize: blockSize,
		MaxInputBlock: s.Request.Options.MaxInputBlock, Pool: s.config.Memory, OnDamage: onDamage,
	})
	for _, in := range r.inputs {
		r.starts = append(r.starts, r.total)
		if in.Unreadable == "" {
			r.total += in.Size - in.HeaderSize
		}
	}
	return r
}

// readAll converts the sample: an equal share of it from each of several points on.
// If blocks are large, it leaves out the later points.
func (s *sampler) readAll(ctx context.Context) error {
	limit := min(max(s.total/sampleShare, minSample, int64(s.columns)*minPerColumn), maxSample)
	points := int64(samplePoints)
	if s.total <= limit {
		points = 1
	}
	pos := int64(0)
	for i := range points {
		pos = max(pos, s.total/points*i)
		for quota := limit / points; quota > 0 && pos < s.total && s.wantsMore(limit); {
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

func (s *sampler) wantsMore(limit int64) bool {
	return s.sample.Bytes() < limit && !s.sample.Ended()
}

// readFrom converts blocks of one input from pos on until it has read quota bytes.
// It returns the position where it stopped.
func (s *sampler) readFrom(ctx context.Context, pos, quota int64) (int64, error) {
	i, found := slices.BinarySearch(s.starts, pos)
	if !found {
		i--
	}
	for i+1 < len(s.starts) && s.starts[i+1] == pos {
		i++ // inputs without blocks
	}
	in := s.inputs[i]
	f, _, err := input.Open(ctx, s.resolve, in)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	h, err := ocf.ReadHeader(f, in.Size, in.Path)
	if err != nil {
		return 0, err
	}
	resolution, err := s.resolutions.Of(in.Path, h.Schema)
	if err != nil {
		return 0, err
	}
	shift := s.starts[i] - in.HeaderSize // from offsets in the input to positions
	end, err := s.sample.Read(ctx, mapper.Source{
		Name: in.Path, R: f, Size: in.Size, Header: h, Range: ocf.Range{Start: pos - shift, End: in.Size}, Resolution: resolution,
	}, quota)
	return end + shift, err
}
