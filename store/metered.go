package store

import "context"

// WithMeter returns st, but moved is told of every number of bytes that were read
// from its files or written to new ones. It may be called concurrently.
func WithMeter(st Store, moved func(n int)) Store { return &metered{st, moved} }

type metered struct {
	Store
	moved func(n int)
}

// Capabilities are those of the store within.
func (m *metered) Capabilities() Capabilities { return CapabilitiesOf(m.Store) }

// Open implements Store.
func (m *metered) Open(ctx context.Context, path string) (File, error) {
	f, err := m.Store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &meteredFile{f, m.moved}, nil
}

// Create implements Store.
func (m *metered) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	w, err := m.Store.Create(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return &meteredWriter{w, m.moved}, nil
}

type meteredFile struct {
	File
	moved func(n int)
}

// ReadAt implements io.ReaderAt.
func (f *meteredFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.moved(n)
	return n, err
}

// ReadRange implements RangeReader.
func (f *meteredFile) ReadRange(p []byte, off int64) (int, error) {
	n, err := ReadRange(f.File, p, off)
	f.moved(n)
	return n, err
}

// Identity implements Identified.
func (f *meteredFile) Identity() Identity { return IdentityOf(f.File) }

type meteredWriter struct {
	Writer
	moved func(n int)
}

// Write implements io.Writer.
func (w *meteredWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.moved(n)
	return n, err
}
