package plan

import (
	"cmp"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// DefaultMemory is the memory budget of a request that names none, in bytes.
const DefaultMemory = 512 << 20

// minBlock is the least size of column blocks that is chosen for want of memory.
const minBlock = 4 << 10

// Fits refuses a plan that was made with more memory than there is now; 0 is
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

// leastMemory is what tasks need for their columns, in bytes: the open blocks, and
// half as much for all else.
func leastMemory(w format.Writer, blockSize, columns int) int64 {
	return int64(columns)*int64(blockSize)*3/2 + w.Memory(columns, blockSize)
}

// blockSize returns the size of column blocks: what is wanted, or the largest
// power of two below it with which the open blocks fit the memory; but not less
// than 4 KiB.
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
