package cfile

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// The magics of the container's versions, at both ends of a file.
const (
	magic1    = "kuducfil"
	magic2    = "kuducfl2"
	magicSize = len(magic1)
)

const (
	// frameSize is the magic and the length of a message.
	frameSize = magicSize + 4
	// checksumSize is the bytes of a checksum: a CRC-32C, little-endian.
	checksumSize = 4
	// maxMessage is the most bytes of the message of a header or footer.
	maxMessage = 64 << 10
)

// Field numbers of CFileFooterPB, and of the messages in it.
const (
	footerType         = 1
	footerEncoding     = 2
	footerValues       = 3
	footerPositional   = 4
	footerValue        = 5
	footerCompression  = 6
	footerMetadata     = 7
	footerNullable     = 8
	footerDictionary   = 9
	footerIncompatible = 10
	footerCompatible   = 11
	footerArray        = 12

	headerMetadata = 3 // of CFileHeaderPB
	treeRoot       = 1 // of BTreeInfoPB
	pointerOffset  = 1 // of BlockPointerPB
	pointerSize    = 2
	pairKey        = 1 // of FileMetadataPairPB
	pairValue      = 2
)

// Pointer says where a block is in the file. Its size includes the checksum.
type Pointer struct {
	Offset int64
	Size   int32
}

// end is the offset after the block.
func (p Pointer) end() int64 { return p.Offset + int64(p.Size) }

// Feature bits of Footer.Incompatible. A reader refuses features that it does not know.
const (
	// FeatureChecksums says that header, footer and blocks have checksums.
	FeatureChecksums uint32 = 1 << iota
	// FeatureArrays says that data blocks have arrays.
	FeatureArrays
)

// Pair is a piece of metadata.
type Pair struct {
	Key   string
	Value []byte
}

// Footer is the message at the end of a file, which describes it: CFileFooterPB.
type Footer struct {
	Version      int // version of the container: 1 or 2
	Type         Type
	Encoding     Encoding // as stored, so it may be Auto
	Compression  Compression
	Nullable     bool
	Array        bool
	Values       int64    // number of rows, nulls included
	Positional   *Pointer // root of the positional index, nil if there is none
	Value        *Pointer // root of the value index, nil if there is none
	Dictionary   *Pointer // nil if there is none
	Metadata     []Pair   // in the order of the file
	Incompatible uint32   // features that a reader must know
	Compatible   uint32   // features that a reader may ignore
}

// Get returns the value of a key of the metadata.
func (f *Footer) Get(key string) (value []byte, ok bool) {
	for i := range f.Metadata {
		if f.Metadata[i].Key == key {
			return f.Metadata[i].Value, true
		}
	}
	return nil, false
}

// checksums reports whether the file has checksums.
func (f *Footer) checksums() bool { return f.Incompatible&FeatureChecksums != 0 }

// checksumSize returns the size of each checksum of the file. It is 0 if the file has none.
func (f *Footer) checksumSize() int {
	if f.checksums() {
		return checksumSize
	}
	return 0
}

// append appends the end of a file of version 2: the checksum if Incompatible has
// FeatureChecksums, the message, the magic and the message's length. Fields are in the order of
// their numbers. Fields that Kudu always writes are always written.
func (f *Footer) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, f.checksumSize())...)
	message := len(dst)
	dst = f.appendMessage(dst)
	size := len(dst) - message
	dst = append(dst, magic2...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	if f.checksums() {
		binary.LittleEndian.PutUint32(dst[start:], checksum(dst[message:]))
	}
	return dst
}

func (f *Footer) appendMessage(dst []byte) []byte {
	dst = protobuf.AppendVarint(dst, footerType, uint64(f.Type))
	dst = protobuf.AppendVarint(dst, footerEncoding, uint64(f.Encoding))
	dst = protobuf.AppendVarint(dst, footerValues, uint64(f.Values))
	if f.Positional != nil {
		dst = protobuf.AppendBytes(dst, footerPositional, protobuf.AppendBytes(nil, treeRoot, f.Positional.append(nil)))
	}
	if f.Value != nil {
		dst = protobuf.AppendBytes(dst, footerValue, protobuf.AppendBytes(nil, treeRoot, f.Value.append(nil)))
	}
	dst = protobuf.AppendVarint(dst, footerCompression, uint64(f.Compression))
	for _, p := range f.Metadata {
		pair := protobuf.AppendBytes(nil, pairKey, p.Key)
		dst = protobuf.AppendBytes(dst, footerMetadata, protobuf.AppendBytes(pair, pairValue, p.Value))
	}
	dst = protobuf.AppendVarint(dst, footerNullable, protowire.EncodeBool(f.Nullable))
	if f.Dictionary != nil {
		dst = protobuf.AppendBytes(dst, footerDictionary, f.Dictionary.append(nil))
	}
	dst = protobuf.AppendVarint(dst, footerIncompatible, uint64(f.Incompatible))
	if f.Compatible != 0 {
		dst = protobuf.AppendVarint(dst, footerCompatible, uint64(f.Compatible))
	}
	if f.Array {
		dst = protobuf.AppendVarint(dst, footerArray, 1)
	}
	return dst
}

