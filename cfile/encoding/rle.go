package encoding

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"

	"github.com/rowtocol/rowtocol/format/damage"
)

// AppendRLE appends the run-length block of values of a fixed width: 1, 2, 4
// or 8 bytes.
func AppendRLE(dst []byte, ordinal uint32, width int, fixed []byte) []byte {
	return appendRuns(appendFixedHeader(dst, len(fixed)/width, ordinal), width, false, fixed)
}

// AppendRLEBool appends the run-length block of BOOL values, a byte each in
// bools.
func AppendRLEBool(dst []byte, ordinal uint32, bools []byte) []byte {
	return AppendBits(appendFixedHeader(dst, len(bools), ordinal), bools)
}

// AppendBits appends the runs of BOOL values without count and ordinal, as
// the null bitmap of a block is stored.
func AppendBits(dst []byte, bools []byte) []byte {
	return appendRuns(dst, 1, true, bools)
}

// MaxGroups is the most groups of 8 values that Kudu's encoder puts into a literal run. With more
// groups, the header of the run would have two bytes.
const MaxGroups = 63

// appendRuns appends runs as Kudu's encoder does. It reads 8 values at a time. If all 8 are equal,
// they begin a repeat, to which all equal values after them belong. Otherwise the 8 values are
// added to a literal run. Fewer than 8 values at the end are a repeat if they are equal and no
// literal run is open. Each value has width bytes. If packed is set, literals are stored as bits.
func appendRuns(dst []byte, width int, packed bool, values []byte) []byte {
	group := 8 * width
	open, groups := -1, 0 // offset of the open literal run's header; -1 if none is open
	for len(values) > 0 {
		times := 1 + CommonPrefix(values, values[width:])/width
		if times >= 8 || open < 0 && times*width == len(values) {
			if open >= 0 {
				dst[open] = literalHeader(groups)
				open = -1
			}
			dst = binary.AppendUvarint(dst, uint64(times)<<1)
			dst = append(dst, values[:width]...)
			values = values[times*width:]
			continue
		}
		if open < 0 {
			open, groups = len(dst), 0
			dst = append(dst, 0)
		}
		literals := values[:min(group, len(values))]
		if packed {
			dst = appendBits(dst, literals)
		} else {
			dst = append(dst, literals...)
		}
		values = values[len(literals):]
		if groups++; groups == MaxGroups {
			dst[open] = literalHeader(groups)
			open = -1
		}
	}
	if open >= 0 {
		dst[open] = literalHeader(groups)
	}
	return dst
}

// literalHeader returns the header of a literal run of up to 63 groups.
func literalHeader(groups int) byte { return byte(groups<<1 | 1) }

