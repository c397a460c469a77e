package ocf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	dsnet "github.com/dsnet/compress/bzip2"
	"github.com/golang/snappy"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// Writer writes an object container file block by block. The same calls give the same
// bytes. After a call has failed, every later call returns the same error.
type Writer struct {
	w       io.Writer
	encoder *Encoder
	out     []byte
	err     error
}

// NewWriter writes the header and returns a writer of blocks. EncodeHeader describes the
// parameters. The writer buffers no blocks. The caller closes w.
func NewWriter(w io.Writer, schema, codec string, sync [SyncSize]byte, meta ...Meta) (*Writer, error) {
	h, err := EncodeHeader(schema, codec, sync, meta...)
	if err != nil {
		return nil, err
	}
	e, err := NewEncoder(codec, sync)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(h); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	return &Writer{w: w, encoder: e}, nil
}

// EncodeHeader returns the header of an object container file. If codec is "", it has no key
// avro.codec, and the codec is null. The keys of meta must not begin with "avro.".
func EncodeHeader(schema, codec string, sync [SyncSize]byte, meta ...Meta) ([]byte, error) {
	all := []Meta{{Key: KeySchema, Value: []byte(schema)}}
	if codec != "" {
		all = append(all, Meta{Key: KeyCodec, Value: []byte(codec)})
	}
	for _, m := range meta {
		//guard: rejects metadata that would repeat the schema or codec
		if strings.HasPrefix(m.Key, "avro.") {
			return nil, fmt.Errorf("metadata key %q is reserved", m.Key)
		}
		all = append(all, m)
	}
	h := append([]byte(nil), magic[:]...)
	h = binary.AppendVarint(h, int64(len(all)))
	for _, m := range all {
		h = append(binary.AppendVarint(h, int64(len(m.Key))), m.Key...)
		h = append(binary.AppendVarint(h, int64(len(m.Value))), m.Value...)
	}
	h = append(h, 0)
	return append(h, sync[:]...), nil
}

// AppendBlock compresses data, which is the encoding of as many rows as rows says, and
// writes it as one block. It does not keep data.
func (w *Writer) AppendBlock(rows int64, data []byte) error {
	//guard: writes no block after one that failed
	if w.err != nil {
		return w.err
	}
	if rows < 0 {
		return fmt.Errorf("block of %d rows", rows)
	}
	if w.out, w.err = w.encoder.Append(w.out[:0], rows, data, w.w); w.err != nil {
		return w.err
	}
	w.err = writeBlock(w.w, w.out)
	return w.err
}

func writeBlock(w io.Writer, pieces ...[]byte) error {
	for _, b := range pieces {
		if len(b) == 0 {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write block: %w", err)
		}
	}
	return nil
}

// Encoder encodes the blocks of object container files. It belongs to one goroutine. The
// bytes of a block depend on the block only.
type Encoder struct {
	sync   [SyncSize]byte
	encode func(dst *bytes.Buffer, data []byte) error
	stored bytes.Buffer
}

// NewEncoder returns an encoder of blocks for a file whose header has this codec and these
// sync bytes.
func NewEncoder(codec string, sync [SyncSize]byte) (*Encoder, error) {
	encode, err := newEncoder(codec)
	return &Encoder{sync: sync, encode: encode}, err
}

// largeBlock is the size in bytes from which a stored block is written without a copy, and
// its memory is freed.
const largeBlock = 1 << 20

// Append compresses data, which is the encoding of as many rows as rows says, and appends
// it to dst as one block. If the block is large, Append writes dst and the block to w
// instead, and returns dst without bytes. It does not keep data.
func (e *Encoder) Append(dst []byte, rows int64, data []byte, w io.Writer) ([]byte, error) {
	e.stored.Reset()
	if err := e.encode(&e.stored, data); err != nil {
		return dst, err
	}
	stored := e.stored.Bytes()
	dst = binary.AppendVarint(dst, rows)
	dst = binary.AppendVarint(dst, int64(len(stored)))
	if len(stored) > largeBlock {
		e.stored = bytes.Buffer{}
		return dst[:0], writeBlock(w, dst, stored, e.sync[:])
	}
	dst = append(dst, stored...)
	return append(dst, e.sync[:]...), nil
}

// EncodedBound returns an approximate upper bound, in bytes, of the memory of Encoder.Append
// for a block of size bytes with a codec. The output of a compressor with a stream grows by
// doubling.
func EncodedBound(codec string, size int64) int64 {
	switch codec {
	case "", codecNull, codecSnappy:
		return size + size/6 + 1<<10
	}
	return 3*size + 1<<10
}

func newEncoder(codec string) (func(dst *bytes.Buffer, data []byte) error, error) {
	switch codec {
	case "", codecNull:
		return func(dst *bytes.Buffer, data []byte) error {
			_, err := dst.Write(data)
			return err
		}, nil
	case codecDeflate:
		z, err := flate.NewWriter(nil, flate.DefaultCompression)
		return stream(func(w io.Writer) (io.WriteCloser, error) {
			z.Reset(w)
			return z, nil
		}), err
	case codecSnappy:
		return func(dst *bytes.Buffer, data []byte) error {
			dst.Grow(snappy.MaxEncodedLen(len(data)) + crc32.Size)
			room := dst.AvailableBuffer()
			block := snappy.Encode(room[:cap(room)], data)
			_, err := dst.Write(binary.BigEndian.AppendUint32(block, crc32.ChecksumIEEE(data)))
			return err
		}, nil
	case codecZstd:
		z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		return func(dst *bytes.Buffer, data []byte) error {
			_, err := dst.Write(z.EncodeAll(data, dst.AvailableBuffer()))
			return err
		}, err
	case codecBzip2:
		return stream(func(w io.Writer) (io.WriteCloser, error) {
			return dsnet.NewWriter(w, &dsnet.WriterConfig{Level: dsnet.DefaultCompression})
		}), nil
	case codecXZ:
		return stream(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }), nil
	}
	return nil, fmt.Errorf("unknown codec %q", clip(codec))
}

// stream makes an encoder from a compressor that is opened on its output.
func stream(open func(io.Writer) (io.WriteCloser, error)) func(*bytes.Buffer, []byte) error {
	return func(dst *bytes.Buffer, data []byte) error {
		z, err := open(dst)
		if err != nil {
			return err
		}
		if _, err := z.Write(data); err != nil {
			return err
		}
		return z.Close()
	}
}
