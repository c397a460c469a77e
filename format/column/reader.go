package column

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/rowtocol/rowtocol/format/damage"
)

// ErrNoValue is returned by Reader.Value when the sequence of the last Length has no
// more values.
var ErrNoValue = errors.New("column: no value is left of the sequence")

// Uncounted is passed to Reader.Load if the number of items in a block is not known.
const Uncounted = math.MaxInt64

// Source gives a Reader its blocks and locates its errors.
type Source interface {
	// Next gives r the next block by calling r.Load, or returns io.EOF.
	Next(r *Reader) error
	// Damaged returns the error for damage at byte pos of the last loaded block.
	Damaged(kind damage.Kind, pos int, reason string, args ...any) error
}

// Reader decodes the blocks of one column in the Interleaved layout. It is the inverse of
// a Buffer. Length and Value read one length or value. Read reads many into a Vector. Calls
// may alternate. In an array column, call Length before each sequence. Length skips unread
// values of the sequence before. In a child column, the caller must know from the lengths of
// the parent how many items a row has.
//
// Errors come from the Source: damage with its place, or io.EOF after the last value. A
// reader that failed keeps failing until a block is loaded. It belongs to one goroutine and
// allocates nothing per value.
type Reader struct {
	data []byte
	pos  int
	// values is how many values are left in the current sequence of an array column, or in
	// the block of another column. In an uncounted block it counts down from Uncounted.
	values int64
	// lengths is how many lengths are left in the block of an array column.
	lengths int64
	// repeat is the number of further lengths equal to repeatedLength.
	repeat         int64
	repeatedLength int64
	bit            uint8 // bits used of data[pos-1]; 0 at a byte's start
	typ            Type
	array          bool
	counted        bool
	repeats        bool
	err            error
	name           string
	source         Source
}

// NewReader returns a reader before the first block of source. If repeats is false, a
// negative length is damage, because the first versions of Trevni have no repeats.
func NewReader(c Column, repeats bool, source Source) *Reader {
	return &Reader{typ: c.Type, array: c.Array, name: c.Name, repeats: repeats, source: source}
}

// Load makes data the current block, which the reader keeps until the next Load. items is
// the number of lengths in the block of an array column, or of values in another block. If
// items is Uncounted, the block ends with its bytes.
func (r *Reader) Load(data []byte, items int64) {
	r.data, r.pos, r.bit, r.err = data, 0, 0, nil
	r.lengths, r.repeat, r.values = 0, 0, items
	if r.array {
		r.lengths, r.values = items, 0
	}
	r.counted = items != Uncounted
}

// Left returns how many lengths are left in the block of an array column, or how many values
// in another block. In an uncounted block the result counts down from Uncounted.
func (r *Reader) Left() int64 {
	if r.array {
		return r.lengths
	}
	return r.values
}

// Repeat returns how many lengths are left in the repeat to which the last Length belongs.
func (r *Reader) Repeat() int64 { return r.repeat }

// Pos returns the number of bytes of the block that have been read.
func (r *Reader) Pos() int { return r.pos }

// Err returns the error that the reader keeps returning, or nil.
func (r *Reader) Err() error { return r.err }

// Fail makes err the error of all calls until a block is loaded.
func (r *Reader) Fail(err error) error {
	r.data, r.pos, r.bit, r.err = nil, 0, 0, err
	r.lengths, r.repeat, r.values = 0, 0, 0
	return err
}

// Length returns the next length of an array column.
func (r *Reader) Length() (int, error) {
	if r.repeat == 0 || r.values != 0 {
		if err := r.startRepeat(); err != nil {
			return 0, err
		}
	}
	r.repeat--
	r.lengths--
	r.bit = 0
	r.values = r.repeatedLength
	return int(r.repeatedLength), nil
}