// CommonPrefix returns the length of the longest common prefix of a and b.
func CommonPrefix(a, b []byte) int {
	b = b[:min(len(a), len(b))]
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// runs decodes runs.
type runs struct {
	body    []byte
	width   int  // bytes of a value
	packed  bool // literals are bits
	end     int  // end of the current run in body
	left    int  // number of values of the current run that are not read
	literal bool
	at      int    // offset of the next literal in body; if packed is set, in bits
	word    uint64 // the value of a repeat, as often as it fits
}

// reset makes r begin with the runs from an offset in body.
func (r *runs) reset(body []byte, offset int) {
	r.body, r.end, r.left = body, offset, 0
}

// next goes to the next run.
func (r *runs) next() error {
	head, n := uvarint32(r.body[r.end:])
	at := r.end + n
	room := len(r.body) - at
	values, size := 0, 0
	switch r.literal = head&1 == 1; {
	case r.literal && r.packed:
		size = min(int(head>>1), room)
		values = 8 * size
	case r.literal:
		// The last literal run has no bytes for the values that are missing in its last group.
		values = min(int(head>>1), room/r.width/8+1) * 8
		values = min(values, room/r.width)
		size = values * r.width
	case room >= r.width:
		values, size = int(head>>1), r.width
	}
	//guard: rejects a run that is empty or cut short
	if values == 0 {
		return damaged(damage.Truncated, r.end, "the run is cut short, and values are missing")
	}
	r.left, r.at, r.end = values, at, at+size
	switch {
	case !r.literal:
		return r.repeat(r.body[at:r.end])
	case r.packed:
		r.at *= 8
	}
	return nil
}

// repeat makes the current run repeat a value.
func (r *runs) repeat(value []byte) error {
	var word [8]byte
	copy(word[:], value)
	r.word = binary.LittleEndian.Uint64(word[:])
	//guard: rejects a BOOL other than 0 and 1
	if r.packed && r.word > 1 {
		return damaged(damage.Value, r.at, "a BOOL of %d", r.word)
	}
	for w := r.width; w < 8; w *= 2 {
		r.word |= r.word << (8 * w)
	}
	return nil
}

// append appends n values.
func (r *runs) append(dst []byte, n int) ([]byte, error) {
	dst = slices.Grow(dst, n*r.width)
	for n > 0 {
		if r.left == 0 {
			if err := r.next(); err != nil {
				return dst, err
			}
		}
		m := min(n, r.left)
		switch {
		case !r.literal:
			dst = appendWords(dst, r.word, m*r.width)
		case r.packed:
			dst = appendBools(dst, r.body, r.at, m)
			r.at += m
		default:
			dst = append(dst, r.body[r.at:r.at+m*r.width]...)
			r.at += m * r.width
		}
		r.left -= m
		n -= m
	}
	return dst, nil
}

// appendWords appends n bytes of one word over and over.
func appendWords(dst []byte, word uint64, n int) []byte {
	for ; n >= 8; n -= 8 {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	for ; n > 0; n-- {
		dst = append(dst, byte(word))
		word >>= 8
	}
	return dst
}

// skip skips n values. If they are bits, it returns how many of them are 1.
func (r *runs) skip(n int) (set int, err error) {
	for n > 0 {
		if r.left == 0 {
			if err := r.next(); err != nil {
				return set, err
			}
		}
		m := min(n, r.left)
		switch {
		case r.literal && r.packed:
			set += countBits(r.body, r.at, m)
			r.at += m
		case r.literal:
			r.at += m * r.width
		case r.packed:
			set += m * int(r.word&1)
		}
		r.left -= m
		n -= m
	}
	return set, nil
}

// finish returns io.EOF if the last run that was read is the last of body.
func (r *runs) finish() error {
	//guard: rejects bytes after the last value
	if r.end != len(r.body) {
		return damaged(damage.Trailing, r.end, "%d bytes after the run of the last value", len(r.body)-r.end)
	}
	return io.EOF
}

// rle decodes run-length blocks.
type rle struct {
	header
	runs runs
}

// NewRLE returns a Decoder of run-length blocks of values of a fixed width: 1,
// 2, 4 or 8 bytes.
func NewRLE(width int) Decoder { return &rle{runs: runs{width: width}} }

// NewRLEBool returns a Decoder of run-length blocks of BOOL values.
func NewRLEBool() Decoder { return &rle{runs: runs{width: 1, packed: true}} }

func (d *rle) Reset(body []byte) (err error) {
	if d.header, err = parseFixedHeader(body); err != nil {
		return err
	}
	d.runs.reset(body, fixedHeader)
	return nil
}

func (d *rle) Read(v *Values, n int) (_ int, err error) {
	if d.left == 0 {
		return 0, d.runs.finish()
	}
	//guard: bounds the memory for the values of a run
	n = min(n, readLimit/d.runs.width)
	n = min(n, d.left)
	if v.Fixed, err = d.runs.append(v.Fixed, n); err != nil {
		return 0, err
	}
	d.left -= n
	return n, nil
}

func (d *rle) Skip(n int) error {
	if err := d.checkLeft(n); err != nil {
		return err
	}
	d.left -= n
	_, err := d.runs.skip(n)
	return err
}

// Bits decodes the runs of AppendBits as a Decoder decodes the values of a block.
// The zero value has no bits.
type Bits struct {
	rle rle
}

// Reset makes b begin with the first of the n bits of body, which must not change
// until the next Reset.
func (b *Bits) Reset(body []byte, n int) {
	b.rle = rle{header: header{count: n, left: n}, runs: runs{width: 1, packed: true}}
	b.rle.runs.reset(body, 0)
}

// Read appends up to n > 0 bits to v.Fixed, a byte each, and returns how many,
// as Decoder.Read.
func (b *Bits) Read(v *Values, n int) (int, error) { return b.rle.Read(v, n) }

// Skip passes over n bits and returns how many of them are 1. In a null bitmap
// these are the values of n rows.
func (b *Bits) Skip(n int) (set int, err error) {
	if err := b.rle.checkLeft(n); err != nil {
		return 0, err
	}
	b.rle.left -= n
	return b.rle.runs.skip(n)
}
