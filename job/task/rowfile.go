package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
)

const (
	// fileGroupBytes and fileGroupRows bound the row groups of a RowFile.
	fileGroupBytes = 128 << 20
	fileGroupRows  = 1 << 20
)

// RowFileConfig configures a RowFile.
type RowFileConfig struct {
	Format    format.MultiGroup
	Options   json.RawMessage // of the format
	Mapping   *shred.Mapping
	BlockSize int // of columns, in bytes
}

// RowFile writes rows to one file of several row groups, in the way in which a task writes a part.
// The bytes depend on the rows and on the RowFileConfig only. A RowFile belongs to one goroutine.
type RowFile struct {
	ctx    context.Context
	writer format.FileWriter
	feed   *mapper.Feed
	spill  *spill.Folder
	out    io.Writer
	memory *budget.Heap
}

// NewRowFile starts a file that is written to out. Each row group is in the temporary directory
// until it ends. The file takes at most half of the memory that is left, unless it needs more.
// The caller closes the RowFile.
func NewRowFile(ctx context.Context, e Environment, c RowFileConfig, out io.Writer) (_ *RowFile, err error) {
	e.ensureDefaults()
	f := &RowFile{ctx: ctx, out: out, memory: e.Memory.NewHeap()}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if f.writer, err = c.Format.NewFile(c.Options, f.memory); err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	columns := len(c.Mapping.Columns)
	openBytes := mapper.OpenBlocks(f.writer, c.BlockSize, columns)
	left := e.Memory.Available()
	s := divide(1, e.Workers, max(left/2, openBytes+minSpill+minTaskMemory), openBytes, false)
	if err := f.memory.Reserve(s.reserved); err != nil {
		return nil, fmt.Errorf("%d columns with blocks of %d bytes: %w", columns, c.BlockSize, err)
	}
	if f.spill, err = openSpill(e); err != nil {
		return nil, err
	}
	f.feed, err = mapper.NewFeed(ctx, mapper.Config{
		Mapping: c.Mapping, Writer: f.writer, RowGroupSize: fileGroupBytes, RowGroupRows: fileGroupRows, BlockSize: c.BlockSize,
		Workers: e.Workers, Memory: s.memory, Pool: e.Memory, Spill: f.spill,
		SpillOptions: spill.Options{Reserve: spillReserve, Memory: int(s.spill)},
	}, f.send)
	return f, err
}

// Write adds a row, as Feed.Write does.
func (f *RowFile) Write(datum []byte, at mapper.Place) error { return f.feed.Write(datum, at) }

// send writes a row group.
func (f *RowFile) send(g mapper.RowGroup) error {
	var err error
	for _, out := range g.Outputs {
		err = errors.Join(err, reducer.Send(f.ctx, f.out, out, g.Spill))
	}
	return errors.Join(err, g.Spill.Close())
}

// Finish completes the file.
func (f *RowFile) Finish() error {
	if err := f.feed.Finish(); err != nil {
		return err
	}
	end, err := f.writer.End()
	if err != nil {
		return err
	}
	return reducer.Send(f.ctx, f.out, end, nil)
}

// Close releases the memory and removes the temporary files.
func (f *RowFile) Close() (err error) {
	if f.feed != nil {
		err = f.feed.Close()
	}
	if f.spill != nil {
		err = errors.Join(err, f.spill.Close())
	}
	f.memory.Close()
	return err
}
