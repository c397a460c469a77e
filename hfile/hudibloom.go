package hfile

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/format/damage"
)

// The names that Hudi gives to the meta block with its Bloom filter, and to the filter's kind in
// the file info.
const (
	metaHudiBloom     = "bloomFilter"
	infoHudiBloomType = "bloomFilterTypeCode"
)

// The kinds of Hudi's Bloom filters, by their names in the file info.
const (
	hudiSimple  = "SIMPLE"
	hudiDynamic = "DYNAMIC_V0"
)

const (
	// hudiVersion is the first number of a filter that records its kind of hash function.
	hudiVersion = -1
	// hudiHeadSize is the size of a filter before its bits.
	hudiHeadSize = 4 + 4 + 1 + 4
)

// HudiBloom is a Bloom filter of rows in Hudi's form. The meta block bloomFilter of a file has it
// in Base64.
//
//	simple   | version -1: 4 | hash functions: 4 | kind of them: 1 | bits: 4 | bits, lowest first |
//	dynamic  | simple filter without bits | keys of each filter: 4 | keys of the last: 4 |
//	         | filters: 4 | simple filter | … |
//
// A dynamic filter may contain a row if one of its filters may.
type HudiBloom struct {
	filters []hudiFilter
}

// hudiFilter is a simple filter.
type hudiFilter struct {
	hashes int
	hash   func(b []byte, seed uint32) uint32
	kind   byte
	bits   int64
	array  []byte
}

// HudiBloom reads Hudi's Bloom filter of the file. It returns nil if the file has no such filter.
func (f *Reader) HudiBloom() (*HudiBloom, error) {
	text, err := f.Meta(metaHudiBloom)
	if text == nil || err != nil {
		return nil, err
	}
	b, err := ParseHudiBloom(string(text), string(f.info.Value(infoHudiBloomType)))
	return b, f.located(err)
}

// ParseHudiBloom reads a filter in Base64. kind is SIMPLE or DYNAMIC_V0.
func ParseHudiBloom(text, kind string) (*HudiBloom, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, damage.New(damage.Value, "", -1, "%s: not Base64: %v", metaHudiBloom, err)
	}
	d := &hudiDecoder{damage.NewCursor("", b, 0)}
	h := &HudiBloom{}
	switch {
	case strings.EqualFold(kind, hudiSimple):
		h.filters = append(h.filters, d.filter())
	case strings.EqualFold(kind, hudiDynamic):
		d.head()
		d.number() // keys of each filter
		d.number() // keys of the last filter
		n := d.number()
		//guard: bounds the number of filters
		if n < 0 || int64(n) > d.Remaining()/hudiHeadSize {
			d.fail("%d filters in %d bytes", n, d.Remaining())
		}
		for i := 0; i < n && d.Err() == nil; i++ {
			h.filters = append(h.filters, d.filter())
		}
	default:
		return nil, damage.New(damage.Unsupported, "", -1, "%s: the kind %q", metaHudiBloom, kind)
	}
	//guard: rejects bytes after the filter
	if d.Remaining() > 0 {
		d.fail("%d bytes after the filter", d.Remaining())
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", metaHudiBloom, err)
	}
	return h, nil
}

// MayContain reports whether a row may be in the filter. It returns true for an empty row, because
// empty rows are not added to filters.
func (h *HudiBloom) MayContain(row []byte) bool {
	if len(row) == 0 {
		return true
	}
	for i := range h.filters {
		if h.filters[i].has(row) {
			return true
		}
	}
	return false
}

func (f *hudiFilter) has(row []byte) bool {
	h := uint32(0)
	for range f.hashes {
		h = f.hash(row, h)
		at := bloomBit(h, f.bits)
		if f.array[at/8]&(1<<(at%8)) == 0 {
			return false
		}
	}
	return true
}

// hudiDecoder reads a filter.
type hudiDecoder struct{ damage.Cursor }

func (d *hudiDecoder) fail(reason string, args ...any) {
	d.Fail(damage.Value, d.Offset(), reason, args...)
}

func (d *hudiDecoder) number() int { return int(int32(d.BigEndian(4, "a number"))) }

// head reads the fields before a filter's bits.
func (d *hudiDecoder) head() (f hudiFilter) {
	version := d.number()
	f.hashes, f.kind = version, hashJenkins // in Hadoop's form without a version
	if version == hudiVersion {
		f.hashes = d.number()
		f.kind = d.Uint8("the kind of a hash function")
	}
	f.bits = int64(d.number())
	switch f.kind {
	case hashJenkins:
		f.hash = jenkins
	case hashMurmur:
		f.hash = murmurByHudi
	default:
		d.fail("hash function %d", f.kind)
	}
	//guard: bounds the number of hash functions
	if f.hashes < 1 || f.hashes > maxHashes {
		d.fail("%d hash functions", f.hashes)
	}
	//guard: rejects a filter without bits
	if f.bits < 1 {
		d.fail("%d bits", f.bits)
	}
	return f
}

// filter reads a simple filter.
func (d *hudiDecoder) filter() hudiFilter {
	f := d.head()
	f.array = d.Bytes((f.bits+7)/8, "an array of bits")
	return f
}

// murmurByHudi is the 32-bit MurmurHash2 of Hadoop and Hudi. It hashes the bytes after the last
// multiple of four as signed numbers, in the reverse of HBase's order.
func murmurByHudi(b []byte, seed uint32) uint32 {
	var last [4]byte
	n := len(b) &^ 3
	for i := range b[n:] {
		last[i] = b[len(b)-1-i]
	}
	return murmurOf(b[:n], last[:len(b)-n], seed)
}
