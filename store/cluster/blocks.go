package cluster

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// BlockSize chooses block sizes for files that must be one block. Its zero value has no
// minimum.
type BlockSize struct{ least atomic.Int64 }

const blockUnit = 1 << 20 // bytes; a multiple of every usual bytes per checksum

// For returns a block size for a file of size bytes: the smallest whole number of MiB
// that holds it and that name nodes accept, and a multiple of bytesPerChecksum unless
// that is 0. It is a limit; a block takes no more space than its bytes.
func (b *BlockSize) For(size, bytesPerChecksum int64) int64 {
	n := roundUp(max(size, b.least.Load(), 1), blockUnit)
	if bytesPerChecksum > 0 {
		n = roundUp(n, bytesPerChecksum)
	}
	return n
}

// roundUp returns the next multiple of unit, the largest one if there is none.
func roundUp(n, unit int64) int64 {
	return (min(n, math.MaxInt64-unit) + unit - 1) / unit * unit
}

// tooSmall matches a name node's refusal of a block size, with or without that size.
var tooSmall = regexp.MustCompile(`min-block-size(?:=|\): \d+ < )(\d+)`)

// Learn takes the minimum from the message of an exception. It reports whether the minimum
// is above the block size that was asked for, so that another call with For succeeds.
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
	// Open is whether it is not closed yet, or waits for a data node to confirm its
	// last block. Without Known, Open and the number of blocks are unknown.
	Open, Known bool
	Striped     bool // over several blocks at a time
}

// Settle polls a file of n bytes until it is closed, for at most limit, and checks that
// it has all bytes, in one block if oneBlock is set.
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
