package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/store"
)

// inputDir is the directory of virtual inputs.
const inputDir = "/in"

// virtual is a store of input files of any size, and nothing else. Each is a small file of
// mails whose blocks are repeated.
type virtual struct {
	store.Store
	head, blocks []byte
	sizes        []int64 // of the files
}

// newVirtual returns a store of files of at least size bytes each.
func newVirtual(files int, size int64) (*virtual, error) {
	var b bytes.Buffer
	if err := mailgen.Write(&b, mailgen.Options{Rows: 10_000, Seed: 1, Codec: "snappy"}); err != nil {
		return nil, err
	}
	h, err := ocf.ReadHeader(bytes.NewReader(b.Bytes()), int64(b.Len()), "mails")
	if err != nil {
		return nil, err
	}
	v := &virtual{head: b.Bytes()[:h.Size], blocks: b.Bytes()[h.Size:]}
	times := max((size-h.Size)/int64(len(v.blocks)), 1)
	for range files {
		v.sizes = append(v.sizes, h.Size+times*int64(len(v.blocks)))
	}
	return v, nil
}

func (v *virtual) file(name string) (i int, err error) {
	if _, err := fmt.Sscanf(path.Base(name), "mail-%d.avro", &i); err != nil || i >= len(v.sizes) {
		return 0, &fs.PathError{Op: "open", Path: name, Err: store.ErrNotExist}
	}
	return i, nil
}

func (v *virtual) info(i int) store.Info {
	name := fmt.Sprintf("mail-%07d.avro", i)
	return store.Info{Name: name, Path: path.Join(inputDir, name), Size: v.sizes[i], ModTime: time.Unix(1e9, 0), FileID: uint64(i + 1)}
}

// Stat implements store.Store.
func (v *virtual) Stat(_ context.Context, name string) (store.Info, error) {
	if strings.TrimRight(name, "/") == inputDir {
		return store.Info{Name: path.Base(inputDir), Path: inputDir, Dir: true}, nil
	}
	i, err := v.file(name)
	if err != nil {
		return store.Info{}, err
	}
	return v.info(i), nil
}

// List implements store.Store.
func (v *virtual) List(context.Context, string) (infos []store.Info, _ error) {
	for i := range v.sizes {
		infos = append(infos, v.info(i))
	}
	return infos, nil
}

// Open implements store.Store.
func (v *virtual) Open(_ context.Context, name string) (store.File, error) {
	i, err := v.file(name)
	if err != nil {
		return nil, err
	}
	return &virtualFile{v, v.info(i), name}, nil
}

// virtualFile is one of the files.
type virtualFile struct {
	*virtual
	is   store.Info
	name string
}

func (f *virtualFile) Name() string { return f.name }
func (f *virtualFile) Size() int64  { return f.is.Size }

// Identity implements store.Identified.
func (f *virtualFile) Identity() store.Identity {
	return store.Identity{ID: f.is.FileID, Changed: f.is.ModTime.UnixNano()}
}

func (f *virtualFile) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (f *virtualFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < f.is.Size {
		from := f.head
		at := off
		if head := int64(len(f.head)); off >= head {
			from, at = f.blocks, (off-head)%int64(len(f.blocks))
		}
		c := copy(p[n:], from[at:])
		n, off = n+c, off+int64(c)
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}
