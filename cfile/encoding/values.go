package encoding

// Values holds values of one physical type, none of them null. Values of a fixed
// width are in Fixed, others in Offsets and Data. The zero Values is empty.
type Values struct {
	// Fixed holds values of a fixed width, little-endian and without gaps. A BOOL
	// takes a byte, 0 or 1.
	Fixed []byte
	// Offsets says where BINARY values are: value i is Data[Offsets[i]:Offsets[i+1]]. It is
	// empty, or begins with 0 and has one more element than there are values.
	Offsets []uint32
	// Data holds the bytes of BINARY values, less than 4 GiB in all.
	Data []byte
}

// Reset empties v and keeps its memory.
func (v *Values) Reset() {
	v.Fixed, v.Offsets, v.Data = v.Fixed[:0], v.Offsets[:0], v.Data[:0]
}

// AppendBinary appends a BINARY value.
func (v *Values) AppendBinary(value []byte) {
	v.Data = append(v.Data, value...)
	v.endBinary()
}

// endBinary adds the bytes of Data after the last value as one more value.
func (v *Values) endBinary() {
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	v.Offsets = append(v.Offsets, uint32(len(v.Data)))
}

// Binary returns the BINARY value i. It is a part of v.Data.
func (v *Values) Binary(i int) []byte {
	return v.Data[v.Offsets[i]:v.Offsets[i+1]]
}

// BinaryLen returns the number of BINARY values.
func (v *Values) BinaryLen() int {
	return max(0, len(v.Offsets)-1)
}

// readLimit is the number of bytes after which a call of Read ends, because memory must not grow
// with the size that a block claims.
const readLimit = 1 << 20

// Decoder reads the values of blocks of one encoding and type, one block after the other. It
// decodes values only when they are read, so a block that claims to hold 2³¹ values needs no more
// memory than its bytes. Errors about the bytes are *damage.Error with offsets in the body and no
// file. After an error, only Reset may be called.
type Decoder interface {
	// Reset begins to decode the block with the given body, which must not change until the
	// next Reset. Its time does not depend on the number of values.
	Reset(body []byte) error
	// Count returns the number of values in the block, which are not null.
	Count() int
	// Ordinal returns the number of the block's first row that the block records.
	Ordinal() uint32
	// Read appends up to n > 0 values to v and returns how many. Before the end it appends at
	// least one, but may append fewer than n: a call appends little more than 1 MiB, or little
	// more than the size of the body if that is larger. At the end Read returns 0 and io.EOF, or
	// the damage after the last value. After another error the appended values are undefined.
	Read(v *Values, n int) (int, error)
	// Skip passes over n values. It fails if fewer are left.
	Skip(n int) error
}
