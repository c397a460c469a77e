package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

// clock adds up the CPU time of this process and the wall time of functions.
type clock struct{ cpu, wall time.Duration }

func (c *clock) time(do func() error) error {
	cpu, wall := processTime(), time.Now()
	err := do()
	c.cpu += processTime() - cpu
	c.wall += time.Since(wall)
	return err
}

// processTime returns the CPU time of this process so far.
func processTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // Linux has this clock
	}
	return time.Duration(t.Nano())
}

// spillMemory is the memory that a job gives a spill.
const spillMemory = 12 << 20

// stage is a part of a conversion that runs alone, on one goroutine.
type stage struct {
	name string
	run  func(*workload, *clock) error
}

// stages are the parts of a conversion, in its order.
var stages = []stage{
	{"scan", (*workload).scan},
	{"shred", (*workload).shred},
	{"encode", (*workload).encode},
	{"spill", (*workload).spill},
	{"write", (*workload).write},
}

// decode is the first half of the codec floor (see the package comment): it decompresses
// the input's blocks.
func (w *workload) decode(t *clock) error {
	return t.time(func() error {
		d, err := ocf.NewDecoder(w.codec, maxInputBlock)
		if err != nil {
			return err
		}
		var rows []byte
		for i := range w.stored {
			if rows, err = d.Decode(rows, &w.stored[i], w.input); err != nil {
				return err
			}
		}
		return nil
	})
}

// encode is a stage, and the second half of the codec floor: it compresses and
// checksums the column blocks.
func (w *workload) encode(t *clock) error {
	return t.time(func() error {
		for _, g := range w.groups {
			if _, err := g.encode(w.writer(), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// twoFloors runs the whole codec floor twice at the same time.
func (w *workload) twoFloors(t *clock) error {
	return t.time(func() error {
		var errs [2]error
		var both sync.WaitGroup
		for i := range errs {
			both.Go(func() {
				var unused clock
				errs[i] = errors.Join(w.decode(&unused), w.encode(&unused))
			})
		}
		both.Wait()
		return errors.Join(errs[:]...)
	})
}

// scan reads the input's files and decompresses their blocks.
func (w *workload) scan(t *clock) error {
	return t.time(func() error {
		d, err := ocf.NewDecoder(w.codec, maxInputBlock)
		if err != nil {
			return err
		}
		var rows []byte
		for _, name := range w.files {
			err := scanFile(name, func(_ *ocf.Header, b *ocf.Block) (err error) {
				rows, err = d.Decode(rows, b, name)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// shred walks the decoded rows and fills column blocks, which it drops.
func (w *workload) shred(t *clock) error {
	return t.time(func() error {
		bufs := column.NewBuffers(w.mapping.Columns, w.writer().Layout(), w.blockSize)
		s := shred.NewShredder(w.mapping, bufs)
		var done column.Block
		var row int64
		for i, rest := range w.decoded {
			for range w.stored[i].Rows {
				n, err := s.Row(rest)
				if err != nil {
					return err
				}
				rest = rest[n:]
				row++
				if due := bufs.Due(); len(due) > 0 {
					for _, col := range due {
						bufs.Cols[col].Finish(row, &done)
					}
					bufs.ClearDue()
				}
			}
		}
		return nil
	})
}

// spill adds the stored blocks of each row group to a spill, and closes the spill. Bytes that
// the spill does not hold in memory go to temporary files.
func (w *workload) spill(t *clock) error {
	return w.spilled(func(folder *spill.Folder, g *rowGroup) error {
		return t.time(func() error {
			s, err := g.spill(folder)
			if err != nil {
				return err
			}
			return s.Close()
		})
	})
}

// write makes the outputs from spilled blocks and verifies them.
func (w *workload) write(t *clock) error {
	return w.spilled(func(folder *spill.Folder, g *rowGroup) error {
		s, err := g.spill(folder)
		if err != nil {
			return err
		}
		for _, out := range g.outputs {
			path := filepath.Join(w.dir, "written"+out.Name)
			err = errors.Join(err, t.time(func() error {
				_, err := reducer.Write(context.Background(), store.Local(), func() string { return path }, out, s)
				return err
			}), os.Remove(path))
		}
		return errors.Join(err, s.Close())
	})
}

// spilled calls do for each row group with a folder for its spill.
func (w *workload) spilled(do func(*spill.Folder, *rowGroup) error) error {
	folder, err := spill.OpenFolder(w.dir)
	if err != nil {
		return err
	}
	for _, g := range w.groups {
		err = errors.Join(err, do(folder, g))
	}
	return errors.Join(err, folder.Close())
}

// spill returns a spill of the group's stored blocks.
func (g *rowGroup) spill(folder *spill.Folder) (*spill.Spill, error) {
	s, err := folder.New(len(g.columns), spill.Options{Memory: spillMemory})
	if err != nil {
		return nil, err
	}
	for i, stored := range g.stored {
		if err := s.Append(g.blocks[i].column, stored); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}
