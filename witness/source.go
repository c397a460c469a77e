package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/linkedin/goavro/v2"
)

// maxHeader is the largest file header that is tried, in bytes.
const maxHeader = 64 << 20

// goavro allocates what the count of an array's or a map's block asks for
// before it looks for the items. This many are believed; rows with more in one
// block are reported as not compared.
func init() { goavro.MaxBlockCount = 1 << 20 }

// header is an Avro file's header as goavro decodes it.
type header struct {
	meta map[string]any
	sync []byte
	size int64
}

// readHeader decodes the header with goavro's own map codec, reading more of
// the file until it is whole.
func readHeader(in Input) (*header, error) {
	codec, err := goavro.NewCodec(`{"type":"map","values":"bytes"}`)
	if err != nil {
		return nil, err
	}
	for n := int64(64 << 10); ; n *= 8 {
		n = min(n, in.Size)
		buf := make([]byte, n)
		if _, err := in.R.ReadAt(buf, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !strings.HasPrefix(string(buf), "Obj\x01") {
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
		if n == in.Size || n >= maxHeader {
			return nil, fmt.Errorf("header: %v", err)
		}
	}
}

// schema returns the writer's schema, reduced.
func (h *header) schema() (string, error) {
	text, ok := h.meta["avro.schema"].([]byte)
	if !ok {
		return "", errors.New("the header has no avro.schema")
	}
	return reduce(text)
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

// reduce drops from a schema what does not change the binary encoding and
// makes goavro refuse sound files or lose bits: logical types and defaults.
func reduce(schema []byte) (string, error) {
	dec := json.NewDecoder(strings.NewReader(string(schema)))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return "", fmt.Errorf("schema: %w", err)
	}
	reduceTree(tree)
	b, err := json.Marshal(tree)
	return string(b), err
}

func reduceTree(tree any) {
	switch t := tree.(type) {
	case []any:
		for _, branch := range t {
			reduceTree(branch)
		}
	case map[string]any:
		for _, key := range []string{"logicalType", "precision", "scale", "default", "doc", "aliases", "order"} {
			delete(t, key)
		}
		for _, key := range []string{"type", "items", "values", "fields"} {
			reduceTree(t[key])
		}
	}
}

// source gives an input's rows as goavro's native values, io.EOF at the end.
type source interface {
	next(ctx context.Context) (any, error)
}

// container reads a file through goavro's container reader. goavro turns
// every cause into text, so an error only says that it gave up.
type container struct{ reader *goavro.OCFReader }

func newContainer(in Input, h *header, schema string) (*container, error) {
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
	return &container{reader}, nil
}

func (c *container) next(context.Context) (any, error) {
	if !c.reader.Scan() {
		if err := c.reader.Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	return c.reader.Read()
}

// errUndecodable marks rows that goavro cannot decode.
var errUndecodable = errors.New("goavro cannot decode the row")

// blockRows decodes the rows of blocks that the caller's reader found.
type blockRows struct {
	blocks Blocks
	codec  *goavro.Codec
	data   []byte
	left   int64
}

func (b *blockRows) next(ctx context.Context) (any, error) {
	for b.left == 0 {
		if len(b.data) != 0 {
			return nil, fmt.Errorf("%w: %d bytes are left over after the rows of a block", errUndecodable, len(b.data))
		}
		rows, data, err := b.blocks.Next(ctx)
		if err != nil {
			return nil, err
		}
		b.left, b.data = rows, data
	}
	native, rest, err := b.codec.NativeFromBinary(b.data)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errUndecodable, err)
	}
	b.data, b.left = rest, b.left-1
	return native, nil
}
