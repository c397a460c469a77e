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

// minBlock is the smallest size of column blocks, in bytes, that is chosen if memory is short.
const minBlock = 4 << 10

// Fits returns failure.Usage if a plan needs more memory than there is now. A memory of 0 is
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

// BlockSize returns the size of column blocks. If the open blocks fit the memory with the wanted
// size, it returns that. Otherwise it returns the largest power of two below the wanted size with
// which they fit, but at least minBlock.
func BlockSize(w format.Writer, want, columns int, memory int64) int {
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
