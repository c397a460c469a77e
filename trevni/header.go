package trevni

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"math"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// The metadata keys that have a meaning in this package.
const (
	keyName     = "trevni.name"
	keyType     = "trevni.type"
	keyArray    = "trevni.array"
	keyParent   = "trevni.parent"
	keyValues   = "trevni.values"
	keyCodec    = "trevni.codec"
	keyChecksum = "trevni.checksum"

	// SchemaKey is the file metadata key of the rows' Avro schema (JSON).
	SchemaKey = "avro.schema"
	// AscendingKey is the metadata key that says whether a column's values ascend. Only a
	// column whose block table holds first values (trevni.values) has it. Its value is a byte: 1 if no value is less than the value before it,
	// otherwise 0.
	AscendingKey = "rowtocol.ascending"
	// HeaderCRCKey is the file metadata key of a CRC-32C (fixed32) of the header. The CRC
	// is computed with zeros in place of its own four bytes. The key is the first in the file.
	HeaderCRCKey = "rowtocol.header"
	// TableCRCKey is the metadata key of a CRC-32C (fixed32) of a column's block count and
	// descriptors.
	TableCRCKey = "rowtocol.table"
	// BlocksCRCKey is the file metadata key of a CRC-32C (fixed32) over the CRC-32Cs
	// (fixed32 each) of all stored blocks. The CRC-32C of a block covers its checksum, too.
	BlocksCRCKey = "rowtocol.blocks"
)

// Version is the format version that this package writes.
const Version = 2

const magic = "Trv"

// Limits for hostile files.
const (
	// maxDepth is the most ancestors of a column. Schemas that nest deeper are not converted.
	maxDepth = 1000
	// minColumn is the fewest bytes of a column in the header: its metadata with the
	// two required keys, and its start.
	minColumn = 1 + 1 + len(keyName) + 1 + 1 + len(keyType) + 1 + 3 + 8
)

// KeyValue is one metadata pair.
type KeyValue struct {
	Key   string
	Value []byte
}

