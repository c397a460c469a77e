package plan

import (
	"cmp"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// DefaultMemory is the default memory budget of a request, in bytes.
const DefaultMemory = 512 << 20

// minBlock is the smallest size of column blocks that is chosen if memory is short.
const minBlock = 4 << 10

// Fits refuses a plan that needs more memory than there is now; a memory of 0 is
// DefaultMemory.
func Fits(p *manifest.Plan, formats format.Registry, memory int64) error {
	memory = cmp.Or(memory, DefaultMemory)
	w, err := formats.Writer(p.Request.Options.Format, p.Request.Options.FormatOptions)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	//guard: refuses a plan that needs more memory than there is
	if need := leastMemory(w, p.BlockSize, p.Columns); need > memory {
		return failure.New(failure.Usage, "the plan %s that is to be resumed: %d columns with blocks of %d bytes: %s; --restart plans anew",
			p.ID, p.Columns, p.BlockSize, budget.TooLittle(need, memory))
	}
	return nil
}

// leastMemory returns the bytes that tasks need for their columns: the open blocks, and
// half as much for everything else.
func leastMemory(w format.Writer, blockSize, columns int) int64 {
	return int64(columns)*int64(blockSize)*3/2 + w.Memory(columns, blockSize)
}

// blockSize returns the size of column blocks: the wanted size if the open blocks then fit
// the memory, or else the largest power of two below it with which they do. It lowers a
// size to no less than 4 KiB.
func blockSize(w format.Writer, want, columns int, memory int64) int {
	fits := func(size int) bool { return leastMemory(w, size, columns) <= memory }
	if want <= minBlock || fits(want) {
		return want
	}
	size := minBlock
	for size*2 < want && fits(size*2) {
		size *= 2
	}
	return size
}
