package pipes

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

// The bytes are those of Hadoop's WritableUtils.
var longs = map[int64]string{
	0: "00", 127: "7f", -1: "ff", -112: "90",
	128: "8f80", 255: "8fff", 256: "8e0100", -113: "8770", -256: "87ff", -257: "860100",
	5_000_000_000: "8b012a05f200", math.MaxInt32: "8c7fffffff", math.MinInt32: "847fffffff",
	math.MaxInt64: "887fffffffffffffff", math.MinInt64: "807fffffffffffffff",
}

func TestLong(t *testing.T) {
	for n, want := range longs {
		if got := hex.EncodeToString(appendLong(nil, n)); got != want {
			t.Errorf("%d is written as %s, want %s", n, got, want)
		}
		p, _ := hex.DecodeString(want)
		d := newDecoder(bytes.NewReader(p))
		if got := d.long("n"); got != n || d.err != nil {
			t.Errorf("%s is read as %d (%v), want %d", want, got, d.err, n)
		}
		d = newDecoder(bytes.NewReader(p[:len(p)-1]))
		if d.long("n"); !errors.Is(d.err, io.ErrUnexpectedEOF) {
			t.Errorf("%s without its last byte is %v", want, d.err)
		}
	}
}

func TestInt(t *testing.T) {
	for n := range longs {
		d := newDecoder(bytes.NewReader(appendLong(nil, n)))
		fits := n >= math.MinInt32 && n <= math.MaxInt32
		if got := d.int("n"); fits && (int64(got) != n || d.err != nil) || !fits && d.err == nil {
			t.Errorf("%d is read as %d (%v)", n, got, d.err)
		}
	}
}

func TestBytes(t *testing.T) {
	large := strings.Repeat("x", 3*chunk+1)
	for name, test := range map[string]struct {
		in, want string
		limit    int
		fails    string
	}{
		"none":      {in: "\x00", limit: 0},
		"some":      {in: "\x03abc", want: "abc", limit: 3},
		"large":     {in: string(appendText(nil, large)), want: large, limit: len(large)},
		"beyond":    {in: "\x03abc", limit: 2, fails: "from 0 to 2"},
		"negative":  {in: "\xff", limit: 2, fails: "length of -1"},
		"truncated": {in: "\x03ab", limit: 3, fails: "unexpected EOF"},
	} {
		d := newDecoder(strings.NewReader(test.in))
		got := d.bytes("text", test.limit)
		if test.fails == "" && (d.err != nil || string(got) != test.want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), d.err)
		}
		if test.fails != "" && (d.err == nil || !strings.Contains(d.err.Error(), test.fails)) {
			t.Errorf("%s: %v", name, d.err)
		}
	}
}

// TestBytesAllocates holds that memory is taken for bytes that are there.
func TestBytesAllocates(t *testing.T) {
	in := append(appendLong(nil, maxConf), 'x')
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	newDecoder(bytes.NewReader(in)).bytes("text", maxConf)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8*chunk {
		t.Errorf("%d bytes are allocated for a length of %d", n, maxConf)
	}
}

func TestNext(t *testing.T) {
	d := newDecoder(strings.NewReader("\x09\x8f"))
	if m := d.next(); m != abort || d.err != nil {
		t.Errorf("the first message is %v, %v", m, d.err)
	}
	if d.next(); d.err == io.EOF || !errors.Is(d.err, io.ErrUnexpectedEOF) {
		t.Errorf("half a code is %v", d.err)
	}
	d = newDecoder(strings.NewReader(""))
	if d.next(); d.err != io.EOF {
		t.Errorf("no message is %v", d.err)
	}
	if got := message(99).String(); got != "message 99" {
		t.Errorf("an unknown message is called %q", got)
	}
}
