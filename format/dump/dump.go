// Package dump writes the bytes of files together with their meaning.
package dump

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

const (
	// Width is the number of bytes on a line.
	Width = 16
	// buffer is how many bytes are read at a time. On remote storage this is one request.
	buffer = 1 << 20
)

// Dumper writes the bytes of files from first to last. After its first error it writes
// nothing.
type Dumper struct {
	At  int64 // offset of the next byte to write
	Err error // ends the dump

	w    *bufio.Writer
	in   io.Reader // reads the file from At on
	name string    // name of the file
	bad  error     // the first damage, which does not end the dump
}

// New returns a dumper that writes to w.
func New(w io.Writer) Dumper { return Dumper{w: bufio.NewWriter(w)} }

// Begin begins a file.
func (d *Dumper) Begin(r io.ReaderAt, size int64, name string) {
	d.From(0, bufio.NewReaderSize(io.NewSectionReader(r, 0, size), int(min(size, buffer))), name)
}

// From continues with a file at an offset, from which in reads.
func (d *Dumper) From(at int64, in io.Reader, name string) { d.At, d.in, d.name = at, in, name }

// Claim writes the next n bytes, with a label on the first line.
func (d *Dumper) Claim(n int64, label string, args ...any) {
	label = fmt.Sprintf(label, args...)
	if n == 0 && d.Err == nil {
		d.line(nil, label)
	}
	var buf [Width]byte
	for n > 0 && d.Err == nil {
		b := buf[:min(n, Width)]
		read, err := io.ReadFull(d.in, b)
		if d.Err = damage.Full(read, err, len(b), d.At, d.name); d.Err != nil {
			return
		}
		d.line(b, label)
		n, label = n-int64(len(b)), ""
	}
}

func (d *Dumper) line(b []byte, label string) {
	if label == "" {
		_, d.Err = fmt.Fprintf(d.w, "%08x  % x\n", d.At, b)
	} else {
		_, d.Err = fmt.Fprintf(d.w, "%08x  %-*s  %s\n", d.At, 3*Width-1, fmt.Sprintf("% x", b), label)
	}
	d.At += int64(len(b))
}

// Title writes a line without bytes.
func (d *Dumper) Title(format string, args ...any) {
	if d.Err == nil {
		_, d.Err = fmt.Fprintf(d.w, "\n"+format+"\n", args...)
	}
}

// Damaged keeps the first damage for End, and makes any other error end the dump. It
// returns false if err is nil.
func (d *Dumper) Damaged(err error) bool {
	switch {
	case err == nil:
		return false
	case !errors.As(err, new(*damage.Error)):
		d.Err = err
	case d.bad == nil:
		d.bad = err
	}
	return true
}

// End returns the error that ended the dump, or the first damage.
func (d *Dumper) End() error {
	if err := d.w.Flush(); err != nil && d.Err == nil {
		d.Err = fmt.Errorf("writing the dump: %w", err)
	}
	if d.Err != nil {
		return d.Err
	}
	return d.bad
}

// Quote shows the start of a string.
func Quote(b []byte) string {
	const most = 48
	if len(b) > most {
		return fmt.Sprintf("%q… (%d bytes)", b[:most], len(b))
	}
	return fmt.Sprintf("%q", b)
}