// startRepeat skips the unread values of the current sequence, and reads the next length or
// repeat unless a repeat has lengths left.
func (r *Reader) startRepeat() error {
	if !r.array {
		return fmt.Errorf("column: %q is no array column", r.name)
	}
	if r.values > 0 {
		if err := r.finishSequence(); err != nil {
			return err
		}
	}
	if r.repeat > 0 {
		return nil
	}
	if r.lengths == 0 || r.pos >= len(r.data) {
		if err := r.fill(); err != nil {
			return err
		}
	}
	if r.pos < len(r.data) && r.data[r.pos]&0x81 == 0 { // one small length
		r.repeat, r.repeatedLength = 1, int64(r.data[r.pos]>>1)
		r.pos++
		return nil
	}
	return r.readLength()
}

// Value appends the next value to dst in the encoding that the package documentation
// describes. A boolean is a byte 0 or 1, and a null has no bytes.
func (r *Reader) Value(dst []byte) ([]byte, error) {
	if r.values == 0 || r.pos >= len(r.data) {
		if err := r.ready(); err != nil {
			return dst, err
		}
	}
	switch r.typ {
	case Null:
	case Boolean:
		v, err := r.readBit()
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
	default:
		b := r.data[r.pos:]
		n := quickSize(r.typ, b)
		if n == 0 {
			var err error
			if n, err = r.slowSize(); err != nil {
				return dst, err
			}
		}
		dst = append(dst, b[:n]...)
		r.pos += n
	}
	r.values--
	return dst, nil
}

// slowSize is ValueSize of the next value, for values that quickSize does not handle.
func (r *Reader) slowSize() (int, error) {
	n, err := ValueSize(r.typ, r.data[r.pos:])
	if err != nil {
		return 0, r.badValue(err)
	}
	return n, nil
}

// Values appends the next n values of the current sequence of an array column
// to dst, as Value does.
func (r *Reader) Values(dst []byte, n int) ([]byte, error) {
	//guard: rejects values of the next sequence
	if int64(n) > r.values {
		return dst, r.noValue()
	}
	r.values -= int64(n)
	start := r.pos
	if r.typ != Boolean {
		err := r.skipValues(int64(n))
		if err != nil {
			return dst, err
		}
		return append(dst, r.data[start:r.pos]...), nil
	}
	for range n {
		v, err := r.readBit()
		if err != nil {
			return dst, err
		}
		dst = append(dst, v)
	}
	return dst, nil
}

// Bytes returns the next value of a string or bytes column without its length. The
// slice is part of the block and is valid until the next block is loaded.
func (r *Reader) Bytes() ([]byte, error) {
	if err := r.ready(); err != nil {
		return nil, err
	}
	b := r.data[r.pos:]
	n := quickSize(r.typ, b)
	if n == 0 {
		var err error
		if n, err = r.slowSize(); err != nil {
			return nil, err
		}
	}
	r.pos += n
	r.values--
	return Sized(b[:n]), nil
}

// ready makes sure that there is a next value.
func (r *Reader) ready() error {
	switch {
	case !r.array:
		return r.fill()
	case r.values > 0:
		return nil
	}
	return r.noValue()
}

func (r *Reader) noValue() error {
	if r.err != nil {
		return r.err
	}
	return ErrNoValue
}

// Skip passes over the next n items that Read would read, across blocks if needed, and
// returns the same count of items as Read.
func (r *Reader) Skip(n int64) (items int64, err error) {
	if r.array {
		return r.skipSequences(n)
	}
	return n, r.skipItems(n)
}

// fill makes sure that the block has a next length or value, or loads a block that has.
func (r *Reader) fill() error {
	for r.err == nil {
		// Nulls need no bytes, so the bytes of an uncounted block do not end them.
		if r.Left() > 0 && (r.counted || r.repeat > 0 || r.pos < len(r.data) || r.typ == Null && !r.array) {
			return nil
		}
		if err := r.EndBlock(); err != nil {
			return err
		}
		if err := r.source.Next(r); err != nil {
			r.err = err
		}
	}
	return r.err
}

// EndBlock checks that nothing is left in a block whose items have all been read.
func (r *Reader) EndBlock() error {
	//guard: rejects bytes after the values of a block
	if r.err == nil && (r.repeat > 0 || r.pos < len(r.data)) {
		return r.damaged(damage.Count, "the block's rows end %d lengths and %d bytes before its data", r.repeat, len(r.data)-r.pos)
	}
	return r.err
}

