package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
)

// bitsAhead is how many bits of a null bitmap are decoded at once.
const bitsAhead = 4096

// shuffledMemory is the memory of a decoder of bit-shuffled values or codes, in bytes: the
// sub-block that it holds, its rows of bits, and values or codes that wait to be read.
const shuffledMemory = 20 << 10

// rowDecoder decodes the rows of a file's data blocks, one block after another. Damage has
// offsets in the block. After an error only reset may be called.
type rowDecoder struct {
	f      *File
	values encoding.Decoder // made for the first block
	held   int64            // bytes reserved for values
	body   int              // offset of the values in the block
	rows   int              // number of rows in the block
	left   int              // number of rows that were not read yet

	bits  encoding.Bits
	ahead encoding.Values // bits that are decoded, in Fixed
	used  int             // bits of ahead that were read
	rest  encoding.Values // values after the last row: none in a sound block
}

// reset begins to decode a block, which must not change until the next reset.
func (d *rowDecoder) reset(raw []byte) error {
	if d.values == nil {
		if err := d.begin(); err != nil {
			return err
		}
	}
	d.rows, d.left, d.body, d.used = 0, 0, 0, 0
	d.ahead.Reset()
	rows, bitmap := -1, []byte(nil)
	if d.f.footer.Nullable {
		var err error
		if rows, bitmap, d.body, err = parseNullable(raw); err != nil {
			return err
		}
		d.bits.Reset(bitmap, rows)
	}
	if err := d.values.Reset(raw[d.body:]); err != nil {
		return d.inBody(err)
	}
	if !d.f.footer.Nullable {
		rows = d.values.Count()
	}
	//guard: rejects a block without rows
	if rows == 0 {
		return damage.New(damage.Count, "", 0, "a data block without rows")
	}
	d.rows, d.left = rows, rows
	return nil
}

// begin makes the decoder of the values. Its memory is reserved, because each of many columns has
// a decoder for each reader.
func (d *rowDecoder) begin() error {
	t := d.f.footer.Type.Physical()
	if e := d.f.footer.Encoding.resolve(t); e == Dict || e == Bitshuffle {
		if err := d.f.memory.Reserve(shuffledMemory); err != nil {
			return fmt.Errorf("%s: a decoder of %d bytes: %w", d.f.name, shuffledMemory, err)
		}
		d.held = shuffledMemory
	}
	values, err := d.f.newDecoder()
	if err != nil {
		d.close()
		return err
	}
	d.values = values
	return nil
}

// close releases the memory of the decoder.
func (d *rowDecoder) close() {
	d.f.memory.Release(d.held)
	d.held = 0
}

// parseNullable reads the start of a nullable block: the number of rows and their bitmap. The
// values begin at body.
func parseNullable(raw []byte) (rows int, bitmap []byte, body int, err error) {
	count, n := binary.Uvarint(raw)
	//guard: rejects a number of rows that is cut short
	if n <= 0 || count > math.MaxUint32 {
		return 0, nil, 0, damage.New(damage.Count, "", 0, "the number of rows is cut short or too large")
	}
	size, m := binary.Uvarint(raw[n:])
	body = n + m
	//guard: rejects a bitmap that reaches beyond the block
	if m <= 0 || size > uint64(len(raw)-body) {
		return 0, nil, 0, damage.New(damage.Size, "", int64(n), "a null bitmap of %d bytes, %d remain", size, len(raw)-n)
	}
	bitmap = raw[body : body+int(size)]
	return int(count), bitmap, body + int(size), nil
}

// newDecoder returns a decoder of the file's values.
func (f *File) newDecoder() (encoding.Decoder, error) {
	t := f.footer.Type.Physical()
	switch e := f.footer.Encoding.resolve(t); {
	case e == Dict:
		words, err := f.dictionary()
		if err != nil {
			return nil, err
		}
		return encoding.NewDict(words), nil
	case e == Prefix:
		return encoding.NewPrefix(), nil
	case e == GroupVarint:
		return encoding.NewGroupVarint(), nil
	case e == RLE && t == Bool:
		return encoding.NewRLEBool(), nil
	case e == RLE:
		return encoding.NewRLE(t.Width()), nil
	case e == Bitshuffle && t == Uint32:
		return encoding.NewBitshuffleNarrow(), nil
	case e == Bitshuffle:
		return encoding.NewBitshuffle(t.Width()), nil
	case t == Bool:
		return encoding.NewPlainBool(), nil
	case t == Binary:
		return encoding.NewPlainBinary(), nil
	default:
		return encoding.NewPlain(t.Width()), nil
	}
}

