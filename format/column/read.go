package column

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// enough is how many values of sequences Read appends at most in one call, so that they fit a
// processor's cache. The next call reads on.
const enough = 1 << 14

// Read appends up to n values that the column stores per row, or per item of its parent. For
// an array column it appends up to n lengths, and the values of each. Unless n is 0 it appends
// at least one. It stops at the end of a block and may stop earlier. read is how many it
// appended. items is how many items the column's children have for them: the sum of the
// lengths, or read. At the end of the column Read returns io.EOF. If a value is damaged, Read
// stops before that value, and the next call returns the error.
func (r *Reader) Read(v *Vector, n int) (read, items int, err error) {
	if n == 0 {
		return 0, 0, nil
	}
	if r.array {
		before := v.Values
		read, err = r.readSequences(v, n)
		return read, v.Values - before, err
	}
	if err := r.fill(); err != nil {
		return 0, 0, err
	}
	k, err := r.decode(v, min(int64(n), r.values))
	r.values -= k
	if k == 0 {
		return 0, 0, r.unread(v, err)
	}
	return int(k), int(k), nil
}

// unread makes the error of decode the reader's error, unless a larger Limit of v helps.
func (r *Reader) unread(v *Vector, err error) error {
	if errors.Is(err, ErrFull) {
		if v.most() < maxVector {
			return err
		}
		return r.Fail(err)
	}
	return r.badValue(err)
}

func (r *Reader) readSequences(v *Vector, n int) (read int, err error) {
	//guard: bounds the lengths in a vector
	if n > maxVector-len(v.Lengths) {
		return 0, r.Fail(ErrFull)
	}
	for before := v.Values; read < n && v.Values-before < enough; {
		if r.repeat == 0 && r.values == 0 {
			switch {
			case fixedSize(r.typ) > 0:
				read += r.readOptional(v, n-read)
			case !v.Encoded && quickVarints(r.typ) > 0:
				read += r.readOptionalVarints(v, n-read)
			}
			if v.Encoded && read < n {
				read += r.locateSequences(v, n-read)
			}
			if read == n {
				return read, nil
			}
		}
		switch {
		case r.repeat > 0 && r.values == 0:
		//guard: rejects values beyond the block
		case read > 0 && r.pos >= len(r.data):
			return read, nil // the end of the block
		case r.lengths > 0 && r.values == 0 && r.pos < len(r.data) && r.data[r.pos]&0x81 == 0: // one small length
			r.repeat, r.repeatedLength = 1, int64(r.data[r.pos]>>1)
			r.pos++
		default:
			if err := r.startRepeat(); err != nil {
				if read > 0 {
					return read, nil // the next call returns the error
				}
				return 0, err
			}
		}
		if r.repeat == 1 && r.repeatedLength == 0 {
			v.Lengths = append(v.Lengths, 0)
			r.bit = 0
			r.repeat = 0
			r.lengths--
			read++
			continue
		}
		k := min(int64(n-read), r.repeat)
		whole, err := r.decodeRepeat(v, k)
		r.repeat -= whole
		r.lengths -= whole
		read += int(whole)
		if whole < k {
			if read == 0 {
				return 0, r.unread(v, err)
			}
			break
		}
	}
	return read, nil
}

// optionals is how many lengths readOptional reads at a time.
const optionals = 64

// readOptional appends up to n sequences of a type of fixed size, as long as each has at most
// one value. It does not branch on the length, which is often unpredictable.
func (r *Reader) readOptional(v *Vector, n int) (read int) {
	size := fixedSize(r.typ)
	n = min(n, v.most()-v.Values, enough-optionals)
	if n < optionals/4 {
		return 0
	}
	var lengths, places [optionals]int32
	for read < n {
		data, pos := r.data, r.pos
		k, values := 0, 0
		for most := int(min(int64(n-read), optionals, r.lengths)); k < most && pos+size < len(data) && data[pos]&^2 == 0; k++ {
			length := int(data[pos] >> 1)
			lengths[k] = int32(length)
			places[values&(optionals-1)] = int32(pos + 1) // values <= k: the mask spares a check
			values += length
			pos += 1 + length*size
		}
		if k == 0 {
			break
		}
		v.Lengths = append(v.Lengths, lengths[:k]...)
		v.appendPlaced(r.typ, data, places[:values])
		r.pos, r.bit = pos, 0
		r.lengths -= int64(k)
		read += k
	}
	return read
}

