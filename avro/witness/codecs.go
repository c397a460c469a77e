package witness

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/linkedin/goavro/v2"
)

// decoder reads rows with one implementation. It is safe for concurrent use.
type decoder interface {
	name() string
	// input decodes the first row of an input's bytes to the value that the columns
	// should hold. rest is the bytes after the row. If the end of the row is known, rest
	// is also returned with an error.
	input(data []byte) (native any, rest []byte, err error)
	// columns decodes a row of the columns, for a comparison with a row from input.
	columns(datum []byte) (native any, rest []byte, err error)
}

type goavroCodec struct{ codec *goavro.Codec }

// The names of the decoders.
const (
	goavroName = "goavro"
	hambaName  = "hamba"
)

func (goavroCodec) name() string { return goavroName }

func (g goavroCodec) input(data []byte) (any, []byte, error) {
	return g.codec.NativeFromBinary(data)
}

func (g goavroCodec) columns(datum []byte) (any, []byte, error) {
	return g.codec.NativeFromBinary(datum)
}

// codecs holds the decoders of one schema of rows. hamba is made when it is first
// needed.
type codecs struct {
	goavro   decoder // nil if goavro rejects the schema
	rejected error   // why goavro rejects the schema
	spelled  string  // the schema in a form that goavro accepts
	renamed  bool    // names in spelled differ from the schema

	hamba func() (*hambaCodec, error) // made at the first call
}

// codecsOf returns the decoders of rows of the writer's schema. Unless reader is "", the
// conversion resolved these rows to the reader's schema.
func (c *comparer) codecsOf(writer, reader string) (*codecs, error) {
	key := [2]string{writer, reader}
	known, ok := c.codecs[key]
	if ok {
		return known, nil
	}
	made, err := newCodecs(writer, reader, c.ValidText)
	if err == nil {
		c.codecs[key] = made
	}
	return made, err
}

// newCodecs returns the decoders of rows. With validText, goavro does not decode rows if the
// columns keep some of their strings as they are: goavro does not say which strings these are.
func newCodecs(writer, reader string, validText bool) (*codecs, error) {
	plain, err := reduce(writer, slices.Concat(noise, forReaders))
	if err != nil {
		return nil, err
	}
	c := &codecs{}
	if reader != "" {
		written, err := reduceForReader(writer)
		if err != nil {
			return nil, err
		}
		if reader, err = reduceForReader(reader); err != nil {
			return nil, err
		}
		read, err := reduce(reader, forReaders)
		if err != nil {
			return nil, err
		}
		if written, err = reduce(written, forReaders); err != nil {
			return nil, err
		}
		if read != written {
			c.rejected = errors.New("it does not resolve rows to another schema")
			c.hamba = sync.OnceValues(func() (*hambaCodec, error) { return newHambaResolving(written, reader) })
			return c, nil
		}
	}
	c.hamba = sync.OnceValues(func() (*hambaCodec, error) { return newHamba(plain) })
	if validText {
		h, err := c.hamba()
		//guard: compares Avro data in columns as it is
		if err == nil && len(h.loops) > 0 {
			c.rejected = errors.New("it does not say which strings are part of a recursive type")
			return c, nil
		}
	}
	c.spelled = plain
	codec, err := newGoavro(plain)
	if err != nil {
		if c.spelled, err = rename(plain); err != nil {
			return nil, err
		}
		c.renamed = true
		if codec, err = newGoavro(c.spelled); err != nil {
			c.rejected, c.renamed = fmt.Errorf("it rejects the schema: %w", err), false
			return c, nil
		}
	}
	c.goavro = goavroCodec{codec}
	return c, nil
}

// newGoavro returns goavro's codec of a schema. goavro panics for a few schemas. newGoavro
// returns the panic as an error.
func newGoavro(schema string) (codec *goavro.Codec, err error) {
	defer recovered(&err)
	return goavro.NewCodec(schema)
}

// input decodes the first row of an input's bytes with the first decoder that can.
// After an error, rest is nil if no decoder knows where the row ends.
func (c *codecs) input(data []byte) (native any, rest []byte, by decoder, err error) {
	first := c.rejected
	if c.goavro != nil {
		if native, rest, first = c.goavro.input(data); first == nil {
			return native, rest, c.goavro, nil
		}
	}
	rest = nil // goavro does not know the end of the row
	hamba, err := c.hamba()
	if err == nil {
		if native, rest, err = hamba.input(data); err == nil {
			return native, rest, hamba, nil
		}
	}
	// The decoders' error values are hidden: their io.EOF is not the end of the input.
	return nil, rest, nil, fmt.Errorf("goavro: %v; hamba: %v", first, err)
}
