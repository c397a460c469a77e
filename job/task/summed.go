package task

import (
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summedFile is an open input that computes the checksum of a piece while the piece is read. It
// includes each byte once, although the reader also looks ahead, and goes back after damage.
type summedFile struct {
	store.File
	found manifest.Input // the input as it was when it was opened
	end   int64          // end of the piece

	mu   sync.Mutex
	crc  uint32
	next int64 // offset of the first byte that is not in crc
}

// ReadAt implements io.ReaderAt.
func (s *summedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.File.ReadAt(p, off)
	s.mu.Lock()
	defer s.mu.Unlock()
	if to := min(off+int64(n), s.end); off <= s.next && s.next < to {
		s.crc = crc32.Update(s.crc, castagnoli, p[s.next-off:to-off])
		s.next = to
	}
	return n, err
}

// reads returns, for each piece of the task, its checksum and the state of its input.
func (a *attempt) reads() ([]manifest.Read, error) {
	reads := make([]manifest.Read, len(a.summed))
	for i, s := range a.summed {
		//guard: rejects a checksum that lacks the end of the piece
		if s.next != s.end {
			return nil, fmt.Errorf("%s: the bytes from %d to %d were not read", s.found.Path, s.next, s.end)
		}
		reads[i] = manifest.Read{CRC32C: s.crc, FileID: s.found.FileID, ModTime: s.found.ModTime, Recent: s.found.Recent}
	}
	return reads, nil
}
