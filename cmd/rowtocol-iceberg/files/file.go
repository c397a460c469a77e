package files

import (
	"io"
	"io/fs"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// file is an open file as iceberg-go reads it.
type file struct {
	*io.SectionReader
	stored store.File
	info   store.Info
}

func newFile(stored store.File, info store.Info) *file {
	return &file{io.NewSectionReader(stored, 0, stored.Size()), stored, info}
}

func (f *file) Close() error               { return f.stored.Close() }
func (f *file) Stat() (fs.FileInfo, error) { return fileInfo{f.info}, nil }

// fileInfo is a store.Info as an fs.FileInfo.
type fileInfo struct{ info store.Info }

func (i fileInfo) Name() string       { return i.info.Name }
func (i fileInfo) Size() int64        { return i.info.Size }
func (i fileInfo) ModTime() time.Time { return i.info.ModTime }
func (i fileInfo) IsDir() bool        { return i.info.Dir }
func (i fileInfo) Sys() any           { return nil }

func (i fileInfo) Mode() fs.FileMode {
	if i.info.Dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
