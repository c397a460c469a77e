package witness

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

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

// source returns the rows of an input as Go values, each with the decoder that made it. At
// the end it returns io.EOF.
type source interface {
	next(ctx context.Context) (native any, by decoder, err error)
}

// container reads a file through goavro's container reader. Its errors do not wrap their
// causes, because goavro turns causes into text.
type container struct {
	reader *goavro.OCFReader
	by     decoder
}

func newContainer(in Input, h *header, schema string, by decoder) (*container, error) {
	head, err := h.encode(schema)
	if err != nil {
		return nil, err
	}
	body := io.NewSectionReader(in.R, h.size, in.Size-h.size)
	stream := bufio.NewReaderSize(io.MultiReader(strings.NewReader(string(head)), body), 1<<20)
	reader, err := goavro.NewOCFReader(stream)
	if err != nil {
		return nil, err
	}
	return &container{reader, by}, nil
}

func (c *container) next(context.Context) (any, decoder, error) {
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

// blockRows decodes the rows of blocks that the caller's reader found.
type blockRows struct {
	blocks Blocks
	codecs *codecs
	data   []byte
	left   int64
}

func (b *blockRows) next(ctx context.Context) (any, decoder, error) {
	for b.left == 0 {
		//guard: rejects a block with more rows than it counts
		if len(b.data) != 0 {
			return nil, nil, fmt.Errorf("%w: %d bytes are left over after the rows of a block", errLost, len(b.data))
		}
		rows, data, err := b.blocks.Next(ctx)
		if err != nil {
			return nil, nil, err
		}
		b.left, b.data = rows, data
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
