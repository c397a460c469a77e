package parquet

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// valueReader reads the values of a page. Its errors are damage without a place, or
// column.ErrFull.
type valueReader struct {
	leaf    *leaf
	symbols map[string]int32 // ordinals of an enum's symbols
	coding  coding
	plain   []byte // what is left of PLAIN, or all of BYTE_STREAM_SPLIT
	at      int    // bit of PLAIN booleans, or value of BYTE_STREAM_SPLIT
	hybrid  encoding.HybridDecoder
	words   *words
	indexes []uint32 // of words, while they are read
	text    int64    // bytes that strings may still have
	unsized bool     // the index does not say how many bytes they have

	*deltaDecoders               // nil before they are needed
	scratch        column.Vector // text of an enum, or bytes of BYTE_STREAM_SPLIT in Data
}

// deltaDecoders decode encodings that are seldom used. They are large.
type deltaDecoders struct {
	ints    encoding.DeltaDecoder[int32]
	longs   encoding.DeltaDecoder[int64]
	lengths encoding.DeltaLengthDecoder
	shared  encoding.DeltaBytesDecoder
}

// coding is how the values of a page are read.
type coding uint8

const (
	codedPlain coding = iota
	codedWords
	codedBits // booleans in the encoding RLE
	codedDelta
	codedLengths
	codedShared
	codedSplit
)

// newValueReader returns a reader for a leaf's values.
func newValueReader(l *leaf) valueReader {
	v := valueReader{leaf: l}
	if l.Symbols != nil {
		v.symbols = make(map[string]int32, len(l.Symbols))
		for i, s := range l.Symbols {
			v.symbols[s] = int32(i)
		}
	}
	return v
}

func bad(kind damage.Kind, reason string, args ...any) error {
	return damage.New(kind, "", -1, reason, args...)
}

// undecodable returns the error of a decoder as damage, or column.ErrFull.
func undecodable(err error) error {
	switch {
	case err == nil || errors.As(err, new(*damage.Error)):
		return err
	case errors.Is(err, encoding.ErrFull) || errors.Is(err, column.ErrFull):
		return column.ErrFull
	}
	d := damage.New(damage.Value, "", -1, "the values cannot be decoded")
	d.Err = cutShort(err)
	return d
}

// textual reports whether values are strings of bytes in the file.
func (l *leaf) textual() bool {
	return l.physical == pq.ByteArray || l.physical == pq.FixedLenByteArray
}

// reset moves to the first value of a page. text is how many bytes the page's strings may have.
func (v *valueReader) reset(page *loadedPage, w *words, text int64) error {
	v.plain, v.at, v.words, v.text = page.values, 0, w, text
	if v.leaf.Type == column.Null {
		return nil
	}
	switch e := page.encoding; {
	case dictionaryCoded(e):
		return v.beginWords(page.values)
	case e == pq.RLE && v.leaf.physical == pq.Boolean:
		return v.beginBits(page.values)
	case e == pq.ByteStreamSplit && v.leaf.width() > 0:
		v.coding = codedSplit
		return nil
	case e == pq.Plain || len(page.values) == 0: // without values, any encoding is good
		v.coding = codedPlain
		return nil
	}
	return undecodable(v.beginDelta(page))
}

// beginDelta begins the encodings of differences between values.
func (v *valueReader) beginDelta(page *loadedPage) error {
	if v.deltaDecoders == nil {
		v.deltaDecoders = new(deltaDecoders)
	}
	texts := v.leaf.physical == pq.ByteArray
	switch e := page.encoding; {
	case e == pq.DeltaBinaryPacked && v.leaf.physical == pq.Int32:
		v.coding = codedDelta
		return v.ints.Reset(page.values)
	case e == pq.DeltaBinaryPacked && v.leaf.physical == pq.Int64:
		v.coding = codedDelta
		return v.longs.Reset(page.values)
	case e == pq.DeltaLengthByteArray && texts:
		v.coding = codedLengths
		return v.lengths.Reset(page.values)
	case e == pq.DeltaByteArray && v.leaf.textual():
		v.coding = codedShared
		return v.shared.Reset(page.values)
	//guard: refuses encodings that cannot be decoded
	default:
		return bad(damage.Unsupported, "the encoding %v (%d) of values of the type %v", e, int32(e), v.leaf.physical)
	}
}

// beginWords begins indexes of the dictionary.
func (v *valueReader) beginWords(b []byte) error {
	if v.coding = codedWords; v.words == nil {
		v.words = new(words) // there is no dictionary, and there should be no values
	}
	if len(b) == 0 { // no values
		v.hybrid.Reset(nil, 0)
		return nil
	}
	//guard: rejects indexes of more than 32 bits
	if b[0] > 32 {
		return bad(damage.Value, "indexes of %d bits", b[0])
	}
	v.hybrid.Reset(b[1:], int(b[0]))
	return nil
}

// beginBits begins booleans in the encoding RLE.
func (v *valueReader) beginBits(b []byte) error {
	v.coding = codedBits
	//guard: rejects booleans beyond the page
	if len(b) > 0 && (len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)-4)) {
		return bad(damage.Size, "booleans of another size than the %d bytes that the page has for them", len(b))
	}
	v.hybrid.Reset(b[min(4, len(b)):], 1)
	return nil
}

