package witness

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/linkedin/goavro/v2"
)

// maxHeader is the largest file header that is read, in bytes.
const maxHeader = 64 << 20

// init limits the items that goavro accepts in a block of an array or a map, because goavro
// allocates for their number before it reads them. Rows with more items in a block are
// reported as not compared.
func init() { goavro.MaxBlockCount = 1 << 20 }

// header is an Avro file's header as goavro decodes it.
type header struct {
	meta map[string]any
	sync []byte
	size int64
}

// readHeader decodes the header with goavro's own map codec. It reads more of the file until
// the header is complete.
func readHeader(in Input) (*header, error) {
	codec, err := goavro.NewCodec(`{"type":"map","values":"bytes"}`)
	if err != nil {
		return nil, err
	}
	for n := int64(64 << 10); ; n *= 8 {
		n = min(n, in.Size, maxHeader)
		buf := make([]byte, n)
		if _, err := in.R.ReadAt(buf, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !bytes.HasPrefix(buf, []byte("Obj\x01")) {
			return nil, errors.New("not an Avro object container file")
		}
		native, rest, err := codec.NativeFromBinary(buf[4:])
		if err == nil && len(rest) >= 16 {
			meta, ok := native.(map[string]any)
			if !ok {
				return nil, errors.New("the header is not a map")
			}
			return &header{meta: meta, sync: rest[:16], size: n - int64(len(rest)) + 16}, nil
		}
		//guard: bounds the length of a header
		if n == in.Size || n == maxHeader {
			return nil, fmt.Errorf("header: %v", err)
		}
	}
}

// schema returns the writer's schema.
func (h *header) schema() (string, error) {
	text, ok := h.meta["avro.schema"].([]byte)
	if !ok {
		return "", errors.New("the header has no avro.schema")
	}
	return string(text), nil
}

// encode returns the header's bytes with another schema.
func (h *header) encode(schema string) ([]byte, error) {
	codec, err := goavro.NewCodec(`{"type":"map","values":"bytes"}`)
	if err != nil {
		return nil, err
	}
	meta := map[string]any{"avro.schema": []byte(schema)}
	if name, ok := h.meta["avro.codec"]; ok {
		meta["avro.codec"] = name
	}
	b, err := codec.BinaryFromNative([]byte("Obj\x01"), meta)
	return append(b, h.sync...), err
}

// source returns the rows of a block as Go values, each with the decoder that made it. At
// the end it returns io.EOF.
type source interface {
	next() (native any, by decoder, err error)
}

// container reads blocks through goavro's container reader. Its errors do not wrap their
// causes, because goavro turns causes into text. After an error it cannot be used.
type container struct {
	stream *bytes.Reader // what the container reader has not read yet
	reader *goavro.OCFReader
	by     decoder
}

// newContainer returns a container reader that has read the header.
func newContainer(head []byte, by decoder) (*container, error) {
	stream := bytes.NewReader(head)
	reader, err := goavro.NewOCFReader(stream)
	if err != nil {
		return nil, err
	}
	return &container{stream, reader, by}, nil
}

func (c *container) next() (any, decoder, error) {
	if !c.reader.Scan() {
		if err := c.reader.Err(); err != nil {
			return nil, nil, err
		}
		return nil, nil, io.EOF
	}
	native, err := c.reader.Read()
	return native, c.by, err
}

// errUndecodable marks rows that no decoder reads. errLost marks rows whose end no
// decoder finds: the rest of the input is lost too.
var (
	errUndecodable = errors.New("no decoder reads the row")
	errLost        = errors.New("no decoder finds the end of the row")
)

// blockRows decodes the rows of a block that the caller's reader found.
type blockRows struct {
	codecs *codecs
	data   []byte
	left   int64
}

// newBlockRows returns the rows of a block from row on.
func newBlockRows(codecs *codecs, b *Block, row int64) (*blockRows, error) {
	data, err := b.Decode()
	if err != nil {
		return nil, err
	}
	rows := &blockRows{codecs, data, b.Rows}
	for range row {
		if _, _, err := rows.next(); err != nil {
			return nil, fmt.Errorf("a second reading differs from the first: %w", err)
		}
	}
	return rows, nil
}

func (b *blockRows) next() (any, decoder, error) {
	if b.left == 0 {
		//guard: rejects a block with more rows than it counts
		if len(b.data) != 0 {
			return nil, nil, fmt.Errorf("%w: %d bytes are left over after the rows of a block", errLost, len(b.data))
		}
		return nil, nil, io.EOF
	}
	native, rest, by, err := b.codecs.input(b.data)
	if err != nil && rest == nil {
		return nil, nil, fmt.Errorf("%w: %w", errLost, err)
	}
	b.data, b.left = rest, b.left-1
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errUndecodable, err)
	}
	return native, by, nil
}
