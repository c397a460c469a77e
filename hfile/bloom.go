package hfile

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// The hash functions of Bloom filters, by their numbers.
const (
	hashJenkins = 0
	hashMurmur  = 1
	hashMurmur3 = 2
)

const (
	// bloomVersion is the version of compound Bloom filters.
	bloomVersion = 3
	// bloomMetaSize is the size of a filter's meta block before its comparator.
	bloomMetaSize = 4 + 8 + 4 + 4 + 8 + 8 + 4
	// maxHashes is how many hash functions a filter may have.
	maxHashes = 128
)

// bloomFilter is a compound Bloom filter. Each chunk is a filter of the keys from the chunk's
// first key up to the first key of the next chunk.
type bloomFilter struct {
	hashes int
	hash   func(b []byte, seed uint32) uint32
	rows   bool // the keys are rows, not cells
	chunks []indexEntry
}

// parseBloom reads b, the payload of a filter's meta block. The payload is at offset in the
// file. The table has the size of each number, in bytes:
//
//	| version: 4 | bytes of all chunks: 8 | number of hash functions: 4 | kind of hash function: 4 |
//	| number of keys: 8 | number of keys for which there is room: 8 | number of chunks: 4 |
//	| length of the comparator: VInt | comparator | an entry for each chunk, as in the root of an index |
func parseBloom(memory *column.Reservation, b []byte, info Info, offset int64) (*bloomFilter, error) {
	c := damage.NewCursor("", b, offset)
	number := func(what string) int64 { return int64(int32(c.BigEndian(4, what))) }
	f := &bloomFilter{}
	//guard: rejects an unknown version
	if v := number("the version of a Bloom filter"); v != bloomVersion {
		c.Fail(damage.Unsupported, offset, "version %d of a Bloom filter, only version %d is read", v, bloomVersion)
	}
	c.Bytes(8, "the number of a filter's bytes")
	f.hashes = int(number("the number of hash functions"))
	//guard: bounds the number of hash functions
	if f.hashes < 1 || f.hashes > maxHashes {
		c.Fail(damage.Value, offset+12, "%d hash functions", f.hashes)
	}
	switch kind := number("the kind of a hash function"); kind {
	case hashJenkins:
		f.hash = jenkins
	case hashMurmur:
		f.hash = murmur
	case hashMurmur3:
		f.hash = murmur3
	default:
		c.Fail(damage.Unsupported, offset+16, "hash function %d", kind)
	}
	c.Bytes(8+8, "the numbers of keys")
	chunks := number("the number of chunks")
	name := c.Bytes(c.VInt("the length of a comparator"), "a comparator")
	entries, err := rootEntries(memory, &c, chunks, dialects[0])
	if err != nil {
		return nil, err
	}
	//guard: rejects bytes after the entries
	if c.Remaining() != 0 {
		return nil, damage.New(damage.Trailing, "", c.Offset(), "%d bytes after the %d chunks of a Bloom filter", c.Remaining(), chunks)
	}
	f.chunks = entries
	switch kind := string(info.Value(infoBloomType)); kind {
	case "ROW":
		f.rows = true
	case "":
		f.rows = len(name) == 0
	}
	return f, nil
}

// MayContainRow reports whether the file may have a row according to its Bloom filter. It reads a
// chunk of the filter. It returns true if the file has no filter of rows.
func (s *Scanner) MayContainRow(row []byte) (bool, error) {
	f := s.f.bloom
	if f == nil || !f.rows {
		return true, nil
	}
	low, high := 0, len(f.chunks)
	for low < high {
		mid := int(uint(low+high) / 2)
		if bytes.Compare(f.chunks[mid].key, row) <= 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return false, nil
	}
	array, err := s.bloomChunk(f.chunks[low-1])
	if err != nil {
		return false, s.f.located(err)
	}
	return bloomHas(array, row, f.hashes, f.hash), nil
}

// bloomChunk reads a chunk of the Bloom filter.
func (s *Scanner) bloomChunk(e indexEntry) ([]byte, error) {
	if s.chunk == nil {
		s.chunk = s.f.blocks()
	}
	if s.chunkAt == e.offset && s.chunkBits != nil {
		return s.chunkBits, nil
	}
	s.chunkBits = nil
	_, payload, err := s.chunk.read(e.offset, e.size, magicBloomChunk)
	if err != nil {
		return nil, err
	}
	//guard: rejects an empty chunk
	if len(payload) == 0 {
		return nil, damage.New(damage.Size, "", e.offset, "a Bloom filter's chunk of no bytes")
	}
	s.chunkAt, s.chunkBits = e.offset, payload
	return payload, nil
}

// bloomHas reports whether all bits of a key are set.
func bloomHas(array, key []byte, hashes int, hash func(b []byte, seed uint32) uint32) bool {
	h := hash(key, 0)
	step := hash(key, h)
	n := int64(len(array)) * 8
	for range hashes {
		at := bloomBit(h, n)
		if array[at/8]&(1<<(at%8)) == 0 {
			return false
		}
		h += step
	}
	return true
}

// bloomBit returns the bit of a hash among n bits.
func bloomBit(hash uint32, n int64) int64 {
	at := int64(int32(hash)) % n
	if at < 0 {
		return -at
	}
	return at
}

// murmur is HBase's 32-bit MurmurHash2. It hashes the bytes after the last multiple of four as
// signed numbers.
func murmur(b []byte, seed uint32) uint32 {
	n := len(b) &^ 3
	return murmurOf(b[:n], b[n:], seed)
}

// murmurOf returns the hash of b and of the last bytes after it. The length of b is a multiple of
// four.
func murmurOf(b, last []byte, seed uint32) uint32 {
	const m, r = 0x5bd1e995, 24
	h := seed ^ uint32(len(b)+len(last))
	for ; len(b) >= 8; b = b[8:] {
		both := binary.LittleEndian.Uint64(b)
		k := uint32(both) * m
		h = h*m ^ (k^k>>r)*m
		k = uint32(both>>32) * m
		h = h*m ^ (k^k>>r)*m
	}
	if len(b) >= 4 {
		k := binary.LittleEndian.Uint32(b) * m
		h = h*m ^ (k^k>>r)*m
	}
	for i, c := range last {
		h ^= uint32(int32(int8(c))) << (8 * i)
	}
	if len(last) > 0 {
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// murmur3 is the 32-bit MurmurHash3.
func murmur3(b []byte, seed uint32) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := seed, uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * c1
		k = (k<<15 | k>>17) * c2
		h ^= k
		h = (h<<13|h>>19)*5 + 0xe6546b64
	}
	if len(b) > 0 {
		var k uint32
		for i := len(b) - 1; i >= 0; i-- {
			k = k<<8 | uint32(b[i])
		}
		k *= c1
		h ^= (k<<15 | k>>17) * c2
	}
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// jenkins is Bob Jenkins' lookup3 (hashlittle) as HBase has it.
func jenkins(data []byte, seed uint32) uint32 {
	a := 0xdeadbeef + uint32(len(data)) + seed
	b, c := a, a
	for ; len(data) > 12; data = data[12:] {
		a += binary.LittleEndian.Uint32(data)
		b += binary.LittleEndian.Uint32(data[4:])
		c += binary.LittleEndian.Uint32(data[8:])
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	if len(data) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], data)
	a += binary.LittleEndian.Uint32(last[:])
	b += binary.LittleEndian.Uint32(last[4:])
	c += binary.LittleEndian.Uint32(last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