func (r *Reader) damaged(kind damage.Kind, reason string, args ...any) error {
	return r.Fail(r.source.Damaged(kind, r.pos, reason, args...))
}

func (r *Reader) badValue(err error) error {
	return r.damaged(damage.Value, "%s value at byte %d of the block: %v", r.typ, r.pos, err)
}

// endsEarly returns the damage of a column that has n items fewer than the lengths of its
// parent, or the row count, say.
func (r *Reader) endsEarly(n int64) error {
	what := "values"
	if r.array {
		what = "lengths"
	}
	return r.damaged(damage.Count, "the column ends %d %s early", n, what)
}

// readLength reads a coded length into repeat and repeatedLength.
func (r *Reader) readLength() error {
	v, n, err := readInt(r.data[r.pos:])
	if err != nil {
		return r.damaged(damage.Value, "length at byte %d of the block: %v", r.pos, err)
	}
	//guard: rejects repeats in a version of the format without them
	if v < 0 && !r.repeats {
		return r.damaged(damage.Value, "length %d at byte %d of the block, in a version of the format that has no repeats", v, r.pos)
	}
	repeat, length := int64(1), v
	if v < 0 {
		repeat, length = repeatOf(v)
	}
	//guard: rejects a repeat that reaches beyond its block
	if repeat > r.lengths {
		return r.damaged(damage.Count, "a repeat of %d lengths at byte %d of the block, which has only %d more", repeat, r.pos, r.lengths)
	}
	r.repeat, r.repeatedLength = repeat, length
	r.pos += n
	return nil
}

func (r *Reader) readBit() (byte, error) {
	if r.bit == 0 {
		if r.pos == len(r.data) {
			return 0, r.badValue(ErrShort)
		}
		r.pos++
	}
	v := r.data[r.pos-1] >> r.bit & 1
	r.bit = (r.bit + 1) & 7
	return v, nil
}

// finishSequence skips the unread values of the current sequence.
func (r *Reader) finishSequence() error {
	n := r.values
	r.values = 0
	return r.skipValues(n)
}

// skipValues skips n values of the block.
func (r *Reader) skipValues(n int64) error {
	if n == 0 || r.typ == Null {
		return nil
	}
	if r.typ == Boolean {
		return r.skipBits(n)
	}
	if size := int64(fixedSize(r.typ)); size > 0 {
		//guard: rejects a skip beyond the values
		if n > int64(len(r.data)-r.pos)/size {
			return r.badValue(ErrShort)
		}
		r.pos += int(n * size)
		return nil
	}
	if r.typ == Int || r.typ == Long {
		n -= r.skipVarints(n)
	}
	for ; n > 0; n-- {
		k := quickSize(r.typ, r.data[r.pos:])
		if k == 0 {
			var err error
			if k, err = r.slowSize(); err != nil {
				return err
			}
		}
		r.pos += k
	}
	return nil
}

// skipVarints skips up to n ints or longs, by the bytes in which they end, until it meets one
// that may be out of range. It returns how many it skipped.
func (r *Reader) skipVarints(n int64) (skipped int64) {
	const high = 0x8080808080808080
	data, pos := r.data, r.pos
	for n-skipped >= 8 && len(data)-pos >= 8 {
		word := binary.LittleEndian.Uint64(data[pos:])
		ends, more := ^word&high, word&high
		//guard: leaves varints of more than quickVarints bytes to slowSize
		if ends == 0 || r.typ == Int && more&(more>>8)&(more>>16)&(more>>24) != 0 {
			break
		}
		skipped += int64(bits.OnesCount64(ends))
		pos += 8 - bits.LeadingZeros64(ends)/8
	}
	r.pos = pos
	return skipped
}

func (r *Reader) skipBits(n int64) error {
	// Skip up to seven bits of the current byte, then whole bytes, then bits of the last byte.
	if r.bit > 0 {
		k := min(n, int64(8-r.bit))
		r.bit = (r.bit + uint8(k)) & 7
		n -= k
	}
	size := (n + 7) / 8
	//guard: rejects a skip beyond the booleans
	if size > int64(len(r.data)-r.pos) {
		return r.badValue(ErrShort)
	}
	r.pos += int(size)
	if n > 0 {
		r.bit = uint8(n & 7)
	}
	return nil
}

