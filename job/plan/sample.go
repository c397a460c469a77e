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

// The sample is a fixed share of the input at fixed fractions of it, so that
// it costs little and does not change from run to run.
const (
	samplePoints = 8
	sampleShare  = 64
	minSample    = 256 << 10
	minPerColumn = 1 << 10 // what frames a block would weigh too much in less
	maxSample    = 4 << 20
)

// sampler converts a few input blocks to a row group that is thrown away.
type sampler struct {
	resolve     input.Resolve
	inputs      []manifest.Input
	starts      []int64 // of each input's blocks, if all inputs' were in one row
	total       int64
	columns     int
	resolutions *input.Resolutions
	sample      *mapper.Sample
}

// sample finds out how a row group fills up with the inputs' rows.
func (s *Survey) sample(ctx context.Context, blockSize int) (*filling, error) {
	reserved := min(mapper.OpenBlocks(s.writer, blockSize, len(s.Mapping.Columns))+mapper.SampleMemory, s.of.Memory.Left())
	if err := s.of.Memory.Reserve(reserved); err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	defer s.of.Memory.Release(reserved)
	r := s.newSampler(blockSize)
	defer r.sample.Close()
	err := r.readAll(ctx)
	//guard: refuses a plan that would depend on memory
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
	r := &sampler{resolve: s.of.Resolve, inputs: s.Request.Inputs, columns: len(s.Mapping.Columns)}
	r.resolutions = input.NewResolutions(&s.Request, s.Mapping.Schema)
	onDamage := mapper.Skip
	if s.Request.Options.OnDamage == "fail" {
		onDamage = mapper.Fail
	}
	r.sample = mapper.NewSample(mapper.Config{
		Mapping: s.Mapping, Writer: s.writer, BlockSize: blockSize,
		MaxInputBlock: s.Request.Options.MaxInputBlock, Pool: s.of.Memory, OnDamage: onDamage,
	})
	for _, in := range r.inputs {
		r.starts = append(r.starts, r.total)
		r.total += in.Size - in.HeaderSize
	}
	return r
}

// readAll converts an equal share of the sample from each of the points on.
// Where blocks are large, later points are left out.
func (s *sampler) readAll(ctx context.Context) error {
	most := min(max(s.total/sampleShare, minSample, int64(s.columns)*minPerColumn), maxSample)
	points := int64(samplePoints)
	if s.total <= most {
		points = 1
	}
	pos := int64(0)
	for i := range points {
		pos = max(pos, s.total/points*i)
		for quota := most / points; quota > 0 && pos < s.total && s.wantsMore(most); {
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

func (s *sampler) wantsMore(most int64) bool {
	return s.sample.Bytes() < most && !s.sample.Ended()
}

// readFrom converts blocks of one input from pos on until quota bytes are
// read, and returns where it stopped.
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
	by, err := s.resolutions.Of(in.Path, h.Schema)
	if err != nil {
		return 0, err
	}
	ahead := s.starts[i] - in.HeaderSize // of the offset in the input
	end, err := s.sample.Read(ctx, mapper.Source{
		Name: in.Path, R: f, Size: in.Size, Header: h, Range: ocf.Range{Start: pos - ahead, End: in.Size}, Resolution: by,
	}, quota)
	return end + ahead, err
}
