package cfile

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of a file's values: DataType of Kudu's common.proto. It says what the
// values mean. Its physical type says how they are stored.
type Type uint8

// The types of files. Times are microseconds and dates days since 1970-01-01. Decimals are
// unscaled values.
const (
	Uint8          Type = 0
	Int8           Type = 1
	Uint16         Type = 2
	Int16          Type = 3
	Uint32         Type = 4
	Int32          Type = 5
	Uint64         Type = 6
	Int64          Type = 7
	String         Type = 8
	Bool           Type = 9
	Float          Type = 10
	Double         Type = 11
	Binary         Type = 12
	UnixtimeMicros Type = 13
	Int128         Type = 14
	Decimal32      Type = 15
	Decimal64      Type = 16
	Decimal128     Type = 17
	Varchar        Type = 19
	Date           Type = 20

	endOfTypes = 21
)

// typeInfo has the properties of a type.
type typeInfo struct {
	name     string
	physical Type
	width    int  // of the physical type
	keyed    bool // values have an encoding whose bytes sort as they do
	signed   bool
}

var types = [endOfTypes]typeInfo{
	Uint8:          {"UINT8", Uint8, 1, true, false},
	Int8:           {"INT8", Int8, 1, true, true},
	Uint16:         {"UINT16", Uint16, 2, true, false},
	Int16:          {"INT16", Int16, 2, true, true},
	Uint32:         {"UINT32", Uint32, 4, true, false},
	Int32:          {"INT32", Int32, 4, true, true},
	Uint64:         {"UINT64", Uint64, 8, true, false},
	Int64:          {"INT64", Int64, 8, true, true},
	String:         {"STRING", Binary, 0, true, false},
	Bool:           {"BOOL", Bool, 1, false, false},
	Float:          {"FLOAT", Float, 4, false, false},
	Double:         {"DOUBLE", Double, 8, false, false},
	Binary:         {"BINARY", Binary, 0, true, false},
	UnixtimeMicros: {"UNIXTIME_MICROS", Int64, 8, true, true},
	Int128:         {"INT128", Int128, 16, true, true},
	Decimal32:      {"DECIMAL32", Int32, 4, true, true},
	Decimal64:      {"DECIMAL64", Int64, 8, true, true},
	Decimal128:     {"DECIMAL128", Int128, 16, true, true},
	Varchar:        {"VARCHAR", Binary, 0, true, false},
	Date:           {"DATE", Int32, 4, true, true},
}

// valid reports whether t is one of the types.
func (t Type) valid() bool { return int(t) < len(types) && types[t].name != "" }

// String returns Kudu's name: "INT64".
func (t Type) String() string {
	if !t.valid() {
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
	return types[t].name
}

// Physical returns the type as which values of t are stored: Binary for String, Int32 for Date.
func (t Type) Physical() Type { return types[t].physical }

// Width returns the size of a value: 1 for Bool, 0 for values of any length, whose physical
// type is Binary.
func (t Type) Width() int { return types[t].width }

// Keyed reports whether AppendKey encodes values of t, so that they may have a value index.
func (t Type) Keyed() bool { return types[t].keyed }

// ParseType is the inverse of String and ignores case. ok is false for an unknown name.
func ParseType(name string) (t Type, ok bool) {
	for t := range types {
		if types[t].name != "" && strings.EqualFold(types[t].name, name) {
			return Type(t), true
		}
	}
	return 0, false
}

// Encoding is how the values of data blocks are stored: EncodingType of Kudu's
// common.proto.
type Encoding uint8

// The encodings. Kudu had GroupVarint up to 1.1, for UINT32 only.
const (
	Auto Encoding = iota // the type's default
	Plain
	Prefix
	GroupVarint
	RLE
	Dict
	Bitshuffle
)

var encodingNames = [...]string{"AUTO", "PLAIN", "PREFIX", "GROUP_VARINT", "RLE", "DICT", "BIT_SHUFFLE"}

// String returns Kudu's name: "BIT_SHUFFLE".
func (e Encoding) String() string {
	if int(e) >= len(encodingNames) {
		return fmt.Sprintf("Encoding(%d)", uint8(e))
	}
	return encodingNames[e]
}

// ParseEncoding is the inverse of String and ignores case. ok is false for an unknown name.
func ParseEncoding(name string) (e Encoding, ok bool) {
	i := slices.IndexFunc(encodingNames[:], func(n string) bool { return strings.EqualFold(n, name) })
	return Encoding(max(i, 0)), i >= 0
}

// Encodings returns the encodings that values of t may have, the default first. The slice
// must not be changed.
func (t Type) Encodings() []Encoding { return encodings[t.Physical()] }

var encodings = [endOfTypes][]Encoding{
	Uint8:  integerEncodings,
	Int8:   integerEncodings,
	Uint16: integerEncodings,
	Int16:  integerEncodings,
	Uint32: {Bitshuffle, Plain, RLE, GroupVarint},
	Int32:  integerEncodings,
	Uint64: integerEncodings,
	Int64:  integerEncodings,
	Bool:   {RLE, Plain},
	Float:  {Bitshuffle, Plain},
	Double: {Bitshuffle, Plain},
	Int128: {Bitshuffle, Plain},
	Binary: {Dict, Plain, Prefix},
}

var integerEncodings = []Encoding{Bitshuffle, Plain, RLE}

// allows reports whether values of t may have the encoding. Auto is always allowed.
func (t Type) allows(e Encoding) bool { return e == Auto || slices.Contains(t.Encodings(), e) }

// resolve returns e, or the default of t if e is Auto.
func (e Encoding) resolve(t Type) Encoding {
	if e == Auto {
		return t.Encodings()[0]
	}
	return e
}

// Compression is how whole blocks are compressed: CompressionType of Kudu's
// compression.proto.
type Compression uint8

// The compressions. The zero Compression is not valid in a file.
const (
	NoCompression Compression = iota + 1
	Snappy
	LZ4
	Zlib
)

var compressionNames = [...]string{"DEFAULT_COMPRESSION", "NO_COMPRESSION", "SNAPPY", "LZ4", "ZLIB"}

// String returns Kudu's name: "NO_COMPRESSION".
func (c Compression) String() string {
	if int(c) >= len(compressionNames) {
		return fmt.Sprintf("Compression(%d)", uint8(c))
	}
	return compressionNames[c]
}

// ParseCompression is the inverse of String and ignores case. ok is false for an unknown name
// and for DEFAULT_COMPRESSION.
func ParseCompression(name string) (c Compression, ok bool) {
	i := slices.IndexFunc(compressionNames[:], func(n string) bool { return strings.EqualFold(n, name) })
	return Compression(max(i, 0)), i >= int(NoCompression)
}

func (c Compression) valid() bool { return c >= NoCompression && c <= Zlib }
