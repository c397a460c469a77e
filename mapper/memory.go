package mapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// columnMemory is the approximate memory of a column besides its open block, in bytes.
const columnMemory = 1 << 10

// OpenBlocks returns the memory of the open blocks of all columns of a task and of its
// row group, in bytes.
func OpenBlocks(w format.Writer, blockSize, columns int) int64 {
	return int64(columns)*int64(column.BlockMemory(blockSize)+columnMemory) + w.Memory(columns, blockSize)
}

// memory lends a task the memory that depends on its input: for input blocks, resolved
// rows, and column blocks beyond their usual size.
type memory struct {
	share *budget.Share

	// Only the shredder waits for memory. It alone uses the fields below.
	ctx context.Context
	// flush ends the encoding of column blocks, which frees memory.
	flush func() error
	err   error // why a column block got no memory
}

// take waits for n bytes if the share has less. First it frees the memory that the task
// has beyond the share: otherwise two tasks could wait for each other forever.
func (m *memory) take(n int) ([]byte, error) {
	if b := m.share.Try(n); b != nil {
		return b, nil
	}
	if err := m.flush(); err != nil {
		return nil, err
	}
	return m.share.Take(m.ctx, n)
}

// Take implements column.Memory.
func (m *memory) Take(n int) []byte {
	b, err := m.take(n)
	var refused *budget.Error
	if errors.As(err, &refused) {
		refused.Need += int64(n) // the encoded bytes need as much
	}
	if err != nil {
		m.err = fmt.Errorf("a column's values of %d bytes: %w", n, err)
	}
	return b
}

// Give implements column.Memory.
func (m *memory) Give(b []byte) { m.share.Give(b) }
