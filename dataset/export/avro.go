package export

import (
	"crypto/sha256"
	"io"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
)

const (
	// avroBlock is the size in bytes at which a block is closed.
	avroBlock = 64 << 10
	// maxBlockRows is the number of rows at which a block is closed. It matters for rows
	// without bytes.
	maxBlockRows = 1 << 20
)

// Avro returns the encoding of rows as an Avro object container file, which has the
// unchanged text of the schema. codec is a codec of package ocf, or "" for null. The same
// rows give the same bytes. The rows of each encoder begin a new block.
func Avro(s *shred.Schema, codec string) (Encoding, error) {
	e := &avroEncoding{codec: codec}
	sum := sha256.Sum256([]byte(s.JSON()))
	copy(e.sync[:], sum[:])
	var err error
	if e.header, err = ocf.EncodeHeader(s.JSON(), codec, e.sync); err != nil {
		return nil, err
	}
	return e, nil
}

type avroEncoding struct {
	header []byte
	codec  string
	sync   [ocf.SyncSize]byte
}

// Header implements Encoding.
func (e *avroEncoding) Header() []byte { return e.header }

// NewEncoder implements Encoding.
func (e *avroEncoding) NewEncoder(w io.Writer) (Encoder, error) {
	blocks, err := ocf.NewEncoder(e.codec, e.sync)
	if err != nil {
		return nil, err
	}
	return &avroEncoder{w: w, codec: e.codec, blocks: blocks}, nil
}

type avroEncoder struct {
	w      io.Writer
	codec  string
	blocks *ocf.Encoder
	rows   int64 // number of rows of the open block
	block  []byte
}

// Memory implements Encoder. A large row is a block of its own.
func (a *avroEncoder) Memory(row int) int64 {
	return ocf.EncodedBound(a.codec, int64(row)+avroBlock)
}

// Append implements Encoder.
func (a *avroEncoder) Append(dst, row []byte) ([]byte, error) {
	if len(row) >= avroBlock {
		dst, err := a.End(dst)
		if err != nil {
			return dst, err
		}
		return a.blocks.Append(dst, 1, row, a.w)
	}
	a.block = append(a.block, row...)
	a.rows++
	if len(a.block) < avroBlock && a.rows < maxBlockRows {
		return dst, nil
	}
	return a.End(dst)
}

// End implements Encoder. It ends the open block.
func (a *avroEncoder) End(dst []byte) ([]byte, error) {
	if a.rows == 0 {
		return dst, nil
	}
	dst, err := a.blocks.Append(dst, a.rows, a.block, a.w)
	a.rows, a.block = 0, a.block[:0]
	return dst, err
}
