package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/iceberg-go/catalog/hadoop"
	iceio "github.com/apache/iceberg-go/io"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Resolver finds the store and the path of a location.
type Resolver func(location string) (store.Location, error)

var (
	register sync.Once
	resolver atomic.Pointer[Resolver]
)

// Use makes iceberg-go use the stores that resolve finds, in place of its own access to files.
func Use(resolve Resolver) {
	resolver.Store(&resolve)
	register.Do(func() {
		for _, scheme := range []string{"", "file", "hdfs", "webhdfs", "swebhdfs"} {
			iceio.Unregister(scheme)
			iceio.Register(scheme, func(ctx context.Context, _ *url.URL, _ map[string]string) (iceio.IO, error) {
				return &FS{ctx: ctx, resolve: *resolver.Load()}, nil
			})
		}
	})
}

// FS is the iceio.IO of all stores.
type FS struct {
	ctx     context.Context
	resolve Resolver
}

var _ hadoop.HadoopCatalogFS = (*FS)(nil)

// NewFS returns an FS. ctx bounds its calls.
func NewFS(ctx context.Context, resolve Resolver) *FS { return &FS{ctx, resolve} }

// Open implements iceio.IO.
func (f *FS) Open(name string) (iceio.File, error) {
	at, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := at.Store.Stat(f.ctx, at.Path)
	if err != nil {
		return nil, err
	}
	opened, err := at.Store.Open(f.ctx, at.Path)
	if err != nil {
		return nil, err
	}
	return newFile(opened, info), nil
}

// ReadFile implements iceio.ReadFileIO.
func (f *FS) ReadFile(name string) ([]byte, error) {
	at, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	return at.Store.ReadFile(f.ctx, at.Path, manifest.MaxSize)
}

// Create implements iceio.WriteFileIO.
func (f *FS) Create(name string) (iceio.FileWriter, error) {
	return &newContent{fs: f, name: name}, nil
}

// WriteFile implements iceio.WriteFileIO. It makes the directory of the file.
func (f *FS) WriteFile(name string, content []byte) error {
	at, err := f.resolve(name)
	if err != nil {
		return err
	}
	err = at.Store.WriteFile(f.ctx, at.Path, content, false)
	if errors.Is(err, store.ErrNoParent) || errors.Is(err, store.ErrNotExist) {
		if err = mkdirAll(f.ctx, at.Store, path.Dir(at.Path)); err == nil {
			err = at.Store.WriteFile(f.ctx, at.Path, content, false)
		}
	}
	return err
}

// Remove implements iceio.IO.
func (f *FS) Remove(name string) error {
	at, err := f.resolve(name)
	if err != nil {
		return err
	}
	return at.Store.Remove(f.ctx, at.Path)
}

// RemoveAll implements iceio.RemoveAllIO.
func (f *FS) RemoveAll(name string) error {
	at, err := f.resolve(name)
	if err != nil {
		return err
	}
	return at.Store.RemoveAll(f.ctx, at.Path)
}

// MkdirAll implements iceio.MkdirAllIO.
func (f *FS) MkdirAll(name string) error {
	at, err := f.resolve(name)
	if err != nil {
		return err
	}
	return mkdirAll(f.ctx, at.Store, at.Path)
}

func mkdirAll(ctx context.Context, st store.Store, dir string) error {
	info, err := st.Stat(ctx, dir)
	if err == nil && info.Dir {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if parent := path.Dir(dir); parent != dir {
		if err := mkdirAll(ctx, st, parent); err != nil {
			return err
		}
	}
	err = st.Mkdir(ctx, dir)
	//guard: accepts a directory that another process makes at the same time
	if errors.Is(err, store.ErrExist) {
		return nil
	}
	return err
}

// Stat implements iceio.StatIO.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	at, err := f.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := at.Store.Stat(f.ctx, at.Path)
	return fileInfo{info}, err
}

// Rename implements iceio.RenameIO for small files. It replaces a file in one step.
func (f *FS) Rename(from, to string) error {
	content, err := f.ReadFile(from)
	if err == nil {
		err = f.WriteFile(to, content)
	}
	if err != nil {
		return err
	}
	return f.Remove(from)
}

// RenameNoReplace implements iceio.RenameNoReplaceIO.
func (f *FS) RenameNoReplace(from, to string) error {
	old, err := f.resolve(from)
	if err != nil {
		return err
	}
	at, err := f.resolve(to)
	if err != nil {
		return err
	}
	return at.Store.Rename(f.ctx, old.Path, at.Path)
}

// WalkDir implements iceio.ListableIO.
func (f *FS) WalkDir(root string, fn fs.WalkDirFunc) error {
	at, err := f.resolve(root)
	if err != nil {
		return err
	}
	info, err := at.Store.Stat(f.ctx, at.Path)
	if err != nil {
		err = fn(root, nil, err)
	} else {
		err = f.walk(at.Store, root, info, fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (f *FS) walk(st store.Store, name string, info store.Info, fn fs.WalkDirFunc) error {
	entry := fs.FileInfoToDirEntry(fileInfo{info})
	err := fn(name, entry, nil)
	if !info.Dir || err != nil {
		if info.Dir && errors.Is(err, fs.SkipDir) {
			return nil
		}
		return err
	}
	infos, err := st.List(f.ctx, info.Path)
	if err != nil {
		return fn(name, entry, err)
	}
	for _, child := range infos {
		err := f.walk(st, strings.TrimSuffix(name, "/")+"/"+child.Name, child, fn)
		if errors.Is(err, fs.SkipDir) {
			return nil // for a file, SkipDir leaves its directory
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newContent is the content of a new file.
type newContent struct {
	bytes.Buffer
	fs     *FS
	name   string
	closed bool
}

// Close writes the file.
func (c *newContent) Close() error {
	if c.closed {
		return &fs.PathError{Op: "close", Path: c.name, Err: fs.ErrClosed}
	}
	c.closed = true
	return c.fs.WriteFile(c.name, c.Bytes())
}
