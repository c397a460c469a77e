package hfile

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

const (
	magicTrailer = "TRABLK\"$"
	// trailerSize is the fixed size of the trailer.
	trailerSize = 4096
	// versionSize is the size of the version at the trailer's end. The first byte is the minor
	// version, the others are the major version.
	versionSize = 4
	// majorVersion is the version of files that are read and written. minorVersion is the one
	// that HBase writes.
	majorVersion = 3
	minorVersion = 3
)

// comparatorName is the name of the cells' order that HBase and Hudi know.
const comparatorName = "org.apache.hadoop.hbase.KeyValue$KVComparator"

// Field numbers of FileTrailerProto.
const (
	trailerInfo        = 1
	trailerLoadOnOpen  = 2
	trailerIndexSize   = 3
	trailerTotal       = 4
	trailerDataIndex   = 5
	trailerMetaIndex   = 6
	trailerEntries     = 7
	trailerLevels      = 8
	trailerFirstData   = 9
	trailerLastData    = 10
	trailerComparator  = 11
	trailerCompression = 12
	trailerEncryption  = 13
)

// Trailer is the end of a file, which leads to everything else. Offsets count from the
// beginning of the file, sizes are in bytes.
type Trailer struct {
	Major, Minor int
	FileInfo     int64 // offset of the block with the file info
	LoadOnOpen   int64 // offset of the root of the data index
	IndexSize    int64 // size of index blocks before compression; Hudi writes the size of the cells
	Total        int64 // size of blocks before compression
	DataIndex    int   // number of entries in the data index's root
	MetaIndex    int   // number of entries in the meta index
	Entries      int64 // number of cells
	Levels       int   // number of levels of the data index
	FirstData    int64 // offset of the first data block; -1 if there is none
	LastData     int64 // offset of the last data block; -1 if there is none, for which Hudi writes 0
	Comparator   string
	Codec        Codec
}

// append appends the trailer in trailerSize bytes.
func (t *Trailer) append(dst []byte) []byte {
	var m []byte
	m = protobuf.AppendVarint(m, trailerInfo, uint64(t.FileInfo))
	m = protobuf.AppendVarint(m, trailerLoadOnOpen, uint64(t.LoadOnOpen))
	m = protobuf.AppendVarint(m, trailerIndexSize, uint64(t.IndexSize))
	m = protobuf.AppendVarint(m, trailerTotal, uint64(t.Total))
	m = protobuf.AppendVarint(m, trailerDataIndex, uint64(t.DataIndex))
	m = protobuf.AppendVarint(m, trailerMetaIndex, uint64(t.MetaIndex))
	m = protobuf.AppendVarint(m, trailerEntries, uint64(t.Entries))
	m = protobuf.AppendVarint(m, trailerLevels, uint64(t.Levels))
	m = protobuf.AppendVarint(m, trailerFirstData, uint64(t.FirstData))
	m = protobuf.AppendVarint(m, trailerLastData, uint64(t.LastData))
	m = protobuf.AppendBytes(m, trailerComparator, t.Comparator)
	m = protobuf.AppendVarint(m, trailerCompression, uint64(t.Codec))

	start := len(dst)
	dst = append(dst, magicTrailer...)
	dst = protowire.AppendVarint(dst, uint64(len(m)))
	dst = append(dst, m...)
	dst = append(dst, make([]byte, start+trailerSize-versionSize-len(dst))...)
	return binary.BigEndian.AppendUint32(dst, uint32(t.Minor)<<24|uint32(t.Major))
}

// parseTrailer reads the trailer in b, which is at an offset.
func parseTrailer(b []byte, offset int64) (*Trailer, error) {
	version := binary.BigEndian.Uint32(b[trailerSize-versionSize:])
	t := &Trailer{Major: int(version & 0xFFFFFF), Minor: int(version >> 24), FirstData: -1, LastData: -1, Codec: None, Levels: 1}
	//guard: rejects a file that is not an HFile
	if !bytes.HasPrefix(b, []byte(magicTrailer)) {
		return nil, damage.New(damage.Magic, "", offset, "the trailer begins with %q, expected %q", b[:magicSize], magicTrailer)
	}
	//guard: rejects another version
	if t.Major != majorVersion {
		return nil, damage.New(damage.Unsupported, "", offset+trailerSize-versionSize, "version %d of HFile; only version %d is read", t.Major, majorVersion)
	}
	m, err := protobuf.Delimited("trailer", b[:trailerSize-versionSize], magicSize, offset)
	if err != nil {
		return nil, err
	}
	//guard: rejects changed bytes after the message
	if i := bytes.IndexFunc(b[m.After()-offset:trailerSize-versionSize], func(r rune) bool { return r != 0 }); i >= 0 {
		return nil, damage.New(damage.Trailing, "", m.After()+int64(i), "the trailer's padding is not zero")
	}
	if err := t.parse(&m); err != nil {
		return nil, err
	}
	return t, t.check(offset)
}

