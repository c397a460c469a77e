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
	w      io.Writer
	sync   [SyncSize]byte
	encode func(dst *bytes.Buffer, data []byte) error
	stored bytes.Buffer
	out    []byte
	err    error
}

// NewWriter writes the header and returns a writer of blocks. If codec is "", the header
// has no key avro.codec, and the codec is null. The keys of meta must not begin with
// "avro.". The writer buffers no blocks. The caller closes w.
func NewWriter(w io.Writer, schema, codec string, sync [SyncSize]byte, meta ...Meta) (*Writer, error) {
	encode, err := newEncoder(codec)
	if err != nil {
		return nil, err
	}
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
	h = append(h, sync[:]...)
	if _, err := w.Write(h); err != nil {
		return nil, fmt.Errorf("write header: %w", err)
	}
	return &Writer{w: w, sync: sync, encode: encode}, nil
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
	w.stored.Reset()
	if w.err = w.encode(&w.stored, data); w.err != nil {
		return w.err
	}
	w.out = binary.AppendVarint(w.out[:0], rows)
	w.out = binary.AppendVarint(w.out, int64(w.stored.Len()))
	if w.stored.Len() > largeBlock {
		return w.appendLarge()
	}
	w.out = append(w.out, w.stored.Bytes()...)
	w.out = append(w.out, w.sync[:]...)
	if _, err := w.w.Write(w.out); err != nil {
		w.err = fmt.Errorf("write block: %w", err)
	}
	return w.err
}

// largeBlock is the size in bytes from which a stored block is written without a copy, and
// its memory is freed.
const largeBlock = 1 << 20

// appendLarge writes a large block after its head without copying it.
func (w *Writer) appendLarge() error {
	for _, b := range [][]byte{w.out, w.stored.Bytes(), w.sync[:]} {
		if _, err := w.w.Write(b); err != nil {
			w.err = fmt.Errorf("write block: %w", err)
			return w.err
		}
	}
	w.stored = bytes.Buffer{}
	return nil
}

// EncodedBound returns an approximate upper bound, in bytes, of the memory of AppendBlock
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
