package mapper

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/spill"
)

// OnDamage says what to do about input that is damaged.
type OnDamage uint8

// Fail ends the task at the first damage. Skip and Quarantine leave out the
// damaged block, or the bytes up to the next sync marker, and go on;
// Quarantine gives the range to Config.Quarantine first.
const (
	Fail OnDamage = iota
	Skip
	Quarantine
)

// Source is a range of one input file.
type Source struct {
	Name string
	// Open, if set, opens the source when its turn comes, and gives all that
	// follows. Few of many sources are open at a time.
	Open   func(ctx context.Context) (Source, error)
	R      io.ReaderAt
	Size   int64 // of the file
	Header *ocf.Header
	Range  ocf.Range
	// Resolution makes rows of the mapping's schema of those that were written;
	// nil if they are.
	Resolution *shred.Resolution
	// Close, if set, is called once, when no more is read of the source.
	Close func()
}

// Config is what a task needs besides its input. Workers,
// Memory, BlockMemory and Workspaces do not shape the result.
type Config struct {
	Mapping *shred.Mapping
	Writer  format.Writer
	// RowGroupSize is the ceiling of the outputs of a row group, in bytes. A
	// row group passes it by its last row at most.
	RowGroupSize int64
	// BlockSize is the size in bytes at which a column's block is closed, at
	// the next row boundary.
	BlockSize int
	// MaxInputBlock is the most bytes that an input block may decompress to, and
	// one of its rows be resolved to.
	MaxInputBlock int64
	OnDamage      OnDamage
	// MaxLostRows ends the task with an error when more rows than that are
	// lost; negative is no limit. A loss of an unknown number of rows counts
	// as one.
	MaxLostRows int64
	// Quarantine is called for each damaged range, if OnDamage says so.
	Quarantine func(src Source, lost ocf.Range) error
	// Workers is the number of goroutines that shred, decode and encode; at
	// least 1. One more reads the input.
	Workers int
	// Memory is how many bytes to take beside the open blocks of the columns:
	// half for input blocks, a quarter for column blocks that are being
	// encoded. Larger input blocks are taken one at a time. 0 is 16 MiB.
	Memory int64
	// BlockMemory is the most bytes that one input block may decompress to, and
	// a row be resolved to, for want of memory. A larger one is ErrMemory,
	// whatever OnDamage says. 0 is no such limit.
	BlockMemory int64
	// Workspaces, if set, is where to take memory from and leave it.
	Workspaces *Workspaces
	// RowSink, if set, takes the rows beside their columns.
	RowSink RowSink
	// Spill is where the columns go.
	Spill *spill.Folder
	// SpillOptions bound each row group's spill.
	SpillOptions spill.Options
	// Progress, if set, is called after each input block with the rows and
	// the stored input bytes since the last call.
	Progress func(rows, bytes int64)
}

const defaultMemory = 16 << 20

// ErrMemory is the error for an input block, or a resolved row, of more than
// Config.BlockMemory.
var ErrMemory = errors.New("too little memory")

// blockLimit is the most bytes that an input block may decompress to, and one of
// its rows be resolved to.
func (c *Config) blockLimit() int64 {
	if c.BlockMemory > 0 {
		return min(c.MaxInputBlock, c.BlockMemory)
	}
	return c.MaxInputBlock
}

// refusal tells input for which there is too little memory, a block or a resolved
// row, from damage: for the former it returns ErrMemory, which is not damage.
func (c *Config) refusal(err error) error {
	tooLarge := errors.Is(err, ocf.ErrTooLarge) || errors.Is(err, shred.ErrTooLarge)
	if !tooLarge || c.blockLimit() == c.MaxInputBlock {
		return nil
	}
	return fmt.Errorf("%v: %w", err, ErrMemory)
}

// RowSink takes the rows of a task, whatever the format of the columns.
type RowSink interface {
	// Keys are the fields that Row is to be given, by their paths: see
	// shred.NewKeyShredder.
	Keys() []string
	// Row takes the next row. Rows that are lost to damage are not among them.
	Row(r *Row) error
}

// Row is a row on its way to the columns. It is valid during the call that takes
// it.
type Row struct {
	Group  int      // number of its row group in the task, from 0
	Number int64    // in the row group, from 0
	Keys   [][]byte // values of the fields that were asked for, as Avro encodes them
	Datum  []byte   // of the mapping's schema
}

// RowGroup is a finished row group. The receiver closes the spill.
type RowGroup struct {
	Rows    int64
	Outputs []format.Output
	Spill   *spill.Spill
	// More is set while the task holds its memory, to go on with further rows.
	More bool
}

// Loss is input that is not in the output.
type Loss struct {
	Source string // name of the input
	Range  ocf.Range
	Rows   int64 // -1: unknown
	Reason string
}

// Stats is what a task did.
type Stats struct {
	Rows   int64
	Bytes  int64 // stored input bytes, lost ones included
	Losses []Loss
	// InvalidUTF8 counts string values that are not UTF-8 and were copied as
	// they are.
	InvalidUTF8 int64
}

// Run reads the sources in order and calls emit with each row group, in
// order: one, or more if the rows do not fit under the ceiling. Sources
// without rows give one row group of none. Damaged input is a *damage.Error
// that names file, offset and, for rows, field. When Run returns, its
// goroutines have ended and every spill that was not given to emit is closed.
func Run(ctx context.Context, sources []Source, cfg Config, emit func(RowGroup) error) (Stats, error) {
	if cfg.Workspaces == nil {
		cfg.Workspaces = new(Workspaces)
		defer cfg.Workspaces.Close()
	}
	if cfg.Memory == 0 {
		cfg.Memory = defaultMemory
	}
	t := newTask(&cfg, sources, emit)
	if cfg.RowSink != nil {
		if err := t.openSink(); err != nil {
			cfg.Workspaces.giveBack(t.workspace)
			return Stats{}, err
		}
	}
	last, err := t.run(ctx)
	if err == nil && last != nil {
		err = emit(*last)
	}
	return t.stats, err
}

// lose records damage that the configuration allows, or returns it.
func (t *task) lose(src Source, lost ocf.Range, rows int64, cause error) error {
	if t.cfg.OnDamage == Quarantine {
		if err := t.cfg.Quarantine(src, lost); err != nil {
			return fmt.Errorf("quarantine %s, bytes %d to %d: %w", src.Name, lost.Start, lost.End, err)
		}
	}
	t.stats.Losses = append(t.stats.Losses, Loss{src.Name, lost, rows, cause.Error()})
	t.stats.Bytes += lost.Len()
	t.lostRows += max(rows, 1)
	//guard: more rows would be lost than was allowed
	if t.cfg.MaxLostRows >= 0 && t.lostRows > t.cfg.MaxLostRows {
		return fmt.Errorf("more than %d rows lost to damage, the last at: %w", t.cfg.MaxLostRows, cause)
	}
	return nil
}

// locate completes the error of a row with the place of its block.
func locate(err error, src Source, b *ocf.Block, row int64, before int) error {
	d, ok := err.(*damage.Error)
	if !ok {
		return err
	}
	at := *d
	at.File, at.Row, at.Offset = src.Name, row, b.Offset
	at.Reason = fmt.Sprintf("%s (byte %d of the rows of the block at this offset)", d.Reason, int64(before)+d.Offset)
	return &at
}
