package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// cursors returns a cursor over bytes, and one over a stream of them of unknown length.
func cursors(b []byte) map[string]*Cursor {
	c, r := New(b, 0), NewReader(bufio.NewReader(bytes.NewReader(b)), math.MaxInt64)
	return map[string]*Cursor{"bytes": &c, "stream": &r}
}

// vints maps integers to their encoding by Hadoop's WritableUtils.
var vints = map[int64]string{
	0: "00", 127: "7f", -1: "ff", -112: "90",
	128: "8f80", 255: "8fff", 256: "8e0100", -113: "8770", -256: "87ff", -257: "860100",
	5_000_000_000: "8b012a05f200", math.MaxInt32: "8c7fffffff", math.MinInt32: "847fffffff",
	math.MaxInt64: "887fffffffffffffff", math.MinInt64: "807fffffffffffffff",
}

func TestVInt(t *testing.T) {
	for n, want := range vints {
		if got := hex.EncodeToString(AppendVInt(nil, n)); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
		p, _ := hex.DecodeString(want)
		for source, c := range cursors(p) {
			if got := c.VInt("n"); got != n || c.Err() != nil || c.Offset() != int64(len(p)) || VIntSize(p[0]) != len(p) {
				t.Errorf("%s of %s: got %d (%v), want %d", source, want, got, c.Err(), n)
			}
		}
		for source, c := range cursors(p[:len(p)-1]) {
			if got := c.VInt("n"); got != 0 || !errors.Is(c.Err(), io.ErrUnexpectedEOF) || c.Missing() < 1 {
				t.Errorf("%s of %s without its last byte: got %d (%v)", source, want, got, c.Err())
			}
		}
	}
}

// FuzzVInt encodes and decodes a VInt that it has decoded.
func FuzzVInt(f *testing.F) {
	for n := range vints {
		f.Add(AppendVInt(nil, n))
	}
	f.Add([]byte{0x88, 0, 0, 0, 0, 0, 0, 0, 1}) // longer than necessary
	f.Fuzz(func(t *testing.T, p []byte) {
		c := New(p, 0)
		n := c.VInt("n")
		if c.Err() != nil {
			return
		}
		short := AppendVInt(nil, n)
		again := New(short, 0)
		if got := again.VInt("n"); got != n || len(short) > len(p) {
			t.Errorf("%x is %d, encoded as %x, decoded as %d", p, n, short, got)
		}
	})
}

func TestVarint(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 300, math.MaxInt64, math.MinInt64} {
		for source, c := range cursors(binary.AppendUvarint(binary.AppendVarint(nil, n), uint64(n))) {
			if v, u := c.Varint("v"), c.Uvarint("u"); v != n || u != uint64(n) || c.Err() != nil {
				t.Errorf("%s of %d: got %d and %d (%v)", source, n, v, u, c.Err())
			}
		}
	}
	for text, reason := range map[string]string{
		strings.Repeat("\xff", 9) + "\x02": "offset 0: n is a varint of more than 64 bits",
		strings.Repeat("\x80", 11):         "offset 0: n is a varint of more than 64 bits",
		"\xff\x80":                         "offset 2: ",
	} {
		for source, c := range cursors([]byte(text)) {
			if n := c.Uvarint("n"); n != 0 || c.Err() == nil || !strings.HasPrefix(c.Err().Error(), reason) {
				t.Errorf("%s of %x: got %d (%v), want %q", source, text, n, c.Err(), reason)
			}
		}
	}
}

func TestFixed(t *testing.T) {
	for source, c := range cursors([]byte{1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 255, 4}) {
		if b, l, u := c.BigEndian(2, "b"), c.LittleEndian(9-1, "l"), c.BigEndian(1, "u"); b != 0x102 || l != 3 || u != 255 {
			t.Errorf("%s: got %x, %x, %x", source, b, l, u)
		}
		if v := c.Uint8("v"); v != 4 || c.Err() != nil {
			t.Errorf("%s: got %d, %v; want 4", source, v, c.Err())
		}
	}
}

func TestBytes(t *testing.T) {
	large := strings.Repeat("x", 3*chunk+1)
	for name, test := range map[string]struct {
		in       string
		n, limit int64
		fails    string
	}{
		"none":      {},
		"some":      {in: "abc", n: 3, limit: 3},
		"large":     {in: large, n: int64(len(large)), limit: math.MaxInt64},
		"beyond":    {in: "abc", n: 3, limit: 2, fails: "text of 3 bytes, expected 0 to 2"},
		"negative":  {in: "abc", n: -1, limit: 2, fails: "text of -1 bytes"},
		"truncated": {in: "ab", n: 3, limit: 3, fails: "offset "},
	} {
		for source, c := range cursors([]byte(test.in)) {
			got := c.BytesWithin(test.n, test.limit, "text")
			if test.fails == "" && (c.Err() != nil || string(got) != test.in) {
				t.Errorf("%s, %s: got %d bytes, %v", name, source, len(got), c.Err())
			}
			if test.fails == "" {
				continue
			}
			first := c.Err()
			if got != nil || first == nil || !strings.Contains(first.Error(), test.fails) || errors.Is(first, io.ErrUnexpectedEOF) != (name == "truncated") {
				t.Errorf("%s, %s: got error %v, want %q", name, source, first, test.fails)
			}
			c.Stop(io.ErrClosedPipe)
			if n, b := c.VInt("more"), c.Bytes(0, "nothing"); n != 0 || b != nil || c.Uint8("a byte") != 0 || c.Err() != first {
				t.Errorf("%s, %s: got %d and %v after an error, now %v", name, source, n, b, c.Err())
			}
		}
	}
	c := New([]byte("abcde"), 7)
	c.Bytes(2, "text")
	if string(c.Consumed()) != "ab" || string(c.Rest()) != "cde" || c.Offset() != 9 || c.Remaining() != 3 {
		t.Errorf("got passed %q, rest %q, offset %d", c.Consumed(), c.Rest(), c.Offset())
	}
	if c.Bytes(10, "text"); c.Missing() != 7 {
		t.Errorf("got %d missing bytes, want 7: %v", c.Missing(), c.Err())
	}
}

// TestBytesAllocates checks that a length alone does not allocate memory.
func TestBytesAllocates(t *testing.T) {
	r := NewReader(bufio.NewReader(strings.NewReader("x")), math.MaxInt64)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.Bytes(64<<20, "text")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*chunk {
		t.Errorf("a length allocated %d bytes", n)
	}
}

// TestReaderFails distinguishes a shrinking file and a failing reader from truncated bytes.
func TestReaderFails(t *testing.T) {
	for _, test := range []struct {
		r    io.Reader
		want error
	}{
		{strings.NewReader("ab"), io.ErrUnexpectedEOF},
		{iotest.ErrReader(io.ErrClosedPipe), io.ErrClosedPipe},
	} {
		for _, read := range []func(*Cursor){
			func(c *Cursor) { c.Bytes(3, "text") },
			func(c *Cursor) { c.BigEndian(2, "n"); c.Uint8("byte") },
		} {
			c := NewReader(bufio.NewReader(test.r), 3)
			read(&c)
			if err := c.Err(); !errors.Is(err, test.want) || errors.As(err, new(*Error)) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		}
	}
}
