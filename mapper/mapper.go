package mapper

import (
	"context"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// Config configures a task. The fields from Workers on do not change the bytes of
// the outputs, but a task that lacks memory or disk space fails.
type Config struct {
	Mapping *shred.Mapping
	Writer  format.Writer
	// RowGroupSize is the size of a row group's outputs, in bytes, at which the row
	// group ends. Its last row is the first that takes it beyond this size. At the
	// latest it ends after about 2^28 rows: see maxGroupRows.
	RowGroupSize int64
	// RowGroupRows, if it is positive, is the most rows of a row group. It has no meaning for
	// formats of whole rows.
	RowGroupRows int64
	// BlockSize is the size in bytes at which a column's block is closed, at
	// the end of a row.
	BlockSize int
	// MaxInputBlock limits the size in bytes of a decompressed input block, and of a
	// row after its resolution to another schema.
	MaxInputBlock int64
	OnDamage      OnDamage
	// MaxLostRows is the most rows that may be lost before the task ends with an
	// error. If it is negative, there is no limit. Each loss counts as at least one
	// row, even if the number of its rows is unknown.
	MaxLostRows int64
	// Quarantine is called for each damaged range, if OnDamage says so.
	Quarantine func(src Source, lost ocf.Range) error
	// Workers is the number of goroutines that shred, decode and encode, at
	// least 1. One more goroutine reads the input.
	Workers int
	// Helpers, if set, also decode and encode.
	Helpers *Helpers
	// Memory is the number of bytes that the task uses besides the open blocks of
	// the columns. The caller has reserved this memory. Half is for input blocks
	// and unusually large values. A quarter is for column blocks that are being
	// encoded (with many columns they may take more), or for sorting whole rows. The
	// rest is for other memory, such as that of decoders.
	Memory int64
	// Pool lends memory for input blocks, values and resolved rows that do not fit
	// into Memory. A request that does not fit into the pool fails with a
	// *budget.Error, for every OnDamage. nil is a pool without a limit.
	Pool *budget.Pool
	// MaxOpen is the most sources that are open at the same time. If it is 0, only the
	// number of input blocks in memory limits the open sources.
	MaxOpen int
	// Workspaces, if set, lends the memory of earlier tasks and takes it back.
	Workspaces *Workspaces
	// RowSink, if set, gets the rows in addition to their columns.
	RowSink RowSink
	// Spill is the folder for the columns.
	Spill *spill.Folder
	// SpillOptions bound the spill of each row group.
	SpillOptions spill.Options
	// Progress, if set, is called after each input block, and sometimes within a large
	// block, with the rows and the stored input bytes since the last call. Several
	// goroutines may call it at the same time.
	Progress func(rows, bytes int64)
}

// RowSink gets the rows of a task. It works with every format that stores columns. With a
// format of whole rows, Run fails.
type RowSink interface {
	// Keys returns the paths of the fields whose values each Row has: see
	// shred.NewKeyShredder.
	Keys() []string
	// Row is called with each row in order, except rows that are lost to damage.
	Row(r *Row) error
}

// Row is a row for a RowSink. It is valid during the call of RowSink.Row.
type Row struct {
	Group  int      // number of the row's row group in the task, from 0
	Number int64    // number of the row in the row group, from 0
	Keys   [][]byte // values of the fields that RowSink.Keys names, as Avro encodes them
}

// RowGroup is a finished row group. The receiver closes the spill.
type RowGroup struct {
	Rows    int64
	Outputs []format.Output
	Spill   *spill.Spill
	// More is set if the task has not ended: it keeps its memory, and further rows may follow.
	More bool
}

// Loss is input that is not in the output.
type Loss struct {
	Source string // name of the input
	Range  ocf.Range
	Rows   int64 // number of lost rows, as the damaged block states it; -1 if it is unknown
	Reason string
}

// Stats is the result of a task.
type Stats struct {
	Rows   int64
	Losses []Loss
	// InvalidUTF8 counts string values that are not UTF-8 and were copied unchanged. If the
	// format refuses them, the first one ends the task.
	InvalidUTF8 int64
	// Inexact counts values that the resolution or the format could not keep unchanged.
	Inexact shred.Inexact
}

// Run reads the sources in order and calls emit with each row group, in order. It
// makes several row groups if the rows do not fit into one. Sources without rows
// give one row group without rows. If Run fails because the input is damaged, the
// error wraps a *damage.Error that names the file, the offset and, for a row, the
// field. When Run returns, its goroutines have ended, and every spill that emit
// did not get is closed.
func Run(ctx context.Context, sources []Source, cfg Config, emit func(RowGroup) error) (Stats, error) {
	if cfg.Workspaces == nil {
		cfg.Workspaces = new(Workspaces)
		defer cfg.Workspaces.Close()
	}
	t := newTask(&cfg, sources, emit)
	if err := t.openShredder(); err != nil {
		cfg.Workspaces.release(t.workspace)
		return Stats{}, err
	}
	err := t.run(ctx)
	return t.stats, err
}
