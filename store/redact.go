package store

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
)

// Concealed is what stands in a text in the place of a secret.
const Concealed = "(hidden)"

// named is how secrets are known by their names: as a parameter of a location
// (also one that was escaped, once or more), as a header, and before the @ of a
// host. A directory of a partition may be called token=1, which is none.
var named = regexp.MustCompile(`(?i)((?:^|[^/\w]|%[0-9a-f]{2})[\w.-]*(?:delegation|token|password|secret|signature)["']?\s*(?:=|:|%(?:25)*3d)\s*["']?)[^\s"'&<>(){}\[\],;]+` +
	`|((?:negotiate|basic|bearer)\s+)[\w+/=.~-]{16,}` +
	`|(://)[^\s/@]+:[^\s/@]*(@)`)

// Redact replaces what a text calls a secret. Who knows the secrets themselves
// replaces them first.
func Redact(text string) string {
	return named.ReplaceAllString(text, "${1}${2}${3}"+Concealed+"${4}")
}

// Shown is a location that a user named as it may be shown before it is known to be
// one: that of remote storage without what it calls a secret, a local one as it is.
func Shown(location string) string {
	if scheme, _ := Scheme(location); scheme == "" {
		return location
	}
	return Redact(location)
}

// WithRedaction returns st with errors that show no secrets: redact replaces
// them in a text. Whatever a server says, or makes others say, passes here. That
// a file has a secret for a name is an error too, for names go everywhere.
func WithRedaction(st Store, redact func(text string) string) Store {
	return &discreet{inner: st, redact: redact}
}

// Conceal returns an error without what it calls a secret.
func Conceal(err error) error { return (&discreet{redact: Redact}).clean(err) }

type discreet struct {
	inner  Store
	redact func(string) string
}

// redacted is an error with another text.
type redacted struct {
	error
	text string
}

func (e *redacted) Error() string { return e.text }

func (e *redacted) Unwrap() error { return e.error }

// clean returns an error without secrets. The paths of an error are those that
// we named.
func (d *discreet) clean(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: e.Path, Err: d.clean(e.Err)}
	case *os.LinkError:
		return &os.LinkError{Op: e.Op, Old: e.Old, New: e.New, Err: d.clean(e.Err)}
	}
	text := err.Error()
	if shown := d.redact(text); shown != text {
		return &redacted{err, shown}
	}
	return err
}

// Capabilities are those of the store within.
func (d *discreet) Capabilities() Capabilities {
	c := CapabilitiesOf(d.inner)
	if checksum := c.Checksum; checksum != nil {
		c.Checksum = func(ctx context.Context, path string) (string, error) {
			sum, err := checksum(ctx, path)
			return sum, d.clean(err)
		}
	}
	if access, setMode := c.Access, c.SetMode; access != nil {
		c.Access = func(ctx context.Context, path string) (Access, error) {
			a, err := access(ctx, path)
			return a, d.clean(err)
		}
		c.SetMode = func(ctx context.Context, path string, mode fs.FileMode) error {
			return d.clean(setMode(ctx, path, mode))
		}
	}
	return c
}

// Open implements Store.
func (d *discreet) Open(ctx context.Context, path string) (File, error) {
	f, err := d.inner.Open(ctx, path)
	if err != nil {
		return nil, d.clean(err)
	}
	return &discreetFile{f, d}, nil
}

// Create implements Store.
func (d *discreet) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	w, err := d.inner.Create(ctx, path, o)
	if err != nil {
		return nil, d.clean(err)
	}
	return &discreetWriter{w, d}, nil
}

// Stat implements Store.
func (d *discreet) Stat(ctx context.Context, path string) (Info, error) {
	info, err := d.inner.Stat(ctx, path)
	return info, d.clean(err)
}

// List implements Store.
func (d *discreet) List(ctx context.Context, dir string) ([]Info, error) {
	infos, err := d.inner.List(ctx, dir)
	if err != nil {
		return nil, d.clean(err)
	}
	for _, info := range infos {
		//guard: a server could have a token written to plans and logs as the name of a file
		if shown := d.redact(info.Name); shown != info.Name && shown != Redact(info.Name) {
			return nil, &fs.PathError{Op: "list", Path: dir, Err: fmt.Errorf("a name in it is a secret: %w", ErrUnavailable)}
		}
	}
	return infos, nil
}

// Rename implements Store.
func (d *discreet) Rename(ctx context.Context, from, to string) error {
	return d.clean(d.inner.Rename(ctx, from, to))
}

// Remove implements Store.
func (d *discreet) Remove(ctx context.Context, path string) error {
	return d.clean(d.inner.Remove(ctx, path))
}

// RemoveAll implements Store.
func (d *discreet) RemoveAll(ctx context.Context, path string) error {
	return d.clean(d.inner.RemoveAll(ctx, path))
}

// Mkdir implements Store.
func (d *discreet) Mkdir(ctx context.Context, path string) error {
	return d.clean(d.inner.Mkdir(ctx, path))
}

// ReadFile implements Store.
func (d *discreet) ReadFile(ctx context.Context, path string, max int64) ([]byte, error) {
	data, err := d.inner.ReadFile(ctx, path, max)
	return data, d.clean(err)
}

// WriteFile implements Store.
func (d *discreet) WriteFile(ctx context.Context, path string, data []byte, exclusive bool) error {
	return d.clean(d.inner.WriteFile(ctx, path, data, exclusive))
}

type discreetFile struct {
	File
	store *discreet
}

// ReadAt implements io.ReaderAt.
func (f *discreetFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	return n, f.clean(err)
}

// ReadRange implements RangeReader.
func (f *discreetFile) ReadRange(p []byte, off int64) (int, error) {
	n, err := ReadRange(f.File, p, off)
	return n, f.clean(err)
}

// Identity implements Identified.
func (f *discreetFile) Identity() Identity { return IdentityOf(f.File) }

func (f *discreetFile) clean(err error) error {
	if err == io.EOF {
		return err
	}
	return f.store.clean(err)
}

// Close implements io.Closer.
func (f *discreetFile) Close() error { return f.store.clean(f.File.Close()) }

type discreetWriter struct {
	Writer
	store *discreet
}

// Write implements io.Writer.
func (w *discreetWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.store.clean(err)
}

// Commit implements Writer.
func (w *discreetWriter) Commit(ctx context.Context) error {
	return w.store.clean(w.Writer.Commit(ctx))
}

// Abort implements Writer.
func (w *discreetWriter) Abort() error { return w.store.clean(w.Writer.Abort()) }
