package index

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Position is the position of a row in an output.
type Position struct {
	Task  uint32
	Group uint32 // row group in the task, from 0
	Row   uint32 // row in the row group, from 0
}

// positionSize is the size of a position in bytes.
const positionSize = 12

func (p Position) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, p.Task)
	dst = binary.BigEndian.AppendUint32(dst, p.Group)
	return binary.BigEndian.AppendUint32(dst, p.Row)
}

// parsePosition reads a position of positionSize bytes.
func parsePosition(b []byte) Position {
	return Position{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
}

// positionOf returns the position of a row, or an error if a number exceeds 32 bits.
func positionOf(task, group int, row int64) (Position, error) {
	//guard: refuses a position beyond 32 bits
	if task > math.MaxUint32 || group > math.MaxUint32 || row > math.MaxUint32 {
		return Position{}, fmt.Errorf("row %d of row group %d of task %d: an index has numbers up to %d", row, group, task, uint32(math.MaxUint32))
	}
	return Position{uint32(task), uint32(group), uint32(row)}, nil
}
