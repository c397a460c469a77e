package index

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Position is where a row is in an output.
type Position struct {
	Task  uint32
	Group uint32 // row group in the task, from 0
	Row   uint32 // in the row group, from 0
}

// positionSize is the bytes of a position.
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

// positionOf returns the position of a row, or an error if it is beyond what an index counts.
func positionOf(task, group int, row int64) (Position, error) {
	//guard: refuses a position beyond 32 bits
	if task > math.MaxUint32 || group > math.MaxUint32 || row > math.MaxUint32 {
		return Position{}, fmt.Errorf("row %d of row group %d of task %d is beyond the %d that an index counts", row, group, task, uint32(math.MaxUint32))
	}
	return Position{uint32(task), uint32(group), uint32(row)}, nil
}
