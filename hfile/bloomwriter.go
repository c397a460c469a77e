package hfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/rowtocol/rowtocol/internal/wire"
)

const (
	// bloomChunkSize is the size of a chunk of a Bloom filter. It is HBase's default.
	bloomChunkSize = 128 << 10
	// bloomHashes is the number of hash functions for a false positive rate of 1 %, which is
	// HBase's default.
	bloomHashes = 7
	// bloomBitsPerKey is the number of bits for that rate: -ln 0.01 / (ln 2)².
	bloomBitsPerKey = 9.585058377
)

// bloomChunkKeys is the number of keys of a chunk.
var bloomChunkKeys = int(math.Floor(bloomChunkSize * 8 / bloomBitsPerKey))

// bloomWriter builds a compound Bloom filter of rows.
type bloomWriter struct {
	chunk []byte   // the open chunk, after room for its header
	first []byte   // first key of the open chunk
	count int      // number of keys in the open chunk
	ready [][]byte // chunks to write

	keys    int64
	maxKeys int64 // keys for which the ended chunks have room
	bytes   int64 // size of the ended chunks
	chunks  []indexEntry
	index   int64        // most bytes of chunks in a root
	pending []indexEntry // entries of the chunks in ready
}

func newBloomWriter() *bloomWriter { return &bloomWriter{} }

// add adds a row that differs from the row before.
func (f *bloomWriter) add(row []byte) {
	if f.count == bloomChunkKeys {
		f.finish()
	}
	if f.count == 0 {
		f.chunk = make([]byte, headerSize+bloomChunkSize, headerSize+bloomChunkSize+checksumSize*maxChecksums)
		f.first = bytes.Clone(row)
	}
	array := (*[bloomChunkSize]byte)(f.chunk[headerSize:])
	h := murmur(row, 0)
	step := murmur(row, h)
	for range bloomHashes {
		at := bloomChunkBit(h)
		array[at/8] |= 1 << (at % 8)
		h += step
	}
	f.count++
	f.keys++
}

// bloomChunkBit is bloomBit for a chunk, whose number of bits is a power of two.
func bloomChunkBit(hash uint32) uint32 {
	sign := uint32(int32(hash) >> 31)
	return (hash ^ sign - sign) & (bloomChunkSize*8 - 1)
}

// finish ends the chunk, folded to the smallest size that has room for its keys.
func (f *bloomWriter) finish() {
	size, keys := bloomChunkSize, bloomChunkKeys
	for size%2 == 0 && f.count <= keys/2 {
		size, keys = size/2, keys/2
	}
	array := f.chunk[headerSize:]
	for i := size; i < len(array); i++ {
		array[i%size] |= array[i]
	}
	f.ready = append(f.ready, f.chunk[:headerSize+size])
	f.pending = append(f.pending, indexEntry{key: f.first})
	f.maxKeys += int64(keys)
	f.bytes += int64(size)
	f.chunk, f.first, f.count = nil, nil, 0
}

// full returns a chunk to write, after room for its header, or nil if no chunk is ready. If last
// is set, the open chunk is ready as well.
func (f *bloomWriter) full(last bool) []byte {
	if last && f.count > 0 {
		f.finish()
	}
	if len(f.ready) == 0 {
		return nil
	}
	return f.ready[0]
}

// chunkWritten records the place of the chunk that full returned.
func (f *bloomWriter) chunkWritten(offset int64, size int) {
	e := f.pending[0]
	e.offset, e.size = offset, size
	f.chunks = append(f.chunks, e)
	f.index += rootEntrySize(e)
	f.ready, f.pending = f.ready[1:], f.pending[1:]
}

// appendMeta appends the payload of the filter's meta block; see parseBloom.
func (f *bloomWriter) appendMeta(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, bloomVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.bytes))
	dst = binary.BigEndian.AppendUint32(dst, bloomHashes)
	dst = binary.BigEndian.AppendUint32(dst, hashMurmur)
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.keys))
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.maxKeys))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.chunks)))
	dst = wire.AppendVInt(dst, 0) // no comparator: rows are bytes
	return appendRootEntries(dst, f.chunks)
}

// bound returns the most bytes that the filter will add to the file if a key of key bytes is
// added. stored returns the most bytes that a block of n bytes takes in a file.
func (f *bloomWriter) bound(key int, stored func(int64) int64) int64 {
	n := stored(int64(bloomMetaSize+1)) + f.index
	for i, c := range f.ready {
		n += stored(int64(len(c)-headerSize)) + rootEntrySize(f.pending[i])
	}
	if f.count > 0 {
		n += rootEntrySize(indexEntry{key: f.first})
	}
	// The open chunk is folded. The further key may need another chunk, which has the
	// smallest size.
	size, keys := int64(bloomChunkSize), bloomChunkKeys
	for size%2 == 0 && f.count+1 <= keys/2 {
		size, keys = size/2, keys/2
	}
	return n + stored(size) + stored(64) + int64(pointerSize+9+key)
}