// keyValue is a KeyValue as JSON for people, with the value as text. Bytes of the value
// that are not UTF-8 are lost.
type keyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MarshalJSON implements json.Marshaler.
func (kv KeyValue) MarshalJSON() ([]byte, error) {
	return json.Marshal(keyValue{kv.Key, string(kv.Value)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (kv *KeyValue) UnmarshalJSON(b []byte) error {
	var text keyValue
	err := json.Unmarshal(b, &text)
	kv.Key, kv.Value = text.Key, []byte(text.Value)
	return err
}

// Metadata is a list of pairs in the order of the file, with unique keys.
type Metadata []KeyValue

// Get returns the value of a key. ok reports whether the key is present. In the metadata
// of a file, an empty value is not nil.
func (m Metadata) Get(key string) (value []byte, ok bool) {
	for i := range m {
		if m[i].Key == key {
			return m[i].Value, true
		}
	}
	return nil, false
}

// append adds the encoded form of m to dst.
func (m Metadata) append(dst []byte) []byte {
	dst = binary.AppendVarint(dst, int64(len(m)))
	for _, kv := range m {
		dst = appendBytes(dst, kv.Key)
		dst = appendBytes(dst, kv.Value)
	}
	return dst
}

func appendBytes[T string | []byte](dst []byte, v T) []byte {
	dst = binary.AppendVarint(dst, int64(len(v)))
	return append(dst, v...)
}

// Column is one column as the header describes it.
type Column struct {
	column.Column
	// Meta holds all metadata pairs of the column, including unknown ones.
	Meta Metadata
	// Codec and Checksum are the column's settings, or those of the file if the column has
	// none, or "null" if the file has none either.
	Codec    string
	Checksum string
	// Values is set if the block table holds each block's first value.
	Values bool
	// Ascending is set if the file states for a column with Values that no value is less
	// than the value before it. The first values then bound the values of blocks.
	Ascending bool
	// Start is the offset in the file of the column's block count.
	Start int64

	tableCRC uint32 // from TableCRCKey, if the header is protected
}

// header is the part of the file before the first column.
type header struct {
	version byte
	rows    int64
	meta    Metadata
	columns []Column
	size    int64
	// crcAt is the offset of the four value bytes of HeaderCRCKey, or -1.
	crcAt int64
	// protected is set if header and block tables have CRCs, which are checked on every
	// read.
	protected bool
}

// parseHeader reads a header from d. The file has size bytes. After an error, d.Err
// returns it.
func parseHeader(d *decoder, size int64) *header {
	h := &header{crcAt: -1}
	m := d.Bytes(min(4, d.Remaining()), "magic")
	//guard: rejects other files and later versions
	if len(m) < 4 || string(m[:3]) != magic || m[3] > Version {
		d.Fail(damage.Magic, 0, "found % x, expected \"Trv\" and a version of 0, 1 or 2", m)
		return h
	}
	h.version = m[3]
	rows := d.LittleEndian(8, "row count")
	//guard: rejects a number of rows beyond 63 bits
	if rows > math.MaxInt64 {
		d.Fail(damage.Count, 4, "row count %d is out of range", rows)
	}
	h.rows = int64(rows)
	at := d.Offset()
	n := int64(d.LittleEndian(4, "column count"))
	//guard: rejects more columns than the file has room for
	if n*int64(minColumn) > size {
		d.Fail(damage.Count, at, "%d columns do not fit in %d bytes", n, size)
	}
	h.meta, h.crcAt = parseMetadata(d, "file metadata")
	if d.Err() != nil {
		return h
	}
	h.columns = make([]Column, 0, min(n, d.Remaining()/int64(minColumn)+1))
	byName := make(map[string]int, cap(h.columns))
	for i := int64(0); i < n && d.Err() == nil; i++ {
		h.columns = append(h.columns, parseColumn(d, h.meta, byName))
	}
	checkDepth(d, h.columns)
	parseStarts(d, h, size)
	h.size = d.Offset()
	h.check(d)
	return h
}

// parseStarts reads the column starts. They must ascend, with room for a block count between
// them, so that no bytes belong to two columns.
func parseStarts(d *decoder, h *header, size int64) {
	least := d.Offset() + 8*int64(len(h.columns))
	for i := range h.columns {
		at := d.Offset()
		start := d.LittleEndian(8, "column start")
		if d.Err() != nil {
			return
		}
		//guard: rejects columns that overlap
		if int64(start) < least || size-int64(start) < 4 { // a start of 2^63 or more becomes negative
			d.Fail(damage.Header, at, "column %s starts at %d, expected %d to %d",
				h.columns[i].Name, start, least, size-4)
			return
		}
		h.columns[i].Start = int64(start)
		least = int64(start) + 4
	}
}

// columnKeys holds frequent keys of columns as shared strings, because a file may have many
// thousands of columns.
var columnKeys = map[string]string{
	keyName: keyName, keyType: keyType, keyArray: keyArray, keyParent: keyParent,
	keyCodec: keyCodec, keyChecksum: keyChecksum, TableCRCKey: TableCRCKey,
}

// parseMetadata reads one metadata map. crcAt is as in header.
func parseMetadata(d *decoder, what string) (m Metadata, crcAt int64) {
	at, crcAt := d.Offset(), int64(-1)
	n := d.length(what)
	if d.Err() != nil {
		return nil, crcAt
	}
	m = make(Metadata, 0, min(n, d.Remaining()/2))
	seen := make(map[string]struct{}, min(n, 16))
	for ; n > 0 && d.Err() == nil; n-- {
		keyAt := d.Offset()
		text := d.text(what)
		key, common := columnKeys[string(text)]
		if !common {
			key = string(text)
		}
		value := d.text(what)
		if d.Err() != nil {
			break
		}
		//guard: rejects metadata that has a key twice
		if _, dup := seen[key]; dup {
			d.Fail(damage.Header, keyAt, "%s at offset %d has the key %q twice", what, at, key)
			break
		}
		seen[key] = struct{}{}
		if len(value) == crc32.Size && key == HeaderCRCKey {
			crcAt = d.Offset() - crc32.Size
		}
		m = append(m, KeyValue{Key: key, Value: append([]byte{}, value...)})
	}
	return m, crcAt
}

// parseColumn reads the metadata of the next column. byName has the numbers of the columns
// before that column.
func parseColumn(d *decoder, file Metadata, byName map[string]int) Column {
	at := d.Offset()
	c := Column{}
	c.Parent = -1
	c.Meta, _ = parseMetadata(d, "column metadata")
	if d.Err() != nil {
		return c
	}
	name, ok := c.Meta.Get(keyName)
	if !ok {
		d.Fail(damage.Header, at, "a column has no %s", keyName)
		return c
	}
	c.Name = string(name)
	//guard: rejects two columns with the same name
	if _, dup := byName[c.Name]; dup {
		d.Fail(damage.Header, at, "two columns are called %q", c.Name)
		return c
	}
	typ, _ := c.Meta.Get(keyType)
	if c.Type, ok = column.ParseType(string(typ)); !ok {
		d.Fail(damage.Header, at, "column %q has the unknown type %q", c.Name, typ)
	}
	_, c.Array = c.Meta.Get(keyArray)
	_, c.Values = c.Meta.Get(keyValues)
	ascending, _ := c.Meta.Get(AscendingKey)
	c.Ascending = c.Values && string(ascending) == "\x01"
	if parent, ok := c.Meta.Get(keyParent); ok {
		if c.Parent, ok = byName[string(parent)]; !ok {
			d.Fail(damage.Header, at, "column %q has the parent %q, which is not an array column before it", c.Name, parent)
		}
	}
	//guard: rejects first values of a column that does not have one value per row
	if c.Values && (c.Array || c.Parent >= 0) {
		d.Fail(damage.Header, at, "column %q has %s, but is an array or a child", c.Name, keyValues)
	}
	c.Codec = resolve(c.Meta, file, keyCodec)
	//guard: rejects an unknown codec
	if !knownCodec(c.Codec) {
		d.Fail(damage.Codec, at, "column %q has the unknown codec %q", c.Name, c.Codec)
	}
	c.Checksum = resolve(c.Meta, file, keyChecksum)
	//guard: rejects an unknown checksum
	if !knownChecksum(c.Checksum) {
		d.Fail(damage.Header, at, "column %q has the unknown checksum %q", c.Name, c.Checksum)
	}
	byName[c.Name] = len(byName)
	return c
}

// checkDepth rejects parents that are not arrays, and chains of parents that are too
// long.
func checkDepth(d *decoder, cols []Column) {
	if d.Err() != nil {
		return
	}
	depth := make([]int, len(cols))
	for i := range cols {
		p := cols[i].Parent
		if p < 0 {
			continue
		}
		//guard: rejects a parent that is not an array
		if !cols[p].Array {
			d.Fail(damage.Header, d.Offset(), "column %q has the parent %q, which is not an array column", cols[i].Name, cols[p].Name)
			return
		}
		//guard: bounds how deep columns nest
		if depth[i] = depth[p] + 1; depth[i] > maxDepth {
			d.Fail(damage.Unsupported, d.Offset(), "column %q has more than %d ancestors", cols[i].Name, maxDepth)
			return
		}
	}
}

// resolve returns a setting of a column: its own, or that of the file if the column has none,
// or "null".
func resolve(col, file Metadata, key string) string {
	if v, ok := col.Get(key); ok {
		return string(v)
	}
	if v, ok := file.Get(key); ok {
		return string(v)
	}
	return "null"
}

// newHeader returns a header with zeros in place of the row count, the column starts, the
// CRCs, and the values of AscendingKey. It also returns the position after the file's CRCs,
// and the positions after each column's metadata.
func newHeader(meta Metadata, cols []Column) (b []byte, crcsEnd int, ends []int) {
	b = append(b, magic...)
	b = append(b, Version)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(cols)))
	crcs := Metadata{{HeaderCRCKey, make([]byte, crc32.Size)}, {BlocksCRCKey, make([]byte, crc32.Size)}}
	pairs := len(b) + len(binary.AppendVarint(nil, int64(len(crcs)+len(meta))))
	b = append(crcs, meta...).append(b)
	crcsEnd = pairs + crcPair(HeaderCRCKey) + crcPair(BlocksCRCKey)
	for i := range cols {
		b = cols[i].Meta.append(b)
		ends = append(ends, len(b))
	}
	return append(b, make([]byte, 8*len(cols))...), crcsEnd, ends
}

// columnMeta returns the metadata that describes c. The values of AscendingKey, which only
// columns with Values have, and TableCRCKey are known only after the whole column was written,
// so these pairs come last.
func columnMeta(c *Column, parent string) Metadata {
	m := Metadata{{keyName, []byte(c.Name)}, {keyType, []byte(c.Type.String())}}
	if c.Array {
		m = append(m, KeyValue{keyArray, nil})
	}
	if c.Parent >= 0 {
		m = append(m, KeyValue{keyParent, []byte(parent)})
	}
	if c.Values {
		m = append(m, KeyValue{keyValues, nil})
	}
	m = append(m, KeyValue{keyCodec, []byte(c.Codec)}, KeyValue{keyChecksum, []byte(c.Checksum)})
	if c.Values {
		m = append(m, KeyValue{AscendingKey, []byte{0}})
	}
	return append(m, KeyValue{TableCRCKey, make([]byte, crc32.Size)})
}
