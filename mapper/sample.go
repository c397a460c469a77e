package mapper

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Sample converts blocks of input as a task does, in the calling goroutine, to a row
// group that is measured and thrown away. One goroutine at a time may use it.
type Sample struct {
	t       *task
	in      *reader // is not started
	block   inputBlock
	bytes   int64 // of the input blocks that were converted
	largest int64 // of these
	fails   bool  // tasks fail at the first damage
}

// SampleColumn is the size of a column of a sample, over all its blocks.
type SampleColumn struct {
	Blocks  int64
	Data    int64 // raw bytes
	Lengths int64 // number of split lengths
	Stored  int64 // bytes of the encoded blocks and of dictionaries
	Tables  int64 // other bytes by which the outputs grew
}

// SampleMemory is what a sample takes besides the open blocks, in bytes. Its owner
// reserves it.
const SampleMemory = 8 << 20

// NewSample returns a sample without rows. It uses Mapping, Writer, BlockSize,
// MaxInputBlock, OnDamage and Pool of the configuration. The caller closes it.
func NewSample(cfg Config) *Sample {
	fails := cfg.OnDamage == Fail
	cfg.Workers, cfg.Memory, cfg.Workspaces, cfg.Spill = 1, SampleMemory, new(Workspaces), nil
	cfg.RowSink = nil
	cfg.RowGroupSize, cfg.OnDamage, cfg.MaxLostRows = maxSampleSize, Skip, -1
	t := newTask(&cfg, nil, nil)
	t.sampled = make([]SampleColumn, len(cfg.Mapping.Columns))
	in := &reader{cfg: t.cfg, workers: &t.workers, blocks: t.blocks, memory: &t.memory, scanner: &t.scanner}
	return &Sample{t: t, in: in, fails: fails}
}

// MaxSampleRows ends a sample: the bytes that are read do not bound the number of rows
// without bytes.
const MaxSampleRows = 1 << 22

// Ended reports whether the sample takes no further block, because it has enough rows
// or has met damage at which the tasks fail.
func (s *Sample) Ended() bool {
	return s.Rows() >= MaxSampleRows || s.fails && len(s.t.stats.Losses) > 0
}

// maxSampleSize is the size of a row group that no sample fills.
const maxSampleSize = 1 << 60

// Read converts blocks that start in the source's range, until it has read bytes of
// it or the sample has ended. It returns the offset after the last block. It leaves
// damaged blocks out, and stops at damage between blocks.
func (s *Sample) Read(ctx context.Context, src Source, bytes int64) (int64, error) {
	t, b := s.t, &s.block
	t.workers.ctx, t.memory.ctx = ctx, ctx
	t.scanner.Reset(src.R, src.Size, src.Name, src.Header, src.Range)
	//guard: rejects a block larger than the limit
	t.scanner.LimitBlocks(t.cfg.MaxInputBlock)
	pos := src.Range.Start
	for stop := pos + bytes; pos < stop; pos = b.lost.End {
		//guard: bounds the sample where rows have no bytes
		if s.Ended() {
			return pos, nil
		}
		if ended, err := s.next(ctx, &src); err != nil {
			return pos, t.cause(err)
		} else if ended {
			return src.Range.End, nil
		}
	}
	return pos, nil
}

// next converts the next block of a source. ended reports that there is no next block.
func (s *Sample) next(ctx context.Context, src *Source) (ended bool, err error) {
	t, b := s.t, &s.block
	defer b.empty(t.memory.share)
	if err := b.load(ctx, &t.scanner, &t.memory, src.Name); err != nil {
		//guard: tells a value that the format cannot hold from damage
		if t.cause(nil) != nil {
			return false, err
		}
		if d := (*damage.Error)(nil); err == io.EOF || errors.As(err, &d) {
			return true, nil
		}
		return false, err
	}
	losses := len(t.stats.Losses)
	s.in.decodeAhead(b, &t.workers.states[0], src)
	if b.need > 0 {
		if err := t.decodeNow(b, src); err != nil {
			return false, err
		}
	}
	if err := t.block(b, *src); err != nil {
		return false, err
	}
	if len(t.stats.Losses) == losses {
		s.bytes += b.lost.Len()
		s.largest = max(s.largest, b.lost.Len())
	}
	return false, nil
}

// Rows is the number of rows that were converted.
func (s *Sample) Rows() int64 { return s.t.stats.Rows }

// Bytes is the number of stored input bytes of these rows.
func (s *Sample) Bytes() int64 { return s.bytes }

// LargestBlock is the number of bytes of the largest input block.
func (s *Sample) LargestBlock() int64 { return s.largest }

// Finish ends the row group and returns the sizes of its columns.
func (s *Sample) Finish(ctx context.Context) ([]SampleColumn, error) {
	s.t.workers.ctx, s.t.memory.ctx = ctx, ctx
	if s.t.group != nil {
		if _, err := s.t.finishGroup(); err != nil {
			return nil, err
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
	grown := g.rg.Size() - before
	tables := min(grown-int64(len(b.stored)), g.rg.Bound(b.col, 0, 0, 0))
	c.Stored += grown - tables
	c.Tables += tables
	return nil
}