// parse reads the fields.
func (t *Trailer) parse(m *protobuf.Message) error {
	offset := func() int64 { return int64(m.Varint(math.MaxUint64)) }
	count := func() int { return int(m.Varint(math.MaxInt32)) }
	for m.Next() {
		switch m.Number {
		case trailerInfo:
			t.FileInfo = offset()
		case trailerLoadOnOpen:
			t.LoadOnOpen = offset()
		case trailerIndexSize:
			t.IndexSize = offset()
		case trailerTotal:
			t.Total = offset()
		case trailerDataIndex:
			t.DataIndex = count()
		case trailerMetaIndex:
			t.MetaIndex = count()
		case trailerEntries:
			t.Entries = offset()
		case trailerLevels:
			t.Levels = count()
		case trailerFirstData:
			t.FirstData = offset()
		case trailerLastData:
			t.LastData = offset()
		case trailerComparator:
			t.Comparator = string(m.Bytes())
		case trailerCompression:
			t.Codec = Codec(count())
		case trailerEncryption:
			// Encrypted blocks would look damaged.
			m.Fail(damage.Unsupported, m.At, "the file is encrypted")
		}
	}
	return m.End(trailerInfo, trailerLoadOnOpen)
}

// hudiPackage is the prefix of the comparator's name in files of Hudi.
const hudiPackage = "org.apache.hudi."

// byHudi reports whether Hudi's own writer wrote the file. That writer sets no minor version.
func (t *Trailer) byHudi() bool {
	return t.Minor == 0 && strings.HasPrefix(t.Comparator, hudiPackage)
}

// ordered reports whether the cells are in the order of Key.Compare. HBase has several names for
// this order, and Hudi has its own. Files of the table hbase:meta and of bytes have another order.
func (t *Trailer) ordered() bool {
	switch name, ok := strings.CutPrefix(t.Comparator, "org.apache.hadoop.hbase."); {
	case t.Comparator == "", strings.HasPrefix(t.Comparator, hudiPackage):
		return true
	case ok:
		return slices.Contains([]string{
			"KeyValue$KVComparator", "KeyValue$KeyComparator", "CellComparator", "CellComparatorImpl", "InnerStoreCellComparator",
		}, name)
	}
	return false
}

// check returns damage if a file whose trailer is at an offset cannot have these fields.
func (t *Trailer) check(offset int64) error {
	switch {
	//guard: rejects a codec that it cannot read
	case !t.Codec.readable():
		return damage.New(damage.Unsupported, "", offset, "blocks are compressed with %s; only NONE, GZ, SNAPPY, LZ4 and ZSTD are read", t.Codec)
	//guard: rejects cells in another order
	case !t.ordered():
		return damage.New(damage.Unsupported, "", offset, "the cells are in the unknown order %q", t.Comparator)
	//guard: rejects an offset outside the file
	case t.LoadOnOpen < 0 || t.LoadOnOpen > t.FileInfo || t.FileInfo > offset-headerSize:
		return damage.New(damage.Value, "", offset, "the trailer has the indexes at %d and the file info at %d, but is itself at %d", t.LoadOnOpen, t.FileInfo, offset)
	//guard: rejects a negative number of cells
	case t.Entries < 0:
		return damage.New(damage.Value, "", offset, "the trailer says %d cells", t.Entries)
	//guard: bounds the levels of an index
	case t.Levels < 1 || t.Levels > maxLevels:
		return damage.New(damage.Value, "", offset, "an index of %d levels", t.Levels)
	}
	return nil
}

// maxLevels is the most levels of an index. HBase's indexes rarely have more than three.
const maxLevels = 32
