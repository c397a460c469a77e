package trevni

import (
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// decoder reads headers and tables.
type decoder struct{ damage.Cursor }

// length reads a count, which must not be negative.
func (d *decoder) length(what string) int64 {
	at := d.Offset()
	n := d.Varint(what)
	//guard: rejects a negative length
	if n < 0 {
		d.Fail(damage.Count, at, "%s is %d", what, n)
		return 0
	}
	return n
}

// text reads a length and its bytes, which are a part of the header.
func (d *decoder) text(what string) []byte { return d.Bytes(d.length(what), what) }

// The sizes of the first reads of structures of unknown length. A read beyond a table
// covers blocks of its column, which are read again later.
const (
	firstHeader = 64 << 10
	firstTable  = 4 << 10
)

// readAt is the type of io.ReaderAt.ReadAt.
type readAt func(p []byte, off int64) (int, error)

// decodeGrowing runs parse over the bytes [off, end) of the file. It begins with the given
// number of first bytes. As long as parse needs more, it runs again, with at least the bytes
// that were missing, and with four times as many as before. So a structure of unknown size
// costs at most a small multiple of its bytes, and a length that reaches beyond the end costs
// nothing.
func (f *File) decodeGrowing(read readAt, off, end, first int64, parse func(*decoder)) error {
	for n := first; ; {
		n = min(n, end-off)
		need, err := f.decodeSome(read, off, n, parse)
		if need == 0 || need > end-off || n == end-off {
			return err
		}
		n = max(need, 4*n)
	}
}

// decodeSome runs parse over n bytes. If parse needs more bytes, need is how many it needs in
// all. Otherwise need is 0.
func (f *File) decodeSome(read readAt, off, n int64, parse func(*decoder)) (need int64, err error) {
	if err := f.memory.Reserve(n); err != nil {
		return 0, fmt.Errorf("reading %d bytes at offset %d: %w", n, off, err)
	}
	defer f.memory.Release(n)
	buf := make([]byte, n)
	got, err := read(buf, off)
	if err := damage.Full(got, err, len(buf), off, f.name); err != nil {
		return 0, err
	}
	d := decoder{damage.NewCursor(f.name, buf, off)}
	parse(&d)
	//guard: reads on in a long header or table
	if d.Missing() > 0 {
		need = n + min(d.Missing(), math.MaxInt64-n)
	}
	return need, d.Err()
}
