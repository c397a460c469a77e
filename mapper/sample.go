package mapper

import (
	"context"
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Sample converts blocks of input as a task does, in the calling goroutine. The row
// group is measured and discarded. One goroutine at a time may use a Sample.
type Sample struct {
	t       *task
	in      *reader // only decodes; it is never started
	block   inputBlock
	bytes   int64 // stored bytes of the input blocks that were converted
	largest int64 // stored bytes of the largest of these blocks
	fails   bool  // tasks fail at the first damage
}

// SampleColumn is the size of all blocks of one column of a sample.
type SampleColumn struct {
	Blocks  int64
	Data    int64 // raw bytes
	Lengths int64 // number of split lengths
	Stored  int64 // bytes of the encoded blocks and of dictionaries
	Tables  int64 // other bytes that the blocks added to the outputs
}

// SampleMemory is the memory of a sample besides the open blocks, in bytes. The caller
// of NewSample reserves it.
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

// MaxSampleRows is the number of rows at which a sample ends. Bytes do not bound the
// number of rows without bytes.
const MaxSampleRows = 1 << 22

// Ended reports whether the sample reads no further block: it has enough rows, or it
// found damage at which tasks fail.
func (s *Sample) Ended() bool {
	return s.Rows() >= MaxSampleRows || s.fails && len(s.t.stats.Losses) > 0
}

// maxSampleSize is the size of a row group that no sample fills.
const maxSampleSize = 1 << 60

// Read converts blocks that start in the source's range, until it has read as many bytes
// as the argument bytes says, or the sample has ended. It returns the offset after the
// last block. It leaves damaged blocks out, and stops at damage between blocks.
func (s *Sample) Read(ctx context.Context, src Source, bytes int64) (int64, error) {
	t, b := s.t, &s.block
	t.workers.ctx, t.memory.ctx = ctx, ctx
	t.scanner.Reset(src.R, src.Size, src.Name, src.Header, src.Range)
	//guard: rejects a block larger than the limit
	t.scanner.LimitBlocks(t.cfg.MaxInputBlock)
	pos := src.Range.Start
	for stop := pos + bytes; pos < stop; pos = b.lost.End {
		//guard: bounds a sample of rows without bytes
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
		//guard: fails for a value that the format cannot hold, which is not damage
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

// Rows returns the number of rows that were converted.
func (s *Sample) Rows() int64 { return s.t.stats.Rows }

// Bytes returns the number of stored input bytes of these rows.
func (s *Sample) Bytes() int64 { return s.bytes }

// LargestBlock returns the stored bytes of the largest input block.
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

// Close releases the sample's memory.
func (s *Sample) Close() { s.t.workspace.close() }

// measure adds the sizes of an encoded block to the sample's column.
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
