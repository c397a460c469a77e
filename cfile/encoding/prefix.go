package encoding

import (
	"encoding/binary"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// RestartInterval is the number of values from one restart to the next in blocks that Kudu writes.
// A restart is a value that is stored whole.
const RestartInterval = 16

// AppendPrefix appends the prefix block of BINARY values with Kudu's restart
// interval of 16. offsets and data are as for AppendPlainBinary.
func AppendPrefix(dst []byte, ordinal uint32, offsets []uint32, data []byte) []byte {
	body := len(dst)
	count := max(0, len(offsets)-1)
	dst = appendGroup(dst, uint32(count), ordinal, RestartInterval, 0)
	// The restarts are collected before the entries, and moved after the entries at the end.
	// So they need no other memory.
	restarts := len(dst)
	size := 4 * ((max(1, count) - 1) / RestartInterval)
	dst = append(dst, make([]byte, size)...)
	next := restarts
	var last []byte
	for i := range count {
		value := data[offsets[i]:offsets[i+1]]
		shared := 0
		if i%RestartInterval != 0 {
			shared = CommonPrefix(last, value)
		} else if i > 0 {
			binary.LittleEndian.PutUint32(dst[next:], uint32(len(dst)-size-body))
			next += 4
		}
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = binary.AppendUvarint(dst, uint64(len(value)-shared))
		dst = append(dst, value[shared:]...)
		last = value
	}
	dst = append(dst, dst[restarts:restarts+size]...)
	dst = append(dst[:restarts], dst[restarts+size:]...)
	return binary.LittleEndian.AppendUint32(dst, uint32(size/4))
}

// prefix decodes prefix blocks.
type prefix struct {
	header
	body     []byte
	at       int    // offset of the next entry
	end      int    // end of the entries
	restart  int    // offset in body of the next restart's place
	interval uint32 // number of entries from one restart to the next
	until    uint32 // number of entries before the next restart
	last     []byte // a copy of the value before the next entry
}

// NewPrefix returns a Decoder of prefix blocks.
func NewPrefix() Decoder { return &prefix{} }

func (d *prefix) Reset(body []byte) error {
	g, err := groupHeader(body)
	if err != nil {
		return err
	}
	d.header = newHeader(g.group[0], g.group[1])
	d.body, d.at, d.last = body, g.end, d.last[:0]
	d.interval, d.until = g.group[2], g.group[2]
	end := len(body) - 4
	//guard: rejects a block without its number of restarts
	if end < d.at {
		return damaged(damage.Truncated, d.at, "the number of restarts is missing")
	}
	//guard: rejects an interval of 0
	if d.interval == 0 {
		return damaged(damage.Header, 0, "a restart interval of 0")
	}
	listed := binary.LittleEndian.Uint32(body[end:])
	//guard: rejects restarts that are missing
	if uint64(max(1, d.count)-1)/uint64(d.interval) != uint64(listed) {
		return damaged(damage.Count, end, "%d restarts, but %d values in intervals of %d", listed, d.count, d.interval)
	}
	//guard: rejects restarts that begin before the body
	if uint64(listed)*4 > uint64(end-d.at) {
		return damaged(damage.Truncated, end, "%d restarts in %d bytes", listed, end-d.at)
	}
	d.end = end - 4*int(listed)
	d.restart = d.end
	return nil
}

// entry skips the next entry. It returns how many bytes the entry's value shares with the value
// before, and the other bytes of the value. The value before has length bytes.
func (d *prefix) entry(length int) (shared int, others []byte, err error) {
	x, y, n := lengths(d.body[d.at:d.end])
	start := d.at + n
	//guard: rejects a value that reaches past the entries
	if n == 0 || uint64(y) > uint64(d.end-start) {
		return 0, nil, damaged(damage.Truncated, d.at, "the entry is cut short")
	}
	//guard: rejects a shared prefix longer than the value before
	if uint64(x) > uint64(length) {
		return 0, nil, damaged(damage.Value, d.at, "%d bytes shared with a value of %d", x, length)
	}
	if d.until == 0 {
		//guard: rejects a restart at which no entry begins
		if place := binary.LittleEndian.Uint32(d.body[d.restart:]); uint64(place) != uint64(d.at) || x > 0 {
			return 0, nil, damaged(damage.Value, d.restart, "a restart at %d, but the entry at %d shares %d bytes", place, d.at, x)
		}
		d.restart += 4
		d.until = d.interval
	}
	d.until--
	d.at = start + int(y)
	return int(x), d.body[start:d.at], nil
}

// lengths reads the two lengths at the beginning of an entry, and returns how many bytes they
// have. It returns 0 if they are cut short.
func lengths(b []byte) (shared, others uint32, n int) {
	if len(b) >= 2 && b[0]|b[1] < 0x80 {
		return uint32(b[0]), uint32(b[1]), 2
	}
	shared, n = uvarint32(b)
	others, m := uvarint32(b[n:])
	if n == 0 || m == 0 {
		return 0, 0, 0
	}
	return shared, others, n + m
}

func (d *prefix) Read(v *Values, n int) (int, error) {
	if d.left == 0 {
		return 0, d.finish()
	}
	n = min(n, d.left)
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	offsets, data, last := v.Offsets, v.Data, d.last
	limit := len(data) + readLimit
	read := 0
	//guard: bounds the memory for values with long prefixes
	for read < n && len(data) < limit {
		shared, others, err := d.entry(len(last))
		if err != nil {
			return 0, err
		}
		start := len(data)
		data = append(data, last[:shared]...)
		data = append(data, others...)
		offsets = append(offsets, uint32(len(data)))
		last = data[start:]
		read++
	}
	v.Offsets, v.Data = offsets, data
	d.last = append(d.last[:0], last...)
	d.left -= read
	return read, nil
}

func (d *prefix) Skip(n int) error {
	if err := d.checkLeft(n); err != nil {
		return err
	}
	d.left -= n
	for range n {
		shared, others, err := d.entry(len(d.last))
		if err != nil {
			return err
		}
		d.last = append(d.last[:shared], others...)
	}
	return nil
}

// finish returns io.EOF if the entries end with the last value.
func (d *prefix) finish() error {
	//guard: rejects bytes after the last value
	if d.at != d.end {
		return damaged(damage.Trailing, d.at, "%d bytes after the last entry", d.end-d.at)
	}
	return io.EOF
}