// readOptionalVarints is readOptional for ints and longs.
func (r *Reader) readOptionalVarints(v *Vector, n int) (read int) {
	n = min(n, v.most()-v.Values, enough-optionals)
	if n < optionals/4 {
		return 0
	}
	longest := quickVarints(r.typ)
	v.Lengths = slices.Grow(v.Lengths, n)
	if r.typ == Int {
		v.Ints = slices.Grow(v.Ints, n)
	}
	var lengths [optionals]int32
	var numbers [optionals]int64
	for read < n {
		data, pos := r.data, r.pos
		k, values := 0, 0
		for most := int(min(int64(n-read), optionals, r.lengths)); k < most && pos < len(data) && data[pos]&^2 == 0; k++ {
			length := int(data[pos] >> 1)
			number, size := quickVarint(data[pos+1:], longest)
			if size == 0 && length > 0 {
				break
			}
			lengths[k] = int32(length)
			numbers[values&(optionals-1)] = number // values <= k: the mask spares a check
			values += length
			pos += 1 + length*size
		}
		if k == 0 {
			break
		}
		v.Lengths = append(v.Lengths, lengths[:k]...)
		v.Values += values
		for _, number := range numbers[:values] {
			if r.typ == Int {
				v.Ints = append(v.Ints, int32(number))
			} else {
				v.Longs = append(v.Longs, number)
			}
		}
		r.pos, r.bit = pos, 0
		r.lengths -= int64(k)
		read += k
	}
	return read
}

// appendPlaced appends the values of a type of fixed size at places of a block.
func (v *Vector) appendPlaced(t Type, data []byte, places []int32) {
	v.Values += len(places)
	if v.Encoded {
		v.Data = data
		size := int32(fixedSize(t))
		for _, at := range places {
			v.Offsets = append(v.Offsets, at, at+size)
		}
		return
	}
	switch t {
	case Fixed32:
		for _, at := range places {
			v.Ints = append(v.Ints, int32(binary.LittleEndian.Uint32(data[at:])))
		}
	case Float:
		for _, at := range places {
			v.Floats = append(v.Floats, math.Float32frombits(binary.LittleEndian.Uint32(data[at:])))
		}
	case Fixed64:
		for _, at := range places {
			v.Longs = append(v.Longs, int64(binary.LittleEndian.Uint64(data[at:])))
		}
	case Double:
		for _, at := range places {
			v.Doubles = append(v.Doubles, math.Float64frombits(binary.LittleEndian.Uint64(data[at:])))
		}
	}
}

// locateSequences appends up to n sequences, as long as they are of the most common kind. Such
// a sequence has a length of one byte, and values whose sizes have at most two bytes.
func (r *Reader) locateSequences(v *Vector, n int) (read int) {
	data, pos := r.data, r.pos
	n = min(n, len(data)-pos, enough) // a length takes a byte
	if n <= 0 || r.lengths < int64(n) {
		return 0
	}
	varint := quickVarints(r.typ)
	sized := r.typ == String || r.typ == Bytes
	lengths, offsets := slices.Grow(v.Lengths, n), v.Offsets
	for read < n && pos < len(data) && data[pos]&0x81 == 0 {
		start, end := len(offsets), pos+1
		length := int(data[pos] >> 1)
		for k := 0; k < length; k++ {
			size := 0
			if end < len(data) && sized && data[end]&0x81 == 0 {
				size = 1 + int(data[end]>>1)
			} else if end < len(data) && varint > 0 {
				size = quickVarintSize(data[end:], varint)
			} else if end < len(data) {
				size = quickSize(r.typ, data[end:])
			}
			if size == 0 || size > len(data)-end {
				v.Lengths, v.Offsets = lengths, offsets[:start]
				return r.located(v, read, pos)
			}
			offsets = append(offsets, int32(end), int32(end+size))
			end += size
		}
		lengths, pos = append(lengths, int32(length)), end
		read++
	}
	v.Lengths, v.Offsets = lengths, offsets
	return r.located(v, read, pos)
}

