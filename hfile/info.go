package hfile

import (
	"bytes"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// Keys of the file info that readers use.
const (
	infoLastKey      = "hfile.LASTKEY"
	infoAverageKey   = "hfile.AVG_KEY_LEN"
	infoAverageValue = "hfile.AVG_VALUE_LEN"
	infoMaxTags      = "hfile.MAX_TAGS_LEN"
	infoVersion      = "KEY_VALUE_VERSION"
	infoMaxMemstore  = "MAX_MEMSTORE_TS_KEY"
	infoEncoding     = "DATA_BLOCK_ENCODING"
	infoBloomType    = "BLOOM_FILTER_TYPE"
	infoLastBloomKey = "LAST_BLOOM_KEY"
	infoSchema       = "schema"       // a key of Hudi
	infoMinRecord    = "minRecordKey" // a key of Hudi, for the least row
	infoMaxRecord    = "maxRecordKey" // a key of Hudi, for the greatest row
)

// infoReserved is the prefix of HBase's own keys.
const infoReserved = "hfile."

// protobufMagic precedes the messages that HBase stores.
const protobufMagic = "PBUF"

// Field numbers of FileInfoProto, and of the BytesBytesPair in it.
const (
	infoEntry  = 1
	pairFirst  = 1
	pairSecond = 2
)

// Pair is an entry of the file info.
type Pair struct {
	Key   string
	Value []byte
}

// Info is the file info, in the order of the file.
type Info []Pair

// Value returns the value of a key, or nil if there is none.
func (f Info) Value(key string) []byte {
	for _, p := range f {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

// number returns the value of a key as a big-endian integer. ok is false if the value does not
// have 4 or 8 bytes.
func (f Info) number(key string) (n int64, ok bool) {
	v := f.Value(key)
	if len(v) != 4 && len(v) != 8 {
		return 0, false
	}
	for i, c := range v {
		if i == 0 {
			n = int64(int8(c))
		} else {
			n = n<<8 | int64(c)
		}
	}
	return n, true
}

// sorted returns the info in HBase's order, by the bytes of the keys.
func (f Info) sorted() Info {
	f = slices.Clone(f)
	slices.SortStableFunc(f, func(a, b Pair) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return f
}

// append appends the payload of a file info block.
func (f Info) append(dst []byte) []byte {
	var message, pair []byte
	for _, p := range f {
		pair = protobuf.AppendBytes(pair[:0], pairFirst, p.Key)
		pair = protobuf.AppendBytes(pair, pairSecond, p.Value)
		message = protobuf.AppendBytes(message, infoEntry, pair)
	}
	dst = append(dst, protobufMagic...)
	return append(protowire.AppendVarint(dst, uint64(len(message))), message...)
}

// parseInfo reads the payload of a file info block, which begins at the offset. The values are
// parts of the payload.
func parseInfo(memory *column.Reservation, payload []byte, offset int64) (Info, error) {
	//guard: rejects a block without the magic of a message
	if !bytes.HasPrefix(payload, []byte(protobufMagic)) {
		return nil, damage.New(damage.Magic, "", offset, "the file info does not begin with %q", protobufMagic)
	}
	m, err := protobuf.Delimited("file info", payload, len(protobufMagic), offset)
	if err != nil {
		return nil, err
	}
	n := 0
	for counted := m; counted.Next(); {
		n++
	}
	if err := memory.Reserve(int64(n) * int64(unsafe.Sizeof(Pair{}))); err != nil {
		return nil, err
	}
	info := make(Info, 0, n)
	for m.Next() {
		if m.Number != infoEntry {
			continue
		}
		pair := m.Inner()
		var p Pair
		for pair.Next() {
			switch pair.Number {
			case pairFirst:
				if err := memory.Reserve(int64(len(pair.Bytes()))); err != nil {
					return nil, err
				}
				p.Key = string(pair.Bytes())
			case pairSecond:
				p.Value = pair.Bytes()
			}
		}
		if err := pair.End(pairFirst, pairSecond); err != nil {
			return nil, err
		}
		info = append(info, p)
	}
	return info, m.End()
}
