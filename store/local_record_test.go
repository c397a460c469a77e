package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// The calls that a recorder records.
const (
	opCreate  = "create"
	opWrite   = "write"
	opSync    = "sync" // of a file
	opMkdir   = "mkdir"
	opRename  = "rename"
	opLink    = "link"
	opRemove  = "remove"
	opSyncDir = "sync directory"
)

// call is a call that succeeded. Names are relative to the recorder's directory.
type call struct {
	op, name string
	to       string // of a rename or link
	data     string // of a write
}

var errKilled = errors.New("killed")

// recorder is the operating system below one directory. It records the calls that
// changed something. It can end the process at a call, and lack features that some file
// systems lack.
type recorder struct {
	kernel
	t     *testing.T
	dir   string
	calls []call

	noFlag bool // renameat2 does not know RENAME_NOREPLACE
	// killAt is the first call that fails, like all after it; counted from 1.
	killAt int
	// failSync is the sync that fails, counted from 1.
	failSync     int
	begun, syncs int
}

func (r *recorder) begin() error {
	r.begun++
	if r.killAt > 0 && r.begun >= r.killAt {
		return errKilled
	}
	return nil
}

func (r *recorder) name(p string) string {
	name, err := filepath.Rel(r.dir, p)
	if err != nil {
		r.t.Fatal(err)
	}
	return name
}

// done records a call, unless it failed.
func (r *recorder) done(err error, c call) error {
	if err == nil {
		c.name = r.name(c.name)
		if c.to != "" {
			c.to = r.name(c.to)
		}
		r.calls = append(r.calls, c)
	}
	return err
}

func (r *recorder) create(name string) (file, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	f, err := r.kernel.create(name)
	return &recordedFile{f, r}, r.done(err, call{op: opCreate, name: name})
}

func (r *recorder) mkdir(name string) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.done(r.kernel.mkdir(name), call{op: opMkdir, name: name})
}

func (r *recorder) rename(from, to string) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.done(r.kernel.rename(from, to), call{op: opRename, name: from, to: to})
}

func (r *recorder) renameNoReplace(from, to string) error {
	if r.noFlag {
		return syscall.EINVAL
	}
	if err := r.begin(); err != nil {
		return err
	}
	return r.done(r.kernel.renameNoReplace(from, to), call{op: opRename, name: from, to: to})
}

func (r *recorder) link(from, to string) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.done(r.kernel.link(from, to), call{op: opLink, name: from, to: to})
}

func (r *recorder) remove(name string) error {
	if err := r.begin(); err != nil {
		return err
	}
	return r.done(r.kernel.remove(name), call{op: opRemove, name: name})
}

// removeAll removes files one by one, in an order that os.RemoveAll could choose.
func (r *recorder) removeAll(name string) error {
	var names []string
	err := filepath.WalkDir(name, func(p string, _ fs.DirEntry, err error) error {
		names = append(names, p)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, p := range slices.Backward(names) {
		if err == nil {
			err = r.remove(p)
		}
	}
	return err
}

func (r *recorder) openDir(name string) (directory, error) {
	d, err := r.kernel.openDir(name)
	if err != nil {
		return nil, err
	}
	return &recordedDir{d, r, name}, nil
}

// sync only records the call, so that the test does not wait for the disk.
func (r *recorder) sync(c call) error {
	if err := r.begin(); err != nil {
		return err
	}
	if r.syncs++; r.syncs == r.failSync {
		return syscall.EIO
	}
	if !filepath.IsLocal(r.name(c.name)) {
		return nil // directories above are not recorded
	}
	return r.done(nil, c)
}

type recordedDir struct {
	directory
	r    *recorder
	name string
}

func (d *recordedDir) Sync() error {
	return d.r.sync(call{op: opSyncDir, name: d.name})
}

type recordedFile struct {
	file
	r *recorder
}

func (f *recordedFile) Write(p []byte) (int, error) {
	if err := f.r.begin(); err != nil {
		return 0, err
	}
	n, err := f.file.Write(p)
	return n, f.r.done(err, call{op: opWrite, name: f.Name(), data: string(p[:n])})
}

func (f *recordedFile) ReadFrom(src io.Reader) (int64, error) {
	if err := f.r.begin(); err != nil {
		return 0, err
	}
	n, err := f.file.ReadFrom(src)
	all, readErr := os.ReadFile(f.Name())
	if readErr != nil {
		f.r.t.Fatal(readErr)
	}
	return n, f.r.done(err, call{op: opWrite, name: f.Name(), data: string(all[int64(len(all))-n:])})
}

func (f *recordedFile) Sync() error {
	return f.r.sync(call{op: opSync, name: f.Name()})
}
