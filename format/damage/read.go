package damage

import (
	"errors"
	"fmt"
	"io"
)

// ReadFull fills buf with the bytes at an offset of a file. Its errors are the reader's, never
// made of what is missing: the caller has compared the range with the file's size.
func ReadFull(r io.ReaderAt, buf []byte, off int64, file string) error {
	n, err := r.ReadAt(buf, off)
	return Full(n, err, len(buf), off, file)
}

// Full returns what kept a read of a file from having want bytes.
func Full(n int, err error, want int, off int64, file string) error {
	if n == want {
		return nil
	}
	if errors.As(err, new(*Error)) {
		return err // it says all
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s: reading %d bytes at offset %d: %w", file, want, off, err)
}

// Found is the damage that was found so far.
type Found struct {
	all  []error
	seen map[string]bool
}

// Keep keeps an error that is, or wraps, an *Error, and returns others. The same damage, which
// the readers of several columns can meet, counts once.
func (f *Found) Keep(err error) error {
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

// Len is how many errors were kept.
func (f *Found) Len() int { return len(f.all) }

// Err returns the damage joined, or nil.
func (f *Found) Err() error { return errors.Join(f.all...) }
