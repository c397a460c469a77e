package parquet

import (
	"encoding/binary"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/parquet/encoding"
)

// encodings are the encodings of values that can be written.
var encodings = []pq.Encoding{
	pq.RLEDictionary, pq.Plain, pq.RLE,
	pq.DeltaBinaryPacked, pq.DeltaLengthByteArray, pq.DeltaByteArray, pq.ByteStreamSplit,
}

// encodingNames returns the names of encodings on the command line: those of the specification,
// except for the dictionary.
func encodingNames(all []pq.Encoding) (names []string) {
	for _, e := range all {
		name := strings.ToLower(e.String())
		if e == pq.RLEDictionary {
			name = "dictionary"
		}
		names = append(names, name)
	}
	return names
}

// encodingNamed returns the encoding with a name, which must be one of encodings.
func encodingNamed(name string) pq.Encoding {
	return encodings[slices.Index(encodingNames(encodings), name)]
}

// encodings returns the encodings that values of a kind can have, the default first.
func (k valueKind) encodings() []pq.Encoding {
	switch k {
	case nulls:
		return []pq.Encoding{pq.Plain}
	case presences, booleans:
		return []pq.Encoding{pq.Plain, pq.RLE}
	case ints, longs:
		return []pq.Encoding{pq.RLEDictionary, pq.Plain, pq.DeltaBinaryPacked, pq.ByteStreamSplit}
	case floats, doubles:
		return []pq.Encoding{pq.RLEDictionary, pq.Plain, pq.ByteStreamSplit}
	case fixed:
		return []pq.Encoding{pq.RLEDictionary, pq.Plain, pq.DeltaByteArray, pq.ByteStreamSplit}
	}
	return []pq.Encoding{pq.RLEDictionary, pq.Plain, pq.DeltaLengthByteArray, pq.DeltaByteArray}
}

// valuesEncoding returns the encoding of pages whose values are not numbers of the dictionary.
func (c *groupColumn) valuesEncoding() pq.Encoding {
	if c.encoding == pq.RLEDictionary {
		return pq.Plain
	}
	return c.encoding
}

// pageType returns the type of data pages.
func (c *groupColumn) pageType() pq.PageType {
	if c.pageVersion == 2 {
		return pq.DataPageV2
	}
	return pq.DataPage
}

// appendValues appends the values of a page, which are not numbers of the dictionary, to its
// body, and their bounds to the job.
func (s *scratch) appendValues(j *encodeJob, p *page) error {
	at := len(s.body)
	if err := s.appendPlain(j, p); err != nil {
		return err
	}
	e := j.c.valuesEncoding()
	if e == pq.Plain {
		return nil
	}
	// The encoded values follow the plain ones, and then replace them.
	end := len(s.body)
	s.appendEncoded(j.c, e, s.body[at:], p.values)
	s.body = append(s.body[:at], s.body[end:]...)
	return nil
}

// appendEncoded appends n plain values to the body in another encoding.
func (s *scratch) appendEncoded(c *groupColumn, e pq.Encoding, plain []byte, n int) {
	switch {
	case e == pq.RLE:
		at := len(s.body)
		s.body = encoding.AppendHybridBools(append(s.body, 0, 0, 0, 0), plain, n)
		binary.LittleEndian.PutUint32(s.body[at:], uint32(len(s.body)-at-4))
	case e == pq.ByteStreamSplit:
		s.body = encoding.AppendSplit(s.body, plain, c.width())
	case e == pq.DeltaLengthByteArray:
		s.body = encoding.AppendDeltaLength(s.body, plain, n)
	case e == pq.DeltaByteArray:
		s.body, s.codes = encoding.AppendDeltaBytes(s.body, plain, n, c.size, s.codes)
	case c.kind == ints:
		s.body = encoding.AppendDeltaInt32(s.body, plain)
	default:
		s.body = encoding.AppendDeltaInt64(s.body, plain)
	}
}
