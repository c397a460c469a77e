package encoding

import (
	"encoding/binary"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Dictionary has the words of a file. The file's dictionary blocks store codes in place of words:
// the code of a word is its number in the dictionary, from 0 on.
type Dictionary struct {
	offsets []uint32 // of the words in the block, and of the end of the last
	block   []byte
}

// NewDictionary returns the words of a plain BINARY block, which must not change. It needs memory
// for a small multiple of the block's size.
func NewDictionary(block []byte) (*Dictionary, error) {
	var d plainBinary
	if err := d.Reset(block); err != nil {
		return nil, err
	}
	offsets := append(make([]uint32, 0, d.count+1), d.start)
	offsets, err := d.ends(offsets, d.count)
	if err == nil {
		err = d.groups.finish()
	}
	if err != io.EOF { // io.EOF: the offsets end where the block ends
		return nil, err
	}
	return &Dictionary{offsets: offsets, block: block}, nil
}

// Len returns the number of words.
func (d *Dictionary) Len() int { return len(d.offsets) - 1 }

// Word returns the word with the code i. It is a part of the block.
func (d *Dictionary) Word(i int) []byte { return d.block[d.offsets[i]:d.offsets[i+1]] }

// The modes of dictionary blocks. A block begins with its mode, in 4 bytes.
const (
	modeCodes = 1
	modePlain = 2
	modeSize  = 4
)

// AppendDictCodes appends a dictionary block of codes. codes has 4 bytes for each
// code, like UINT32 values in Values.Fixed.
func AppendDictCodes(dst []byte, s *Shuffler, ordinal uint32, codes []byte) ([]byte, error) {
	return s.AppendNarrow(binary.LittleEndian.AppendUint32(dst, modeCodes), ordinal, codes)
}

// AppendDictPlain appends a dictionary block of the values themselves. Once the dictionary
// is full, all further blocks are of this kind. offsets and data are as for AppendPlainBinary.
func AppendDictPlain(dst []byte, ordinal uint32, offsets []uint32, data []byte) []byte {
	return AppendPlainBinary(binary.LittleEndian.AppendUint32(dst, modePlain), ordinal, offsets, data)
}

// codesAtOnce is how many codes are decoded at a time.
const codesAtOnce = 1024

// dict decodes dictionary blocks.
type dict struct {
	Decoder // decoder of the current block: codes or plain
	words   *Dictionary
	codes   Decoder
	plain   Decoder
	decoded Values // codes in Fixed
	next    int    // offset in decoded.Fixed of the next code
}

// NewDict returns a Decoder of the dictionary blocks of a file with the given
// words.
func NewDict(words *Dictionary) Decoder {
	d := &dict{words: words, codes: NewBitshuffleNarrow(), plain: NewPlainBinary()}
	d.Decoder = d.plain
	return d
}

func (d *dict) Reset(body []byte) error {
	d.decoded.Reset()
	d.next = 0
	//guard: rejects a block shorter than its mode
	if len(body) < modeSize {
		return damaged(damage.Truncated, 0, "%d bytes, but the mode of the block takes %d", len(body), modeSize)
	}
	switch mode := binary.LittleEndian.Uint32(body); mode {
	case modeCodes:
		d.Decoder = d.codes
	case modePlain:
		d.Decoder = d.plain
	default:
		return damaged(damage.Header, 0, "a dictionary block of mode %d", mode)
	}
	return shifted(d.Decoder.Reset(body[modeSize:]), modeSize)
}

func (d *dict) Read(v *Values, n int) (int, error) {
	if d.Decoder == d.plain {
		read, err := d.plain.Read(v, n)
		return read, shifted(err, modeSize)
	}
	n = min(n, readLimit/4) // words without bytes do not fill v.Data, but each adds an offset of 4 bytes
	first, read := len(v.Data), 0
	for read < n && len(v.Data)-first < readLimit {
		if d.next == len(d.decoded.Fixed) {
			if err := d.load(); err == io.EOF && read > 0 {
				break
			} else if err != nil {
				return 0, err
			}
		}
		m, err := d.appendWords(v, n-read, first+readLimit)
		if err != nil {
			return 0, err
		}
		read += m
	}
	return read, nil
}

// load decodes the next codes.
func (d *dict) load() error {
	d.decoded.Reset()
	d.next = 0
	_, err := d.codes.Read(&d.decoded, codesAtOnce)
	return shifted(err, modeSize)
}

// appendWords appends the words of at most n of the decoded codes. It ends once v.Data has limit
// bytes. It returns the number of words.
func (d *dict) appendWords(v *Values, n, limit int) (int, error) {
	codes := d.decoded.Fixed[d.next:]
	codes = codes[:min(len(codes), 4*n)]
	bounds, block := d.words.offsets, d.words.block
	if len(v.Offsets) == 0 {
		v.Offsets = append(v.Offsets, 0)
	}
	offsets, data := v.Offsets, v.Data
	i := 0
	//guard: bounds the memory for long words
	for ; i < len(codes) && len(data) < limit; i += 4 {
		code := uint64(binary.LittleEndian.Uint32(codes[i:])) + 1
		//guard: rejects a word that the dictionary does not have
		if code >= uint64(len(bounds)) {
			return 0, damaged(damage.Value, modeSize, "code %d, but the dictionary has %d words", code-1, len(bounds)-1)
		}
		data = append(data, block[bounds[code-1]:bounds[code]]...)
		offsets = append(offsets, uint32(len(data)))
	}
	v.Offsets, v.Data = offsets, data
	d.next += i
	return i / 4, nil
}

func (d *dict) Skip(n int) error {
	if left := (len(d.decoded.Fixed) - d.next) / 4; n < 0 || n > left {
		n -= left
		d.next = len(d.decoded.Fixed)
		return shifted(d.Decoder.Skip(n), modeSize) // it refuses a negative n
	}
	d.next += 4 * n
	return nil
}
