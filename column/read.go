package column

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
)

// Read appends the next n of what the column stores per row, or per item of
// its parent, over blocks if need be: for an array column n lengths and their
// values, else n values. It returns how many items that gives the column's
// children: the sum of the lengths, or n. A column that ends before is damage:
// the caller counts on the rows of the file, or the lengths of the parent. After
// an error the vector holds a part.
func (r *Reader) Read(v *Vector, n int) (items int, err error) {
	if r.array {
		return r.readSequences(v, n)
	}
	left := int64(n)
	for left > 0 {
		if err := r.fill(); errors.Is(err, io.EOF) {
			return 0, r.endsEarly(left)
		} else if err != nil {
			return 0, err
		}
		k, err := r.decode(v, min(left, r.values))
		if err != nil {
			return 0, err
		}
		if k == 0 {
			return 0, r.badValue(ErrShort)
		}
		left -= k
		r.values -= k
	}
	return n, nil
}

func (r *Reader) readSequences(v *Vector, n int) (items int, err error) {
	//guard: more lengths would be taken than a vector may hold
	if n > maxVector-len(v.Lengths) {
		return 0, r.Fail(ErrFull)
	}
	before := v.Values
	for left := int64(n); left > 0; {
		if r.run == 0 || r.values != 0 {
			if err := r.startRun(); err != nil {
				if errors.Is(err, io.EOF) {
					err = r.endsEarly(left)
				}
				return 0, err
			}
		}
		k := min(left, r.run)
		start := len(v.Lengths)
		v.Lengths = slices.Grow(v.Lengths, int(k))[:start+int(k)]
		for i := range v.Lengths[start:] {
			v.Lengths[start+i] = int32(r.runLength)
		}
		if err := r.decodeRun(v, k); err != nil {
			return 0, err
		}
		r.run -= k
		r.lengths -= k
		left -= k
	}
	return v.Values - before, nil
}

// decodeRun appends the values of k sequences of the run.
func (r *Reader) decodeRun(v *Vector, k int64) error {
	r.bit = 0
	if r.runLength == 0 {
		return nil
	}
	step := k * r.runLength
	if r.typ == Boolean {
		step = r.runLength // packing restarts at every length
	}
	for n := k * r.runLength; n > 0; n -= step {
		r.bit = 0
		if done, err := r.decode(v, step); err != nil {
			return err
		} else if done < step {
			return r.badValue(ErrShort)
		}
	}
	return nil
}

// decode appends the next n values of the block, or as many as its bytes hold.
func (r *Reader) decode(v *Vector, n int64) (done int64, err error) {
	//guard: a few bytes of runs could fill memory
	if n > int64(maxVector-v.Values) {
		return 0, r.Fail(ErrFull)
	}
	k, used, b := int(n), 0, r.data[r.pos:]
	switch r.typ {
	case Null:
	case Boolean:
		k = r.decodeBits(v, k)
	case Int:
		v.Ints, k, used, err = appendVarints(v.Ints, b, k, readInt)
	case Long:
		v.Longs, k, used, err = appendVarints(v.Longs, b, k, readLong)
	case String, Bytes:
		k, used, err = v.appendSized(b, k)
	default:
		k, used = v.appendFixed(r.typ, b, k)
	}
	r.pos += used
	v.Values += k
	if err == nil {
		return int64(k), nil
	}
	if errors.Is(err, ErrFull) {
		return 0, r.Fail(err)
	}
	return 0, r.badValue(err)
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
	size := 8
	if t == Fixed32 || t == Float {
		size = 4
	}
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

// appendSized appends up to n strings.
func (v *Vector) appendSized(b []byte, n int) (done, used int, err error) {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	v.Offsets = slices.Grow(v.Offsets, min(n, len(b)))
	for done < n && used < len(b) {
		size := quickSize(Bytes, b[used:])
		if size == 0 {
			if size, err = ValueSize(Bytes, b[used:]); err != nil {
				return done, used, err
			}
		}
		//guard: offsets of strings would not fit 32 bits
		if len(v.Data)+size > maxVectorBytes {
			return done, used, ErrFull
		}
		v.Data = append(v.Data, Sized(b[used:used+size])...)
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
		used += size
		done++
	}
	return done, used, nil
}

// appendVarints appends up to n ints or longs; slow reads what quickVarint does not.
func appendVarints[T int32 | int64](dst []T, b []byte, n int, slow func([]byte) (int64, int, error)) (_ []T, done, used int, err error) {
	dst = slices.Grow(dst, min(n, len(b)))
	for done < n && used < len(b) {
		v, size := quickVarint(b[used:])
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

// quickVarint reads a varint of up to three bytes; size is 0 for others.
func quickVarint(b []byte) (v int64, size int) {
	var u uint32
	switch {
	case b[0] < 0x80:
		u, size = uint32(b[0]), 1
	case len(b) > 2 && b[1] < 0x80:
		u, size = uint32(b[0]&0x7f)|uint32(b[1])<<7, 2
	case len(b) > 2 && b[2] < 0x80:
		u, size = uint32(b[0]&0x7f)|uint32(b[1]&0x7f)<<7|uint32(b[2])<<14, 3
	default:
		return 0, 0
	}
	return int64(u>>1) ^ -int64(u&1), size
}
