package dataset

import (
	"io"
	"io/fs"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// file is a stored file that is opened when it is read first, as of a part with a file
// per column a query needs few, and again if it was closed for others.
type file struct {
	name  string
	size  int64 // negative until it is opened, if it is not known
	open  func() (store.File, error)
	among *budget.Files

	handle budget.File
	opened bool           // once
	is     store.Identity // since then
}

// take returns the open file for a read, after which it is to be released.
func (f *file) take() (store.File, error) {
	stored, err := f.among.Acquire(&f.handle, f.begin)
	if err != nil {
		return nil, err
	}
	return stored.(store.File), nil
}

func (f *file) release() { f.among.Release(&f.handle) }

// begin opens the file, which must be the one that is expected.
func (f *file) begin() (io.Closer, error) {
	stored, err := f.open()
	if err != nil {
		return nil, err
	}
	if err := f.check(stored); err != nil {
		_ = stored.Close() // only read
		return nil, err
	}
	f.opened, f.is, f.size = true, store.IdentityOf(stored), stored.Size()
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

// Close ends the use of the file, also by reads that have not ended.
func (f *file) Close() { f.among.Close(&f.handle) }

// listedFile is a file that a manifest lists beside the parts. It is a store.File.
type listedFile struct{ file }

// ReadRange implements store.RangeReader.
func (f *listedFile) ReadRange(p []byte, off int64) (int, error) { return f.readRange(p, off) }

// Close implements io.Closer.
func (f *listedFile) Close() error {
	f.file.Close()
	return nil
}