// located ends locateSequences before the byte pos of the block.
func (r *Reader) located(v *Vector, read, pos int) int {
	if read > 0 {
		r.pos, r.bit = pos, 0
		r.lengths -= int64(read)
		v.Data, v.Values = r.data, len(v.Offsets)/2
	}
	return read
}

// decodeRepeat appends k sequences of the repeat. If one is damaged, it appends the sequences
// before that one, and returns the error.
func (r *Reader) decodeRepeat(v *Vector, k int64) (whole int64, err error) {
	lengths, values, pos := len(v.Lengths), v.Values, r.pos
	switch {
	case r.repeatedLength == 0:
		whole = k
	case r.typ == Boolean:
		for ; whole < k && err == nil; whole++ {
			r.bit = 0 // packing restarts at every length
			pos, values = r.pos, v.Values
			if n, failed := r.decode(v, r.repeatedLength); n < r.repeatedLength {
				err = failed
				break
			}
		}
	default:
		n, failed := r.decode(v, k*r.repeatedLength)
		if whole = n / r.repeatedLength; whole < k {
			err = failed
		}
	}
	r.bit = 0
	if err != nil && r.repeatedLength > 1 {
		// Drop the values of the sequence that failed.
		v.Truncate(r.typ, values)
		r.pos = pos
	}
	v.Lengths = slices.Grow(v.Lengths, int(whole))[:lengths+int(whole)]
	for i := range v.Lengths[lengths:] {
		v.Lengths[lengths+i] = int32(r.repeatedLength)
	}
	return whole, err
}

// decode appends the next n values of the block. If a value cannot be read, it appends the
// values before that one, and returns the error.
func (r *Reader) decode(v *Vector, n int64) (done int64, err error) {
	room := n
	if r.typ != Null {
		room = int64(max(v.most()-v.Values, 0))
	}
	k, used, b := int(min(n, room)), 0, r.data[r.pos:]
	switch {
	case r.typ == Null:
	case r.typ == Boolean:
		k = r.decodeBits(v, k)
	case v.Encoded:
		v.Data = r.data
		k, used, err = v.locate(r.typ, b, r.pos, k)
	case r.typ == Int:
		v.Ints, k, used, err = appendVarints(v.Ints, b, k, quickVarints(Int), readInt)
	case r.typ == Long:
		v.Longs, k, used, err = appendVarints(v.Longs, b, k, quickVarints(Long), readLong)
	case r.typ == String || r.typ == Bytes:
		k, used, err = v.appendSized(b, k)
	default:
		k, used = v.appendFixed(r.typ, b, k)
	}
	r.pos += used
	v.Values += k
	done = int64(k)
	switch {
	case err != nil || done == n:
	//guard: bounds the memory for repeats
	case done == room:
		err = ErrFull
	default:
		err = ErrShort
	}
	return done, err
}

// decodeBits appends up to n booleans.
func (r *Reader) decodeBits(v *Vector, n int) int {
	left := (8-int(r.bit))&7 + 8*(len(r.data)-r.pos)
	n = min(n, left)
	v.Bools = slices.Grow(v.Bools, n)
	for range n {
		if r.bit == 0 {
			r.pos++
		}
		v.Bools = append(v.Bools, r.data[r.pos-1]>>r.bit&1 == 1)
		r.bit = (r.bit + 1) & 7
	}
	return n
}

