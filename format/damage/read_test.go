package damage

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestReadFull checks that missing bytes and errors of the reader are different errors.
func TestReadFull(t *testing.T) {
	located := New(Size, "other", 1, "cut")
	for _, c := range []struct {
		n    int
		err  error
		want error
	}{{4, io.EOF, nil}, {3, nil, io.ErrUnexpectedEOF}, {3, io.EOF, io.ErrUnexpectedEOF}, {0, io.ErrClosedPipe, io.ErrClosedPipe}, {0, located, located}} {
		if err := Full(c.n, c.err, 4, 7, "f"); !errors.Is(err, c.want) || c.want == error(located) && err != c.want {
			t.Errorf("%d bytes, %v: %v", c.n, c.err, err)
		}
	}
	p := make([]byte, 4)
	err := ReadFull(strings.NewReader("0123456"), p, 4, "f")
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(err.Error(), "f: reading 4 bytes at offset 4: ") {
		t.Error(err)
	}
	if err := ReadFull(strings.NewReader("0123456"), p, 3, "f"); err != nil || string(p) != "3456" {
		t.Errorf("%q, %v", p, err)
	}
}

// TestFound checks that Found keeps the same damage once, and does not keep other errors.
func TestFound(t *testing.T) {
	var f Found
	if f.Err() != nil {
		t.Error(f.Err())
	}
	for _, err := range []error{nil, New(Size, "a", 1, "cut"), fmt.Errorf("again: %w", New(Size, "a", 1, "cut")), New(Size, "b", 1, "cut")} {
		if err := f.Add(err); err != nil {
			t.Error(err)
		}
	}
	if err := f.Add(io.ErrClosedPipe); err != io.ErrClosedPipe {
		t.Error(err)
	}
	if f.Len() != 2 || f.Err().Error() != "a: offset 1: size: cut\nb: offset 1: size: cut" {
		t.Errorf("%d: %v", f.Len(), f.Err())
	}
}
