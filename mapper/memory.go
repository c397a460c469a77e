package mapper

import "github.com/rowtocol/rowtocol/format"

// OpenBlocks is the memory of the open blocks of all columns of a task, half as
// much again for those that are being encoded, and what the row group takes beside
// them, in bytes.
func OpenBlocks(w format.Writer, blockSize, columns int) int64 {
	return int64(columns)*int64(blockSize)*3/2 + w.Memory(columns, blockSize)
}

// BlockMemory is the most bytes, of a memory of so many, that an input block may
// decompress to, or one of its rows be resolved to. A single value can fill it,
// and is then there three times: in the block or the resolved row, in its column
// and encoded.
func BlockMemory(memory int64) int64 { return memory / 3 }