// skipItems skips n values of a column without lengths.
func (r *Reader) skipItems(n int64) error {
	for n > 0 {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return r.endsEarly(n)
		} else if err != nil {
			return err
		}
		k := int64(1)
		if r.counted || r.typ == Null {
			k = min(n, r.values)
		}
		if err := r.skipValues(k); err != nil {
			return err
		}
		n -= k
		r.values -= k
	}
	return nil
}

// skipSequences skips the next n sequences and returns the sum of their lengths.
func (r *Reader) skipSequences(n int64) (sum int64, err error) {
	for n > 0 {
		skipped, items := r.skipShort(n)
		// Less than n sequences of the block: the sum cannot overflow.
		if n, sum = n-skipped, sum+items; n == 0 {
			break
		}
		if err := r.startRepeat(); err != nil {
			if errors.Is(err, io.EOF) {
				return 0, r.endsEarly(n)
			}
			return 0, err
		}
		k := min(n, r.repeat)
		if sum, err = r.addLengths(sum, k); err != nil {
			return 0, err
		}
		r.bit = 0
		if r.typ == Boolean && r.repeat > 1 {
			// Packing restarts at every length: each value has a byte of its own.
			err = r.skipBits(8 * k * r.repeatedLength)
		} else {
			err = r.skipValues(k * r.repeatedLength)
		}
		if err != nil {
			return 0, err
		}
		r.repeat -= k
		r.lengths -= k
		n -= k
	}
	return sum, nil
}

// skipShort skips up to n sequences while their lengths and repeats take one byte, and their values
// are short. It returns how many it skipped, and the sum of their lengths.
func (r *Reader) skipShort(n int64) (skipped, sum int64) {
	fixed, varint := fixedSize(r.typ), quickVarints(r.typ)
	sized := r.typ == String || r.typ == Bytes
	if r.repeat > 0 || r.values > 0 || fixed == 0 && varint == 0 && !sized && r.typ != Null {
		return 0, 0
	}
	data, pos := r.data, r.pos
	n = min(n, r.lengths)
sequences:
	for skipped < n && pos < len(data) && data[pos] < 0x80 {
		repeat, values := int64(1), int64(data[pos]>>1)
		if data[pos]&1 != 0 {
			var length int64
			repeat, length = repeatOf(-values - 1)
			//guard: leaves a repeat in a version of the format without them to readLength
			if !r.repeats {
				break
			}
			if repeat > n-skipped {
				break // readLength takes a part of it, or rejects it
			}
			values = repeat * length
		}
		end := pos + 1 + int(values)*fixed
		for k := values; k > 0 && fixed == 0 && r.typ != Null; k-- {
			size := 0
			if varint > 0 && end < len(data) {
				size = quickVarintSize(data[end:], varint)
			} else if end < len(data) && data[end]&0x81 == 0 {
				size = 1 + int(data[end]>>1)
			}
			if size == 0 {
				break sequences
			}
			end += size
		}
		//guard: rejects a skip beyond the values
		if end > len(data) {
			break
		}
		pos = end
		sum += values
		skipped += repeat
	}
	if skipped > 0 {
		r.pos, r.bit = pos, 0
		r.lengths -= skipped
	}
	return skipped, sum
}

// repeatOf returns how many equal lengths a negative coded length stands for, and that length.
func repeatOf(coded int64) (repeat, length int64) { return 1 + (1-coded)>>1, (coded + 1) & 1 }

// addLengths adds k lengths of the repeat to sum.
func (r *Reader) addLengths(sum, k int64) (int64, error) {
	//guard: rejects a sum of lengths that overflows
	if r.repeatedLength > 0 && k > (math.MaxInt64-sum)/r.repeatedLength {
		return 0, r.damaged(damage.Count, "the lengths add up to more than 2^63")
	}
	return sum + k*r.repeatedLength, nil
}
