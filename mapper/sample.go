package mapper

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/damage"
)

// Sample converts blocks of input as a task does, in the calling goroutine, to a
// row group that is measured and thrown away. It is not safe for concurrent use.
type Sample struct {
	t       *task
	block   inputBlock
	bytes   int64 // of the input blocks that were converted
	largest int64 // of these
}

// SampleColumn is what a column of a sample took, in all its blocks.
type SampleColumn struct {
	Blocks  int64
	Data    int64 // raw bytes
	Lengths int64 // number of split lengths
	Stored  int64 // bytes of the encoded blocks
	Tables  int64 // bytes that the outputs grew beyond the encoded blocks
}

// NewSample returns a sample without rows. Of the configuration it uses Mapping,
// Format, BlockSize, MaxInputBlock and BlockMemory. The caller closes it.
func NewSample(cfg Config) *Sample {
	cfg.Workers, cfg.Memory, cfg.Workspaces, cfg.Spill = 1, defaultMemory, new(Workspaces), nil
	cfg.RowSink = nil
	cfg.RowGroupSize, cfg.OnDamage, cfg.MaxLostRows = maxSampleSize, Skip, -1
	t := newTask(&cfg, nil, nil)
	t.sampled = make([]SampleColumn, len(cfg.Mapping.Columns))
	return &Sample{t: t}
}

// MaxSampleRows is the number of rows from which on a sample takes no further
// block: rows of no bytes are not bounded by what is read.
const MaxSampleRows = 1 << 22

// maxSampleSize is a row group that no sample fills.
const maxSampleSize = 1 << 60

// Read converts the blocks that start in the source's range, until they have
// taken so many bytes of it or the sample has MaxSampleRows, and returns the
// offset of what follows. Damaged blocks are left out, and damage between blocks
// ends the source.
func (s *Sample) Read(ctx context.Context, src Source, bytes int64) (int64, error) {
	t, b := s.t, &s.block
	t.pool.ctx = ctx
	t.scanner.Reset(src.R, src.Size, src.Name, src.Header, src.Range)
	//guard: a block larger than the memory for it would be read
	t.scanner.LimitBlocks(t.cfg.blockLimit())
	pos := src.Range.Start
	for stop := pos + bytes; pos < stop; pos = b.lost.End {
		//guard: a few bytes of input could take very long, with rows of no bytes
		if s.Rows() >= MaxSampleRows {
			return pos, nil
		}
		if err := t.scanner.Next(ctx, &b.block); err != nil {
			return src.Range.End, s.endOf(err)
		}
		losses := len(t.stats.Losses)
		b.decode(&t.pool.workers[0], &src, t.cfg)
		if err := t.block(b, src); err != nil {
			return pos, err
		}
		if len(t.stats.Losses) == losses {
			s.bytes += b.lost.Len()
			s.largest = max(s.largest, b.lost.Len())
		}
	}
	return pos, nil
}

// endOf drops what ends the work on one source only.
func (s *Sample) endOf(err error) error {
	if refused := s.t.cfg.refusal(err); refused != nil {
		return refused
	}
	if d := (*damage.Error)(nil); err == io.EOF || errors.As(err, &d) {
		return nil
	}
	return err
}

// Rows is the number of rows that were converted.
func (s *Sample) Rows() int64 { return s.t.stats.Rows }

// Bytes is the number of stored input bytes of these rows.
func (s *Sample) Bytes() int64 { return s.bytes }

// LargestBlock is the number of bytes of the largest input block.
func (s *Sample) LargestBlock() int64 { return s.largest }

// Finish ends the row group and returns what its columns took.
func (s *Sample) Finish(ctx context.Context) ([]SampleColumn, error) {
	s.t.pool.ctx = ctx
	if s.t.group != nil {
		if _, err := s.t.finishGroup(); err != nil {
			return nil, fmt.Errorf("sample: %w", err)
		}
	}
	return s.t.sampled, nil
}

// Close gives the memory back.
func (s *Sample) Close() { s.t.workspace.close() }

// measure ends the job of a block of the sample.
func (g *group) measure(b *encodeBlock) error {
	before := g.rg.Size()
	if err := g.rg.End(b.col, b.job, len(b.stored)); err != nil {
		return err
	}
	c := &g.t.sampled[b.col]
	c.Blocks++
	c.Data += int64(len(b.block.Data))
	c.Lengths += int64(len(b.block.Lengths))
	c.Stored += int64(len(b.stored))
	c.Tables += g.rg.Size() - before - int64(len(b.stored))
	return nil
}
