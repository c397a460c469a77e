package mapper

import (
	"fmt"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format/damage"
)

// OnDamage says what a task does when its input is damaged.
type OnDamage uint8

// Fail ends the task at the first damage. Skip leaves out the damaged block, or the
// bytes up to the next sync marker, and goes on. Quarantine does the same after it
// has called Config.Quarantine with the range.
const (
	Fail OnDamage = iota
	Skip
	Quarantine
)

const (
	// maxEmptyRows bounds the rows of one input block that may take no bytes. The
	// block's size does not bound their number.
	maxEmptyRows = 1 << 24
	// maxEmptyItems bounds the array items of one input block that take no bytes.
	// The block's size does not bound their number either.
	maxEmptyItems = 1 << 24
)

// checkRows rejects a block that cannot hold as many rows as it states.
func (t *task) checkRows(b *inputBlock, src Source) error {
	if b.block.Rows == 0 {
		return nil
	}
	minRow := t.minRow
	if src.Resolution != nil {
		minRow = src.Resolution.MinRowSize()
	}
	if minRow > 0 {
		//guard: rejects a count that the bytes contradict
		if most := int64(len(b.rows) / minRow); b.block.Rows > most {
			return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows of at least %d bytes, but holds %d bytes",
				b.block.Rows, minRow, len(b.rows))
		}
		return nil
	}
	//guard: bounds the rows without bytes
	if b.block.Rows > maxEmptyRows {
		return damage.New(damage.Count, src.Name, b.block.Offset, "block says %d rows that may take no bytes; at most %d are allowed",
			b.block.Rows, maxEmptyRows)
	}
	return nil
}

// recordLoss records damage that the configuration allows, or returns it.
func (t *task) recordLoss(src Source, lost ocf.Range, rows int64, cause error) error {
	if t.cfg.OnDamage == Quarantine {
		if err := t.cfg.Quarantine(src, lost); err != nil {
			return fmt.Errorf("quarantine %s, bytes %d to %d: %w", src.Name, lost.Start, lost.End, err)
		}
	}
	t.stats.Losses = append(t.stats.Losses, Loss{src.Name, lost, rows, cause.Error()})
	t.lostRows += max(rows, 1)
	//guard: bounds the rows that may be lost
	if t.cfg.MaxLostRows >= 0 && t.lostRows > t.cfg.MaxLostRows {
		return fmt.Errorf("more than %d rows lost to damage, the last at: %w", t.cfg.MaxLostRows, cause)
	}
	return nil
}

// locate adds the place of the block to the error of a row.
func locate(err error, src Source, b *ocf.Block, row int64, before int) error {
	if _, ok := err.(*damage.Error); !ok {
		return fmt.Errorf("%s: row %d of the block at offset %d: %w", src.Name, row, b.Offset, err)
	}
	return b.InRow(err, src.Name, row, before)
}
