package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/spill"
)

const (
	// diskReserve is the number of bytes left free on the disk of the temporary directory.
	diskReserve = 16 << 20
	// spillBuffer is the memory of a spill. An index has two spills.
	spillBuffer = 64 << 10
	// typicalKey is the assumed size of a key with its position, in bytes, to divide memory.
	typicalKey = 24
	// sideBlock is the size of the blocks of side files.
	sideBlock = 16 << 10
	// maxSideBlock bounds the blocks that are read of a side file. It exceeds every block, even
	// with the longest key, and all that opening a side file reads.
	maxSideBlock = 1 << 20
)

var spillOptions = spill.Options{Reserve: diskReserve, Memory: spillBuffer}

// newSorter returns a sorter that sorts positions by keys. memory bounds the memory of the sorter
// and of the spill that is written at the same time.
func newSorter(local *spill.Folder, memory int64) *spill.Sorter {
	s := spill.NewSorter(memory-2*spillBuffer, typicalKey, func(n int) ([]byte, error) { return make([]byte, n), nil }, func([]byte) {})
	s.Start(local, spillOptions)
	return s
}

// localFile is an HFile of positions by keys in a spill, which the creator closes.
type localFile struct {
	*hfile.Writer
	spill *spill.Spill
	key   hfile.Key // key of the last cell
}

func createLocal(local *spill.Folder, o hfile.WriterOptions) (*localFile, error) {
	sp, err := local.New(1, spillOptions)
	if err != nil {
		return nil, err
	}
	w, err := hfile.NewWriter(sp.Writer(0), o)
	if err != nil {
		return nil, errors.Join(err, sp.Close())
	}
	return &localFile{Writer: w, spill: sp}, nil
}

// cell returns the key of a cell, which is valid until the next call.
func (f *localFile) cell(key, position []byte) hfile.Key {
	f.key = hfile.AppendKey(f.key[:0], key, nil, position, hfile.LatestTimestamp, hfile.Put)
	return f.key
}

// add appends a cell.
func (f *localFile) add(key, position []byte) error { return f.Append(f.cell(key, position), nil) }

// end completes the file and returns it with the name under which to store it.
func (f *localFile) end(name string) (task.NewFile, error) {
	if err := f.Writer.Close(); err != nil {
		return task.NewFile{}, err
	}
	return task.NewFile{Name: name, Content: f.spill.Reader(0)}, nil
}

// readSide calls add with the cells of a side file, and returns the number of rows without a key.
func readSide(ctx context.Context, side *task.SideFile, add func(key, position []byte) error) (nulls int64, err error) {
	f := new(openFile)
	if f.file, err = side.Open(ctx); err != nil {
		return 0, err
	}
	defer f.close()
	name := fmt.Sprintf("the keys of task %d", side.Task)
	if f.r, err = hfile.Open(f.file, f.file.Size(), hfile.OpenOptions{Name: name, MaxBlock: maxSideBlock}); err != nil {
		return 0, err
	}
	f.s = f.r.Scan()
	if nulls, err = nullsOf(f.r); err != nil {
		return 0, err
	}
	var position []byte
	for n := 0; f.s.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		p, err := f.position()
		if err == nil {
			position = p.append(position[:0])
			err = add(f.s.Key().Row(), position)
		}
		if err != nil {
			return 0, err
		}
	}
	return nulls, f.s.Err()
}
