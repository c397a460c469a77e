package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/spill"
)

// Blocks of runs that are merged right away: small, so that many can be merged in little
// memory.
const runBlock = 16 << 10

// diskReserve is what sorting leaves free on the disk of the temporary directory.
const diskReserve = 16 << 20

// entry is a key in the memory of a sorter.
type entry struct {
	prefix uint64 // the key's first bytes, filled up with zeros: most comparisons end there
	offset uint32 // of the key in the memory; the position follows it
	size   uint32 // of the key, in bytes
}

const entrySize = 16

// sorter sorts the keys of rows, in bounded memory: what does not fit is written to runs in a
// local directory.
type sorter struct {
	dir     string
	limit   int // bytes of memory and entries together
	memory  []byte
	entries []entry
	runs    []source
}

func newSorter(dir string, limit int) *sorter { return &sorter{dir: dir, limit: limit} }

// add takes the key of a row. Rows come in the order of their positions.
func (s *sorter) add(key []byte, p Position) error {
	if s.memory == nil {
		s.memory = make([]byte, 0, s.limit/2)
		s.entries = make([]entry, 0, s.limit/2/entrySize)
	}
	//guard: the memory would grow beyond its limit
	if len(s.memory)+len(key)+positionSize > cap(s.memory) || len(s.entries) == cap(s.entries) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	var first [8]byte
	copy(first[:], key)
	s.entries = append(s.entries, entry{binary.BigEndian.Uint64(first[:]), uint32(len(s.memory)), uint32(len(key))})
	s.memory = p.append(append(s.memory, key...))
	return nil
}

// sort sorts what is in memory. Equal keys stay in the order of their rows, which is that in
// the memory.
func (s *sorter) sort() {
	slices.SortFunc(s.entries, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		if c := bytes.Compare(s.memory[a.offset:a.offset+a.size], s.memory[b.offset:b.offset+b.size]); c != 0 {
			return c
		}
		return cmp.Compare(a.offset, b.offset)
	})
}

// flush writes what is in memory to a run.
func (s *sorter) flush() error {
	path, err := s.write(nil)
	if err != nil {
		return err
	}
	s.runs = append(s.runs, localRun(path))
	s.memory, s.entries = s.memory[:0], s.entries[:0]
	return nil
}

// write writes what is in memory to a file, and returns its path.
func (s *sorter) write(info hfile.Info) (path string, err error) {
	s.sort()
	w := &runWriter{dir: s.dir}
	err = w.begin(info)
	var key hfile.Key
	for _, e := range s.entries {
		if err != nil {
			break
		}
		end := e.offset + e.size
		key = hfile.AppendKey(key[:0], s.memory[e.offset:end], nil, s.memory[end:end+positionSize], hfile.LatestTimestamp, hfile.Put)
		err = w.append(key)
	}
	return w.end(err)
}

// finish writes all keys in their order to a file, with some file info, and gives the memory
// back. It returns the file's path.
func (s *sorter) finish(ctx context.Context, info hfile.Info) (path string, err error) {
	defer func() { s.memory, s.entries = nil, nil }()
	if len(s.runs) == 0 {
		return s.write(info)
	}
	if err := s.flush(); err != nil {
		return "", err
	}
	s.memory, s.entries = nil, nil // for the runs that are open
	m := &merger{dir: s.dir, maxOpen: fanIn(s.limit), sources: s.runs}
	w := &runWriter{dir: s.dir}
	return w.end(m.run(ctx, func(int64) error { return w.begin(info) }, w.append))
}

// runWriter writes a run, a file in a local directory.
type runWriter struct {
	dir string
	f   *os.File
	out *buffered
	w   *hfile.Writer
}

// begin creates the file.
func (r *runWriter) begin(info hfile.Info) (err error) {
	if r.f, err = create(r.dir, diskReserve); err != nil {
		return err
	}
	r.out = &buffered{f: r.f}
	r.w, err = hfile.NewWriter(r.out, hfile.WriterOptions{BlockSize: runBlock, Info: info})
	return err
}

// append writes a cell.
func (r *runWriter) append(key hfile.Key) error { return r.w.Append(key, nil) }

// end completes and closes the file, and returns its path. err is what writing ended with.
func (r *runWriter) end(err error) (path string, _ error) {
	if r.f == nil {
		return "", err
	}
	if err == nil {
		err = r.w.Close()
	}
	if err == nil {
		err = r.out.flush()
	}
	return r.f.Name(), errors.Join(err, r.f.Close())
}

// create creates a file in a local directory, if so many bytes of its disk are free. Its name
// is a number, as spill.Folder asks for.
func create(dir string, free int64) (*os.File, error) {
	//guard: the disk would be filled to its last byte
	if err := spill.CheckFree(dir, free); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "*")
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return f, nil
}

// buffered is a file that is written in large pieces.
type buffered struct {
	f         *os.File
	b         []byte
	unchecked int
}

const (
	writeSize      = 64 << 10
	checkFreeEvery = 16 << 20
)

func (b *buffered) Write(p []byte) (int, error) {
	b.b = append(b.b, p...)
	if len(b.b) >= writeSize {
		if err := b.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (b *buffered) flush() error {
	n, err := b.f.Write(b.b)
	b.unchecked += n
	b.b = b.b[:0]
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if b.unchecked >= checkFreeEvery {
		b.unchecked = 0
		//guard: the disk would be filled to its last byte
		return spill.CheckFree(filepath.Dir(b.f.Name()), diskReserve)
	}
	return nil
}
