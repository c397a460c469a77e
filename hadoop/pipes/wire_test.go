package pipes

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/wire"
)

func TestInt(t *testing.T) {
	for n, fits := range map[int64]bool{math.MaxInt32: true, math.MinInt32: true, math.MaxInt32 + 1: false, math.MinInt32 - 1: false} {
		d := newDecoder(bytes.NewReader(wire.AppendVInt(nil, n)))
		if got := d.int("n"); fits && int64(got) != n || fits != (d.Err() == nil) {
			t.Errorf("%d: got %d, %v", n, got, d.Err())
		}
	}
}

func TestNext(t *testing.T) {
	d := newDecoder(strings.NewReader("\x09\x8f"))
	if m := d.next(); m != abort || d.Err() != nil {
		t.Errorf("first message: got %v, %v; want ABORT", m, d.Err())
	}
	if d.next(); d.Err() == io.EOF || !errors.Is(d.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("half a code: got error %v", d.Err())
	}
	d = newDecoder(strings.NewReader(""))
	if d.next(); d.Err() != io.EOF {
		t.Errorf("no message: got error %v, want EOF", d.Err())
	}
	if got := message(99).String(); got != "message 99" {
		t.Errorf("unknown message: got name %q", got)
	}
}
