package bloom

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
)

// The design of filters, by default that of Kudu: 1,710 keys in a block, and 13 hash
// functions.
const (
	DefaultBlockSize      = 4096   // Options.BlockSize
	DefaultFalsePositives = 0.0001 // Options.FalsePositives

	maxBlockSize = 8 << 20
	// maxBitmap is the most bytes of a bitmap that is read: no block of Kudu's has more.
	maxBitmap = 16 << 20
	// maxHashes is more than the hash functions of any rate that a float64 can be, the
	// logarithm of which is 1074 at most.
	maxHashes = 1100
	// ln2 has as many digits as Kudu has of it: others could make another number of keys.
	ln2 = 0.69314
)

// Options are the design of filters.
type Options struct {
	// BlockSize is the bytes of a filter's bitmap, at most 8 MiB. 0 is DefaultBlockSize.
	BlockSize int
	// FalsePositives is the share of keys, of those that a full filter does not hold,
	// that it takes for its own: more than 0, less than 1. 0 is DefaultFalsePositives.
	FalsePositives float64
}

// Validate returns what is wrong with o.
func (o Options) Validate() error {
	if o.BlockSize < 0 || o.BlockSize > maxBlockSize {
		return fmt.Errorf("a Bloom filter cannot have %d bytes: they are 1 to %d", o.BlockSize, maxBlockSize)
	}
	if p := o.FalsePositives; !(p >= 0 && p < 1) {
		return fmt.Errorf("a Bloom filter cannot have a false-positive rate of %v: it is between 0 and 1", p)
	}
	return nil
}

// withDefaults returns o with the defaults in place of zeros.
func (o Options) withDefaults() Options {
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.FalsePositives == 0 {
		o.FalsePositives = DefaultFalsePositives
	}
	return o
}

// Keys is how many keys a block holds at most.
func (o Options) Keys() int {
	o = o.withDefaults()
	keys := math.Ceil(-float64(o.BlockSize*8) * ln2 * ln2 / math.Log(o.FalsePositives))
	//guard: at a rate of almost 1 there would be more than an int can tell
	keys = min(keys, math.MaxInt32)
	return int(keys)
}

// Hashes is the number of hash functions.
func (o Options) Hashes() int {
	return max(1, int(float64(o.withDefaults().BlockSize*8)*ln2/float64(o.Keys())))
}

// filter is the Bloom filter of a block.
type filter struct {
	bitmap []byte
	hashes int
}

// bit is the place of a bit, and its mask there.
func (f *filter) bit(hash uint32) (at, mask uint32) {
	n := hash % uint32(len(f.bitmap)*8)
	return n / 8, 1 << (n % 8)
}

// add adds the key of a hash.
func (f *filter) add(hash uint64) {
	h, step := uint32(hash), uint32(hash>>32)
	for range f.hashes {
		at, mask := f.bit(h)
		f.bitmap[at] |= byte(mask)
		h += step
	}
}

// mayContain is false if the key of a hash was not added.
func (f *filter) mayContain(hash uint64) bool {
	h, step := uint32(hash), uint32(hash>>32)
	for range f.hashes {
		if at, mask := f.bit(h); f.bitmap[at]&byte(mask) == 0 {
			return false
		}
		h += step
	}
	return true
}

// fieldHashes is the number of num_hash_functions in BloomBlockHeaderPB.
const fieldHashes protowire.Number = 1

// newBlock returns a block with an empty filter, whose bitmap is the end of the block.
func newBlock(o Options) (block []byte, f filter) {
	header := protowire.AppendTag(nil, fieldHashes, protowire.VarintType)
	header = protowire.AppendVarint(header, uint64(o.Hashes()))
	block = binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(header)+o.BlockSize), uint32(len(header)))
	block = append(block, header...)
	bitmap := len(block)
	block = block[:bitmap+o.BlockSize]
	return block, filter{block[bitmap:], o.Hashes()}
}

// parse returns the filter of a block, a part of it. Damage has offsets in the block.
func parse(block []byte) (filter, error) {
	//guard: a block of less would crash the program
	if len(block) < 4 {
		return filter{}, damage.New(damage.Truncated, "", 0, "the block has %d bytes, fewer than the length of its header", len(block))
	}
	size, rest := binary.LittleEndian.Uint32(block), block[4:]
	//guard: a header that is longer than its block would crash the program
	if uint64(size) > uint64(len(rest)) {
		return filter{}, damage.New(damage.Size, "", 0, "the header of a filter has %d bytes, and %d follow", size, len(rest))
	}
	hashes, err := parseHeader(rest[:size])
	if err != nil {
		return filter{}, err
	}
	f := filter{rest[size:], hashes}
	//guard: no bit can be chosen of none
	if len(f.bitmap) == 0 {
		return filter{}, damage.New(damage.Size, "", int64(len(block)), "the filter has no bits")
	}
	//guard: of 2³² bits and more none can be chosen by 32 bits of a hash
	if len(f.bitmap) > maxBitmap {
		return filter{}, damage.New(damage.Size, "", int64(4+size), "the filter has %d bytes, at most %d", len(f.bitmap), maxBitmap)
	}
	return f, nil
}

// parseHeader returns num_hash_functions.
func parseHeader(b []byte) (hashes int, err error) {
	var n uint64
	for at := 0; at < len(b); {
		number, kind, size := protowire.ConsumeTag(b[at:])
		//guard: a negative length would move backwards
		if size < 0 {
			return 0, damage.New(damage.Header, "", int64(4+at), "the header of a filter: %v", protowire.ParseError(size))
		}
		at += size
		if number == fieldHashes && kind == protowire.VarintType {
			n, size = protowire.ConsumeVarint(b[at:])
		} else {
			size = protowire.ConsumeFieldValue(number, kind, b[at:])
		}
		//guard: a negative length would move backwards
		if size < 0 {
			return 0, damage.New(damage.Header, "", int64(4+at), "the header of a filter: %v", protowire.ParseError(size))
		}
		at += size
	}
	//guard: without hash functions all keys would be there; with too many a question would take minutes
	if n < 1 || n > maxHashes {
		return 0, damage.New(damage.Count, "", 4, "the filter has %d hash functions, not 1 to %d", n, maxHashes)
	}
	return int(n), nil
}