// read appends the next n values. After an error the vector must be truncated.
func (v *valueReader) read(dst *column.Vector, n int) error {
	if n == 0 {
		return nil
	}
	if v.leaf.Type == column.Null {
		dst.Values += n
		return nil
	}
	before := len(dst.Data)
	var err error
	switch {
	case v.coding == codedWords:
		err = v.readWords(dst, n)
	case v.leaf.physical == pq.Boolean:
		err = v.readBools(dst, n)
	case v.symbols != nil:
		err = v.readSymbols(dst, n)
	case v.leaf.textual():
		err = v.readText(dst, n)
	default:
		err = v.readNumbers(dst, n)
	}
	if err != nil {
		return undecodable(err)
	}
	grown := int64(len(dst.Data) - before)
	//guard: rejects more text than the page should have
	if grown > v.text {
		return v.tooLong()
	}
	v.text -= grown
	dst.Values += n
	return nil
}

// readNumbers appends numbers that are not in a dictionary.
func (v *valueReader) readNumbers(dst *column.Vector, n int) error {
	if v.leaf.unit == unitEqual {
		return v.readStored(dst, n)
	}
	s := &v.scratch
	for n > 0 {
		some := min(n, levelWindow)
		s.Longs = s.Longs[:0]
		if err := v.readStored(s, some); err != nil {
			return err
		}
		if err := v.leaf.appendRows(dst, s.Longs); err != nil {
			return err
		}
		n -= some
	}
	return nil
}

// readStored appends stored numbers.
func (v *valueReader) readStored(dst *column.Vector, n int) (err error) {
	src := v.plain
	switch v.coding {
	case codedDelta:
		if v.leaf.physical == pq.Int32 {
			dst.Ints, err = readDelta(&v.ints, dst.Ints, n)
		} else {
			dst.Longs, err = readDelta(&v.longs, dst.Longs, n)
		}
		return err
	case codedSplit:
		if v.scratch.Data, err = encoding.DecodeSplit(v.scratch.Data[:0], v.plain, v.leaf.width(), v.at, n); err != nil {
			return err
		}
		src = v.scratch.Data
	}
	switch v.leaf.physical {
	case pq.Int32:
		dst.Ints, src, err = encoding.DecodePlainInt32(dst.Ints, src, n)
	case pq.Int64:
		dst.Longs, src, err = encoding.DecodePlainInt64(dst.Longs, src, n)
	case pq.Float:
		dst.Floats, src, err = encoding.DecodePlainFloat(dst.Floats, src, n)
	default:
		dst.Doubles, src, err = encoding.DecodePlainDouble(dst.Doubles, src, n)
	}
	if v.coding == codedSplit {
		v.at += n
	} else if err == nil {
		v.plain = src
	}
	return err
}

func readDelta[T int32 | int64](d *encoding.DeltaDecoder[T], dst []T, n int) ([]T, error) {
	//guard: rejects more values than there are, before memory is allocated for them
	if n > d.Count() {
		return dst, io.ErrUnexpectedEOF
	}
	from := len(dst)
	dst = slices.Grow(dst, n)[:from+n]
	_, err := d.Read(dst[from:])
	return dst, err
}

// readBools appends booleans.
func (v *valueReader) readBools(dst *column.Vector, n int) (err error) {
	if v.coding == codedPlain {
		if dst.Bools, err = encoding.DecodePlainBools(dst.Bools, v.plain, v.at, n); err == nil {
			v.at += n
		}
		return err
	}
	var some [levelWindow]uint32
	for n > 0 {
		values := some[:min(n, len(some))]
		if _, err := v.hybrid.Read(values); err != nil {
			return err
		}
		for _, b := range values {
			dst.Bools = append(dst.Bools, b != 0)
		}
		n -= len(values)
	}
	return nil
}

// readText appends strings that are not in a dictionary.
func (v *valueReader) readText(dst *column.Vector, n int) (err error) {
	offsets, data, rest, fixed := dst.Offsets, dst.Data, v.plain, v.leaf.physical == pq.FixedLenByteArray
	values := max(len(offsets)-1, 0)
	switch {
	case v.coding == codedLengths:
		offsets, data, err = v.lengths.Read(offsets, data, n)
	case v.coding == codedShared:
		offsets, data, err = v.readShared(offsets, data, n)
		if err == nil && fixed {
			err = v.checkSizes(offsets[values:])
		}
	case v.coding == codedSplit:
		if v.scratch.Data, err = encoding.DecodeSplit(v.scratch.Data[:0], v.plain, v.leaf.size, v.at, n); err == nil {
			offsets, data, _, err = encoding.DecodePlainFixed(offsets, data, v.scratch.Data, n, v.leaf.size)
			v.at += n
		}
	case fixed:
		offsets, data, rest, err = encoding.DecodePlainFixed(offsets, data, rest, n, v.leaf.size)
	default:
		offsets, data, rest, err = encoding.DecodePlainBytes(offsets, data, rest, n)
	}
	if err == nil {
		dst.Offsets, dst.Data, v.plain = offsets, data, rest
	}
	return err
}

