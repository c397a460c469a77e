package encoding

// Values are values of one physical type side by side, none of them null.
// Those of a fixed width are in Fixed, those of any length in Offsets and Data.
// The zero value holds none.
type Values struct {
	// Fixed holds values of a fixed width as they are in memory: little-endian
	// and without gaps; of BOOL a byte each, 0 or 1.
	Fixed []byte
	// Offsets says where BINARY values are: value i is
	// Data[Offsets[i]:Offsets[i+1]]. It is empty, or begins with 0 and is one
	// longer than there are values.
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

// endBinary makes the bytes after the last value of Data one more value.
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

// readLimit is how many bytes one call of Read appends before it ends: memory
// must not grow with what a block claims.
const readLimit = 1 << 20

// Decoder gives the values of the blocks of one encoding and type, one block
// after the other. It decodes as values are read: a block that claims to hold
// 2³¹ values takes no more memory than its own bytes. Errors about the bytes
// are *damage.Error with offsets in the body and no file. After an error,
// a Decoder is good for nothing but another Reset.
type Decoder interface {
	// Reset makes d begin with the block of the body, which must not change until the
	// next Reset. Its checks take no time per value.
	Reset(body []byte) error
	// Count is the number of values in the block; in a nullable one, of those
	// that are not null.
	Count() int
	// Ordinal is the number of the block's first row, by what the block says.
	Ordinal() uint32
	// Read appends up to n > 0 values to v and returns how many. They may be
	// fewer before the end, but not none: a call appends little more than
	// 1 MiB, or than the bytes of the body if those are more. At the end it
	// returns 0, io.EOF, or the damage that there is after the last value.
	// With another error, what it appended is undefined.
	Read(v *Values, n int) (int, error)
	// Skip passes over n values; there must be as many.
	Skip(n int) error
}
