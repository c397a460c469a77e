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

// NewAvro returns a writer of an Avro object container file, which has the unchanged text
// of the schema. codec is a codec of package ocf, or "" for null. The same rows give the
// same bytes.
func NewAvro(w io.Writer, s *shred.Schema, codec string) (Writer, error) {
	var sync [16]byte
	sum := sha256.Sum256([]byte(s.JSON()))
	copy(sync[:], sum[:])
	out, err := ocf.NewWriter(w, s.JSON(), codec, sync)
	if err != nil {
		return nil, err
	}
	return &avroWriter{w: out, codec: codec}, nil
}

type avroWriter struct {
	w     *ocf.Writer
	codec string
	rows  int64
	block []byte
}

// Memory implements Writer. A large row is a block of its own.
func (a *avroWriter) Memory(row int) int64 {
	return ocf.EncodedBound(a.codec, int64(row)+avroBlock)
}

func (a *avroWriter) Write(row []byte) error {
	if len(row) >= avroBlock {
		if err := a.Close(); err != nil {
			return err
		}
		return a.w.AppendBlock(1, row)
	}
	a.block = append(a.block, row...)
	a.rows++
	if len(a.block) < avroBlock && a.rows < maxBlockRows {
		return nil
	}
	return a.Close()
}

// Close writes the open block.
func (a *avroWriter) Close() error {
	if a.rows == 0 {
		return nil
	}
	err := a.w.AppendBlock(a.rows, a.block)
	a.rows, a.block = 0, a.block[:0]
	return err
}
