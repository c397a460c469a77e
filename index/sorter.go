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
	at     uint32 // of the key in the memory, behind it the position
	size   uint32 // of the key
}

const entrySize = 16

// sorter sorts the keys of rows, in bounded memory: what does not fit is written to runs in a
// local directory.
type sorter struct {
	dir     string
	limit   int // bytes of memory and entries together
	memory  []byte
	entries []entry
	runs    []string // paths
	made    int      // runs so far, for their names
}

func newSorter(dir string, limit int) *sorter { return &sorter{dir: dir, limit: limit} }

// add takes the key of a row. Rows come in the order of their positions.
func (s *sorter) add(key []byte, p Position) error {
	if len(s.memory)+len(key)+positionSize+entrySize*(len(s.entries)+1) > s.limit && len(s.entries) > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.memory == nil {
		s.memory = make([]byte, 0, s.limit/2)
		s.entries = make([]entry, 0, s.limit/2/entrySize)
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
		if c := bytes.Compare(s.memory[a.at:a.at+a.size], s.memory[b.at:b.at+b.size]); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
}

// flush writes what is in memory to a run.
func (s *sorter) flush() error {
	s.sort()
	name := s.newRun()
	if err := writeRun(name, hfile.WriterOptions{BlockSize: runBlock}, func(w *cellWriter) error {
		for _, e := range s.entries {
			end := e.at + e.size
			if err := w.write(s.memory[e.at:end], s.memory[end:end+positionSize]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	s.runs = append(s.runs, name)
	s.memory, s.entries = s.memory[:0], s.entries[:0]
	return nil
}

func (s *sorter) newRun() string {
	s.made++
	return filepath.Join(s.dir, fmt.Sprintf("run-%06d", s.made))
}

// finish writes all keys in their order to a file, with some file info, and gives the memory
// back.
func (s *sorter) finish(ctx context.Context, name string, info hfile.Info) error {
	if len(s.entries) > 0 || len(s.runs) == 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.memory, s.entries = nil, nil
	sources := make([]source, len(s.runs))
	for i, run := range s.runs {
		sources[i] = localRun(run)
	}
	m := &merger{dir: s.dir, most: fanIn(s.limit), sources: sources}
	return writeRun(name, hfile.WriterOptions{BlockSize: runBlock, Info: info}, func(w *cellWriter) error {
		return m.run(ctx, func(key hfile.Key) error { return w.w.Append(key, nil) })
	})
}

// cellWriter writes the cells of a run.
type cellWriter struct {
	w   *hfile.Writer
	key hfile.Key
}

// write writes the cell of a row.
func (c *cellWriter) write(key, position []byte) error {
	c.key = hfile.AppendKey(c.key[:0], key, nil, position, hfile.LatestTimestamp, hfile.Put)
	return c.w.Append(c.key, nil)
}

// writeRun writes a local file of the cells that fill writes.
func writeRun(name string, o hfile.WriterOptions, fill func(w *cellWriter) error) error {
	//guard: the disk would be filled to its last byte
	if err := spill.CheckFree(filepath.Dir(name), diskReserve); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	out := &buffered{f: f}
	w, err := hfile.NewWriter(out, o)
	if err == nil {
		err = fill(&cellWriter{w: w})
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = out.flush()
	}
	return errors.Join(err, f.Close())
}

// buffered is a file that is written in large pieces.
type buffered struct {
	f         *os.File
	b         []byte
	unchecked int
}

const (
	writeSize  = 64 << 10
	checkEvery = 16 << 20
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
	if b.unchecked >= checkEvery {
		b.unchecked = 0
		//guard: the disk would be filled to its last byte
		return spill.CheckFree(filepath.Dir(b.f.Name()), diskReserve)
	}
	return nil
}
