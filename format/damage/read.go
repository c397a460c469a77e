package damage

import (
	"errors"
	"fmt"
	"io"
)

// ReadFull fills buf with the bytes at an offset of a file. Its errors are errors of the
// reader, not damage. So the caller must have compared the range with the file's size.
func ReadFull(r io.ReaderAt, buf []byte, off int64, file string) error {
	n, err := r.ReadAt(buf, off)
	return Full(n, err, len(buf), off, file)
}

// Full returns the error of a read that returned less than want bytes of a file.
func Full(n int, err error, want int, off int64, file string) error {
	if n == want {
		return nil
	}
	if errors.As(err, new(*Error)) {
		return err // the error already has its place
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", file, want, off, err)
}

// Found collects damage.
type Found struct {
	all  []error
	seen map[string]bool
}

// Add keeps an error that is, or wraps, an *Error. It returns other errors. It keeps equal
// damage once, because the readers of several columns can find the same damage.
func (f *Found) Add(err error) error {
	var d *Error
	if err == nil || !errors.As(err, &d) {
		return err
	}
	if text := d.Error(); !f.seen[text] {
		if f.seen == nil {
			f.seen = make(map[string]bool)
		}
		f.seen[text] = true
		f.all = append(f.all, d)
	}
	return nil
}

// Len returns the number of errors kept.
func (f *Found) Len() int { return len(f.all) }

// Err returns the damage joined, or nil.
func (f *Found) Err() error { return errors.Join(f.all...) }