// ordinal returns the number of the first row, which the block records.
func (d *rowDecoder) ordinal() int64 { return int64(d.values.Ordinal()) }

// read appends up to n > 0 of the rows that are left to r and returns their number. Without an
// error, the number is at least one.
func (d *rowDecoder) read(r *Rows, n int) (int, error) {
	n = min(n, d.left)
	var err error
	if d.f.footer.Nullable {
		n, err = d.readNullable(r, n)
	} else {
		n, err = d.readValues(&r.Values, n)
	}
	d.left -= n
	return n, err
}

// readValues reads up to n values, and at least one unless n is 0.
func (d *rowDecoder) readValues(v *encoding.Values, n int) (int, error) {
	if n == 0 {
		return 0, nil
	}
	n, err := d.values.Read(v, n)
	if errors.Is(err, io.EOF) {
		return 0, damage.New(damage.Count, "", 0, "more rows with a value than the %d values", d.values.Count())
	}
	return n, d.inBody(err)
}

func (d *rowDecoder) readNullable(r *Rows, n int) (int, error) {
	valid, err := d.validity(n)
	if err != nil {
		return 0, err
	}
	want := bytes.Count(valid, []byte{1})
	got, err := d.readValues(&r.Values, want)
	if err != nil {
		return 0, err
	}
	if got < want {
		valid = valid[:nth(valid, got)]
	}
	r.Valid = append(r.Valid, valid...)
	d.used += len(valid)
	return len(valid), nil
}

// validity returns the next 1 to n bits of the bitmap, each as a byte. The caller adds their
// number to d.used.
func (d *rowDecoder) validity(n int) ([]byte, error) {
	if d.used == len(d.ahead.Fixed) {
		d.ahead.Reset()
		d.used = 0
		if _, err := d.bits.Read(&d.ahead, bitsAhead); err != nil {
			return nil, d.inBitmap(err)
		}
	}
	bits := d.ahead.Fixed[d.used:]
	return bits[:min(n, len(bits))], nil
}

// nth returns the index of the 1 in valid that follows n other ones. valid has more than n.
func nth(valid []byte, n int) int {
	for i, v := range valid {
		if n -= int(v); n < 0 {
			return i
		}
	}
	return len(valid)
}

// skip passes over n of the rows that are left and returns how many of them have a value.
func (d *rowDecoder) skip(n int) (values int, err error) {
	d.left -= n
	values = n
	if d.f.footer.Nullable {
		ahead := d.ahead.Fixed[d.used:]
		ahead = ahead[:min(n, len(ahead))]
		d.used += len(ahead)
		if values, err = d.bits.Skip(n - len(ahead)); err != nil {
			return 0, d.inBitmap(err)
		}
		values += bytes.Count(ahead, []byte{1})
	}
	return values, d.inBody(d.values.Skip(values))
}

// end checks that a block ends after its rows, all of which were read.
func (d *rowDecoder) end() error {
	d.rest.Reset()
	n, err := d.values.Read(&d.rest, 1)
	//guard: rejects more values than the rows take
	if n > 0 {
		return damage.New(damage.Count, "", int64(d.body), "more values than rows with a value, of %d rows", d.rows)
	}
	if !errors.Is(err, io.EOF) {
		return d.inBody(err)
	}
	if d.f.footer.Nullable {
		if _, err := d.bits.Read(&d.rest, 1); !errors.Is(err, io.EOF) {
			return d.inBitmap(err)
		}
	}
	return nil
}

// inBody changes the offset of damage in the values to that in the block.
func (d *rowDecoder) inBody(err error) error {
	if err == nil {
		return nil
	}
	if e := (*damage.Error)(nil); errors.As(err, &e) && e.File == "" && e.Offset >= 0 {
		e.Offset += int64(d.body)
	}
	return err
}

// inBitmap returns an error of the null bitmap, or its end, as damage of the block.
func (d *rowDecoder) inBitmap(err error) error {
	var e *damage.Error
	if errors.Is(err, io.EOF) || !errors.As(err, &e) {
		return damage.New(damage.Count, "", 0, "the null bitmap is not that of %d rows", d.rows)
	}
	e.Reason = "null bitmap: " + e.Reason
	return err
}
