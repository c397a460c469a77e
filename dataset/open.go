package dataset

import (
	"io"
	"io/fs"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// file is a stored file that is opened at its first read. If a part has one file per
// column, a query needs few of them. The file may be closed so that another file can be
// opened, and is then opened again when it is needed.
type file struct {
	name string
	size int64 // negative if it is not known before the file is opened
	open func() (store.File, error)
	pool *budget.Files

	handle budget.File
	opened bool           // the file was opened at least once
	is     store.Identity // identity of the file that was opened first
}

// take returns the open file for a read. Release it after the read.
func (f *file) take() (store.File, error) {
	stored, err := f.pool.Acquire(&f.handle, f.begin)
	if err != nil {
		return nil, err
	}
	return stored.(store.File), nil
}

func (f *file) release() { f.pool.Release(&f.handle) }

// begin opens the file, and checks that it has the expected size and identity.
func (f *file) begin() (io.Closer, error) {
	stored, err := f.open()
	if err != nil {
		return nil, err
	}
	if err := f.check(stored); err != nil {
		_ = stored.Close() // only read
		return nil, err
	}
	if !f.opened {
		f.opened, f.is = true, store.IdentityOf(stored)
	}
	if f.size < 0 { // else Size may read f.size at the same time
		f.size = stored.Size()
	}
	return stored, nil
}

func (f *file) check(stored store.File) error {
	//guard: rejects a file that was replaced since it was opened
	if f.opened && store.IdentityOf(stored) != f.is {
		return &fs.PathError{Op: "read", Path: f.name, Err: store.ErrReplaced}
	}
	//guard: rejects a file that was cut or replaced
	if size := stored.Size(); f.size >= 0 && size != f.size {
		return damage.New(damage.Size, f.name, min(size, f.size), "the file has %d bytes, expected %d", size, f.size)
	}
	return nil
}

// Close ends the use of the file. Reads in progress fail.
func (f *file) Close() { f.pool.Close(&f.handle) }

// listedFile is a file that a manifest lists besides the parts. It is a store.File.
type listedFile struct{ file }

// ReadRange implements store.RangeReader.
func (f *listedFile) ReadRange(p []byte, off int64) (int, error) { return f.readRange(p, off) }

// Close implements io.Closer.
func (f *listedFile) Close() error {
	f.file.Close()
	return nil
}