// appendFixed appends up to n values of a type of fixed size.
func (v *Vector) appendFixed(t Type, b []byte, n int) (done, used int) {
	size := fixedSize(t)
	n = min(n, len(b)/size)
	switch t {
	case Fixed32:
		v.Ints = slices.Grow(v.Ints, n)
		for i := range n {
			v.Ints = append(v.Ints, int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case Float:
		v.Floats = slices.Grow(v.Floats, n)
		for i := range n {
			v.Floats = append(v.Floats, math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case Fixed64:
		v.Longs = slices.Grow(v.Longs, n)
		for i := range n {
			v.Longs = append(v.Longs, int64(binary.LittleEndian.Uint64(b[8*i:])))
		}
	case Double:
		v.Doubles = slices.Grow(v.Doubles, n)
		for i := range n {
			v.Doubles = append(v.Doubles, math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])))
		}
	}
	return n, n * size
}

// short is the length up to which a string is copied as an array of this length, with bytes
// after the string. Such a copy needs no call. The next value overwrites the excess.
const short = 16

// appendSized appends up to n strings.
func (v *Vector) appendSized(b []byte, n int) (done, used int, err error) {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	offsets, data := slices.Grow(v.Offsets, min(n, len(b))), v.Data
	for done < n && used < len(b) {
		head, size := quickLength(b[used:])
		if head == 0 || size > len(b)-used-head {
			whole, failed := ValueSize(Bytes, b[used:])
			if err = failed; err != nil {
				break
			}
			size = len(Sized(b[used : used+whole]))
			head = whole - size
		}
		//guard: keeps offsets of strings within 32 bits
		if len(data)+size > maxVectorBytes {
			err = ErrFull
			break
		}
		from := used + head
		if size <= short && from+short <= len(b) && len(data)+short <= cap(data) {
			*(*[short]byte)(data[len(data) : len(data)+short]) = *(*[short]byte)(b[from:])
			data = data[:len(data)+size]
		} else {
			data = append(data, b[from:from+size]...)
		}
		offsets = append(offsets, int32(len(data)))
		used = from + size
		done++
	}
	v.Offsets, v.Data = offsets, data
	return done, used, err
}

// locate stores the positions of up to n values. The first value is at pos of the block.
func (v *Vector) locate(t Type, b []byte, pos, n int) (done, used int, err error) {
	n = min(n, len(b)) // a value takes at least one byte
	before := len(v.Offsets)
	v.Offsets = slices.Grow(v.Offsets, 2*n)[:before+2*n]
	offsets := v.Offsets[before:]
	if fixed := fixedSize(t); fixed > 0 {
		n = min(n, len(b)/fixed)
		for i := range n {
			offsets[2*i], offsets[2*i+1] = int32(pos+i*fixed), int32(pos+i*fixed+fixed)
		}
		v.Offsets = v.Offsets[:before+2*n]
		return n, n * fixed, nil
	}
	varint := quickVarints(t)
	for done < n && used < len(b) {
		size := 0
		if varint > 0 {
			size = quickVarintSize(b[used:], varint)
		} else if c := b[used]; c < 0x80 && c&1 == 0 {
			size = 1 + int(c>>1)
		} else {
			size = quickSize(t, b[used:])
		}
		if size == 0 || size > len(b)-used {
			if size, err = ValueSize(t, b[used:]); err != nil {
				break
			}
		}
		offsets[2*done], offsets[2*done+1] = int32(pos+used), int32(pos+used+size)
		used += size
		done++
	}
	v.Offsets = v.Offsets[:before+2*done]
	return done, used, err
}

// quickLength reads the length of a string in up to two bytes. head is 0 for longer or
// damaged lengths.
func quickLength(b []byte) (head, size int) {
	switch { // an odd length is negative
	case b[0] < 0x80 && b[0]&1 == 0:
		return 1, int(b[0] >> 1)
	case len(b) > 1 && b[1] < 0x80 && b[0]&1 == 0:
		return 2, int(b[0]&0x7f)>>1 + int(b[1])<<6
	}
	return 0, 0
}

// appendVarints appends up to n ints or longs. most is that of quickVarint, and slow reads values
// that quickVarint does not read.
func appendVarints[T int32 | int64](dst []T, b []byte, n, most int, slow func([]byte) (int64, int, error)) (_ []T, done, used int, err error) {
	dst = slices.Grow(dst, min(n, len(b)))
	for done < n && used < len(b) {
		v, size := int64(b[used]>>1)^-int64(b[used]&1), 1
		if b[used] >= 0x80 {
			v, size = quickVarint(b[used:], most)
		}
		if size == 0 {
			if v, size, err = slow(b[used:]); err != nil {
				return dst, done, used, err
			}
		}
		dst = append(dst, T(v))
		used += size
		done++
	}
	return dst, done, used, nil
}
