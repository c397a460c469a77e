package cluster

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/store"
)

// BlockSize chooses block sizes for files that must be one block. Its zero value has no
// minimum.
type BlockSize struct{ least atomic.Int64 }

const blockUnit = 1 << 20 // bytes; a multiple of every usual number of bytes per checksum

// For returns a block size for a file of size bytes. It is the smallest whole number of MiB that
// holds the file and that name nodes accept. Unless bytesPerChecksum is 0, it is a multiple of
// bytesPerChecksum. A block uses no more space than its bytes, even if the block size is larger.
func (b *BlockSize) For(size, bytesPerChecksum int64) int64 {
	n := roundUp(max(size, b.least.Load(), 1), blockUnit)
	if bytesPerChecksum > 0 {
		n = roundUp(n, bytesPerChecksum)
	}
	return n
}

// roundUp returns the next multiple of unit. If that is too large, it returns the largest multiple.
func roundUp(n, unit int64) int64 {
	return (min(n, math.MaxInt64-unit) + unit - 1) / unit * unit
}

// tooSmall matches a name node's refusal of a block size, with or without that size.
var tooSmall = lazyregexp.New(`min-block-size(?:=|\): \d+ < )(\d+)`)

// Learn reads the minimum block size from the message of an exception. It reports whether the
// minimum is above the block size that was asked for. A call with the result of For may then
// succeed.
func (b *BlockSize) Learn(message string, asked int64) bool {
	m := tooSmall.FindStringSubmatch(message)
	if m == nil {
		return false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	//guard: bounds how often a name node is asked
	if err != nil || n <= asked {
		return false
	}
	for least := b.least.Load(); least < n && !b.least.CompareAndSwap(least, n); {
		least = b.least.Load()
	}
	return true
}

// Stored describes a written file, as the name node reports it.
type Stored struct {
	Length    int64
	BlockSize int64
	Blocks    int
	// Open is whether the file is not closed yet, or a data node has not confirmed its last
	// block. If Known is false, Open and Blocks are not known.
	Open, Known bool
	Striped     bool // the file is erasure coded, over several blocks at a time
}

// Settle polls a file of n bytes until it is closed, for at most limit. It checks that the file has
// all bytes. If oneBlock is set, they must be in one block. look returns the state of the file.
func Settle(ctx context.Context, limit time.Duration, n int64, oneBlock bool, look func() (Stored, error)) error {
	end := time.Now().Add(limit)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		f, err := look()
		if err != nil {
			return err
		}
		late := time.Now().After(end)
		switch {
		//guard: refuses to commit a striped file
		case f.Striped:
			return store.ErrErasureCoded
		//guard: refuses to commit a file of two blocks
		case !f.Open && f.Length == n && oneBlock && (f.BlockSize < n || f.Blocks > 1):
			return fmt.Errorf("%d bytes are in %d blocks of %d: %w", n, f.Blocks, f.BlockSize, store.ErrMismatch)
		case !f.Open && f.Length == n:
			return nil
		//guard: refuses to commit a file that lost bytes
		case !f.Open && (f.Known || late):
			return fmt.Errorf("length %d after writing %d bytes: %w", f.Length, n, store.ErrMismatch)
		//guard: bounds the wait for the last block
		case late:
			return fmt.Errorf("no data node has confirmed the last block after %v: %w", limit, store.ErrUnavailable)
		}
		if err := store.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// CheckName refuses a name of a listing that would lead out of its directory.
func CheckName(name string) error {
	//guard: rejects a name that leads out of its directory (tests: ./store/webhdfs)
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return fmt.Errorf("the name node lists an invalid name: %q: %w", name, store.ErrUnavailable)
	}
	return nil
}