// append appends the message of the pointer.
func (p Pointer) append(dst []byte) []byte {
	dst = protobuf.AppendVarint(dst, pointerOffset, uint64(p.Offset))
	return protobuf.AppendVarint(dst, pointerSize, uint64(p.Size))
}

// parseFooter reads the message of a footer, which begins at an offset of the file.
func parseFooter(b []byte, base int64) (*Footer, error) {
	f := &Footer{Compression: NoCompression}
	m := protobuf.New("footer", b, base)
	for m.Next() {
		switch m.Number {
		case footerType:
			f.Type = Type(readEnum(&m, damage.Unsupported, "type", func(v uint64) bool { return v < endOfTypes && Type(v).valid() }))
		case footerEncoding:
			f.Encoding = Encoding(readEnum(&m, damage.Unsupported, "encoding", func(v uint64) bool { return v < uint64(len(encodingNames)) }))
		case footerCompression:
			f.Compression = Compression(readEnum(&m, damage.Codec, "compression", func(v uint64) bool { return v < math.MaxUint8 && Compression(v).valid() }))
		case footerValues:
			f.Values = int64(m.Varint(maxValues))
		case footerPositional:
			f.Positional = readTree(&m)
		case footerValue:
			f.Value = readTree(&m)
		case footerMetadata:
			f.Metadata = append(f.Metadata, readPair(&m))
		case footerNullable:
			f.Nullable = m.Varint(1) == 1
		case footerDictionary:
			f.Dictionary = readPointer(&m)
		case footerIncompatible:
			f.Incompatible = uint32(m.Varint(math.MaxUint32))
		case footerCompatible:
			f.Compatible = uint32(m.Varint(math.MaxUint32))
		case footerArray:
			f.Array = m.Varint(1) == 1
		}
	}
	return f, m.End(footerType, footerEncoding, footerValues)
}

// maxValues is the most rows that a file may have: their ordinals have 32 bits.
const maxValues = 1 << 32

// parseHeader reads the message of a header, which begins at an offset of the file.
func parseHeader(b []byte, base int64) (metadata []Pair, err error) {
	m := protobuf.New("header", b, base)
	for m.Next() {
		if m.Number == headerMetadata {
			metadata = append(metadata, readPair(&m))
		}
	}
	return metadata, m.End()
}

// readEnum returns the field's value, a number that known accepts.
func readEnum(m *protobuf.Message, kind damage.Kind, what string, known func(uint64) bool) uint64 {
	v := m.Varint(math.MaxUint64)
	//guard: rejects an unknown type, encoding or compression
	if !known(v) {
		m.Fail(kind, m.At, "unknown %s %d", what, int64(v))
		return 0
	}
	return v
}

// readTree returns the root of the field's value, a BTreeInfoPB.
func readTree(m *protobuf.Message) (p *Pointer) {
	t := m.Inner()
	for t.Next() {
		if t.Number == treeRoot {
			p = readPointer(&t)
		}
	}
	m.EndInner(&t, treeRoot)
	return p
}

// readPointer returns the field's value, a BlockPointerPB.
func readPointer(m *protobuf.Message) *Pointer {
	p, b := new(Pointer), m.Inner()
	for b.Next() {
		switch b.Number {
		case pointerOffset:
			p.Offset = int64(b.Varint(math.MaxInt64))
		case pointerSize:
			p.Size = int32(b.Varint(math.MaxInt32))
		}
	}
	m.EndInner(&b, pointerOffset, pointerSize)
	return p
}

// readPair returns the field's value, a FileMetadataPairPB.
func readPair(m *protobuf.Message) (p Pair) {
	b := m.Inner()
	for b.Next() {
		switch b.Number {
		case pairKey:
			p.Key = string(b.Bytes())
		case pairValue:
			p.Value = append([]byte{}, b.Bytes()...)
		}
	}
	m.EndInner(&b, pairKey, pairValue)
	return p
}

// appendHeader appends the header of a file of version 2: 16 bytes with a checksum, 12
// without.
func appendHeader(dst []byte, checksums bool) []byte {
	start := len(dst)
	dst = append(dst, magic2...)
	dst = append(dst, 0, 0, 0, 0) // the length of an empty message
	if checksums {
		dst = appendChecksum(dst, dst[start:])
	}
	return dst
}

// appendChecksum appends the checksum of block, which may be the end of dst.
func appendChecksum(dst, block []byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, checksum(block))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC-32C of b.
func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