// readShared appends values that share bytes with the value before. A few bytes can stand for
// values of any size, so it checks their sizes on the way.
func (v *valueReader) readShared(offsets []int32, data []byte, n int) (_ []int32, _ []byte, err error) {
	before := len(data)
	for step := 1; n > 0; {
		at := len(data)
		if offsets, data, err = v.shared.Read(offsets, data, step); err != nil {
			return offsets, data, err
		}
		//guard: bounds the text that shared bytes expand to
		if int64(len(data)-before) > v.text {
			return offsets, data, v.tooLong()
		}
		n -= step
		if step = min(n, sharedStep); len(data)-at > sharedSize {
			step = min(n, 1)
		}
	}
	return offsets, data, nil
}

// Values that share bytes are read sharedStep at a time, unless the last ones had more than
// sharedSize bytes.
const (
	sharedStep = 32
	sharedSize = 64 << 10
)

func (v *valueReader) tooLong() error {
	if v.unsized {
		return bad(damage.Unsupported, "the values have more bytes than a page may have")
	}
	return bad(damage.Size, "the values have more bytes than the page may have: %d are left", v.text)
}

// longest returns a bound of the size of a string if a few bytes can stand for many strings. Else it
// is 0.
func (v *valueReader) longest() int {
	switch {
	case !v.leaf.textual() || v.symbols != nil:
		return 0
	case v.coding == codedWords && v.words != nil && v.words.places == nil:
		return v.leaf.size
	case v.coding == codedWords && v.words != nil:
		return v.words.longest
	case v.coding == codedShared:
		return len(v.plain)
	}
	return 0
}

// checkSizes checks the sizes of values of FIXED_LEN_BYTE_ARRAY.
func (v *valueReader) checkSizes(offsets []int32) error {
	for i := 1; i < len(offsets); i++ {
		//guard: rejects a value of another size
		if n := offsets[i] - offsets[i-1]; int(n) != v.leaf.size {
			return bad(damage.Size, "a value of %d bytes, expected %d", n, v.leaf.size)
		}
	}
	return nil
}

// readSymbols appends ordinals of an enum, whose text is not in a dictionary. It decodes the text
// of a few values at a time. Values that share bytes are decoded one by one, because a few bytes
// can stand for much text that is no symbol.
func (v *valueReader) readSymbols(dst *column.Vector, n int) error {
	step := sharedStep
	if v.coding == codedShared {
		step = 1
	}
	s := &v.scratch
	for n > 0 {
		some := min(n, step)
		s.Offsets, s.Data = s.Offsets[:0], s.Data[:0]
		if err := v.readText(s, some); err != nil {
			return err
		}
		for i := range some {
			ordinal, err := v.ordinal(s.Data[s.Offsets[i]:s.Offsets[i+1]])
			if err != nil {
				return err
			}
			dst.Ints = append(dst.Ints, ordinal)
		}
		n -= some
	}
	return nil
}

func (v *valueReader) ordinal(text []byte) (int32, error) {
	ordinal, ok := v.symbols[string(text)]
	//guard: rejects a text that is not a symbol
	if !ok {
		return 0, bad(damage.Value, "%.60q is not a symbol of the enum", text)
	}
	return ordinal, nil
}

// skip passes over n values.
func (v *valueReader) skip(n int) (err error) {
	switch {
	case n == 0 || v.leaf.Type == column.Null:
		return nil
	case v.coding == codedWords || v.coding == codedBits:
		err = v.hybrid.Skip(n)
	case v.coding == codedDelta && v.leaf.physical == pq.Int32:
		err = v.ints.Skip(n)
	case v.coding == codedDelta:
		err = v.longs.Skip(n)
	case v.coding == codedLengths:
		err = v.lengths.Skip(n)
	case v.coding == codedShared:
		err = v.shared.Skip(n)
	case v.coding == codedSplit || v.leaf.physical == pq.Boolean:
		v.at += n // read checks it
	case v.leaf.physical == pq.ByteArray:
		v.plain, err = encoding.SkipPlainBytes(v.plain, n)
	default:
		size := v.leaf.width()
		//guard: rejects a skip beyond the values
		if n > len(v.plain)/size {
			return undecodable(io.ErrUnexpectedEOF)
		}
		v.plain = v.plain[n*size:]
	}
	return undecodable(err)
}

// end returns an error if the page has bytes after its values, which were all read.
func (v *valueReader) end() error {
	rest := 0
	switch {
	case v.leaf.Type == column.Null && !v.leaf.presence:
		rest = len(v.plain)
	case v.leaf.Type == column.Null || v.coding != codedPlain && v.coding != codedSplit:
	case v.coding == codedSplit:
		rest = len(v.plain) - v.at*v.leaf.width()
	case v.leaf.physical == pq.Boolean:
		rest = len(v.plain) - (v.at+7)/8
	default:
		rest = len(v.plain)
	}
	//guard: rejects values that belong to no row
	if rest != 0 {
		return bad(damage.Count, "%d bytes after the values of the page", rest)
	}
	return nil
}
