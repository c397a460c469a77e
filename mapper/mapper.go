package mapper

import (
	"context"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// Config is what a task needs besides its input. Workers, Memory, Pool and
// Workspaces do not shape the result.
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
	// Memory is how many bytes to take besides the open blocks of the columns. The
	// caller has reserved it: half for input blocks and unusually large values, a
	// quarter for column blocks that are being encoded.
	Memory int64
	// Pool lends memory for input blocks, values and resolved rows that do not fit
	// Memory. A request that does not fit the pool fails with a *budget.Error, for
	// every OnDamage. nil is a pool without a limit.
	Pool *budget.Pool
	// MaxOpen is the most sources that are open at a time. 0 leaves it to the number
	// of blocks under way.
	MaxOpen int
	// Workspaces, if set, lends the memory of earlier tasks and takes it back.
	Workspaces *Workspaces
	// RowSink, if set, takes the rows in addition to their columns.
	RowSink RowSink
	// Spill is where the columns go.
	Spill *spill.Folder
	// SpillOptions bound each row group's spill.
	SpillOptions spill.Options
	// Progress, if set, is called after each input block, and now and then within a large
	// one, with the rows and the stored input bytes since the last call.
	// Several goroutines may call it at once.
	Progress func(rows, bytes int64)
}

// RowSink takes the rows of a task, with any format of the columns.
type RowSink interface {
	// Keys returns the paths of the fields whose values each Row has: see
	// shred.NewKeyShredder.
	Keys() []string
	// Row takes the next row. It does not get rows that are lost to damage.
	Row(r *Row) error
}

// Row is a row on its way to the columns. It is valid during the call that takes
// it.
type Row struct {
	Group  int      // number of its row group in the task, from 0
	Number int64    // in the row group, from 0
	Keys   [][]byte // values of the fields that RowSink.Keys names, as Avro encodes them
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
	Losses []Loss
	// InvalidUTF8 counts string values that are not UTF-8 and were copied as
	// they are.
	InvalidUTF8 int64
	// Inexact counts values that were resolved and are not what they were.
	Inexact shred.Inexact
}

// Run reads the sources in order and calls emit with each row group, in
// order: one, or more if the rows do not fit under the ceiling. Sources
// without rows give one row group without rows. Damaged input is a *damage.Error
// that names file, offset and, for rows, field. When Run returns, its
// goroutines have ended and every spill that emit did not get is closed.
func Run(ctx context.Context, sources []Source, cfg Config, emit func(RowGroup) error) (Stats, error) {
	if cfg.Workspaces == nil {
		cfg.Workspaces = new(Workspaces)
		defer cfg.Workspaces.Close()
	}
	t := newTask(&cfg, sources, emit)
	if cfg.RowSink != nil {
		if err := t.openSink(); err != nil {
			cfg.Workspaces.release(t.workspace)
			return Stats{}, err
		}
	}
	err := t.run(ctx)
	return t.stats, err
}
