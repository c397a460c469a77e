package cfile

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// rawFile builds files block by block. They may be damaged.
type rawFile struct {
	Footer            // without pointers; Version 0 means 2
	blocks []rawBlock // in the order of their rows
	fan    int        // entries of an index block
	order  string     // indexes of the file: p is the positional, v the value index
	words  []byte     // the dictionary, if any
	index  func(b *indexBlock, leaf bool) []byte

	out []byte
}

// rawBlock is a data block before compression.
type rawBlock struct {
	ordinal     uint32
	first, last []byte // keys
	raw         []byte
}

func (r *rawFile) bytes(t testing.TB) []byte {
	t.Helper()
	r.Positional, r.Value, r.Dictionary = nil, nil, nil
	r.out = appendHeader(nil, r.checksums())
	if r.Compression == 0 {
		r.Compression = NoCompression
	}
	if r.index == nil {
		r.index = func(b *indexBlock, leaf bool) []byte { return b.append(nil, leaf) }
	}
	data := make([]Pointer, len(r.blocks))
	for i, b := range r.blocks {
		data[i] = *r.block(t, b.raw)
	}
	if strings.Contains(r.order, "p") {
		keys := make([][]byte, len(data))
		for i, b := range r.blocks {
			keys[i] = appendOrdinalKey(nil, b.ordinal)
		}
		r.Positional = r.tree(t, keys, data)
	}
	if strings.Contains(r.order, "v") {
		keys, last := make([][]byte, len(data)), []byte(nil)
		for i, b := range r.blocks {
			keys[i], last = shorten(last, b.first), b.last
		}
		r.Value = r.tree(t, keys, data)
	}
	if r.words != nil {
		r.Dictionary = r.block(t, r.words)
	}
	return r.end(r.out)
}

// end appends the footer, and changes the magics and checksums to those of the version.
func (r *rawFile) end(b []byte) []byte {
	b = r.append(b)
	if r.Version != 1 {
		return b
	}
	message := int(binary.LittleEndian.Uint32(b[len(b)-4:]))
	footer := b[len(b)-frameSize-message:]
	copy(b, magic1)
	copy(footer[message:], magic1)
	if r.checksums() {
		binary.LittleEndian.PutUint32(b[frameSize:], checksum(b[:frameSize]))
		binary.LittleEndian.PutUint32(b[len(b)-len(footer)-4:], checksum(footer))
	}
	return b
}

// block appends a block of any kind.
func (r *rawFile) block(t testing.TB, raw []byte) *Pointer {
	t.Helper()
	stored, err := compress(nil, r.Compression, raw)
	if r.Version == 1 && r.Compression != NoCompression {
		stored, err = appendCompressed(make([]byte, 8), r.Compression, raw)
		binary.LittleEndian.PutUint32(stored, uint32(len(stored)-8))
		binary.LittleEndian.PutUint32(stored[4:], uint32(len(raw)))
	}
	testenv.Must(t, err)
	if r.checksums() {
		stored = appendChecksum(stored, stored)
	}
	p := &Pointer{int64(len(r.out)), int32(len(stored))}
	r.out = append(r.out, stored...)
	return p
}

// tree appends an index, level by level, and returns its root.
func (r *rawFile) tree(t testing.TB, keys [][]byte, to []Pointer) *Pointer {
	t.Helper()
	for leaf := true; ; leaf = false {
		var upKeys [][]byte
		var up []Pointer
		var b indexBlock
		for i := 0; i < len(to) || len(up) == 0; {
			b.reset()
			for n := 0; n < r.fan && i < len(to); n++ {
				b.add(keys[i], to[i])
				i++
			}
			up = append(up, *r.block(t, r.index(&b, leaf)))
			if b.len() > 0 {
				upKeys = append(upKeys, bytes.Clone(b.firstKey()))
			}
		}
		if len(up) == 1 {
			return &up[0]
		}
		keys, to = upKeys, up
	}
}

// int64File returns a file of ascending INT64 values in blocks of per values.
func int64File(values []int64, per int) *rawFile {
	r := &rawFile{fan: 4, order: "pv", Footer: Footer{
		Type: Int64, Encoding: Plain, Values: int64(len(values)), Incompatible: FeatureChecksums,
	}}
	for from := 0; from < len(values); from += per {
		part := values[from:min(from+per, len(values))]
		fixed := make([]byte, 0, 8*len(part))
		for _, v := range part {
			fixed = binary.LittleEndian.AppendUint64(fixed, uint64(v))
		}
		r.blocks = append(r.blocks, rawBlock{
			ordinal: uint32(from), first: int64Key(part[0]), last: int64Key(part[len(part)-1]),
			raw: encoding.AppendPlain(nil, uint32(from), 8, fixed),
		})
	}
	return r
}

func int64Key(v int64) []byte {
	return appendKey(nil, Int64, binary.LittleEndian.AppendUint64(nil, uint64(v)))
}

// stringFile returns a file of ascending STRING values in blocks of per values.
func stringFile(values []string, per int) *rawFile {
	r := &rawFile{fan: 3, order: "pv", Footer: Footer{
		Type: String, Encoding: Prefix, Compression: LZ4, Values: int64(len(values)), Incompatible: FeatureChecksums,
	}}
	for from := 0; from < len(values); from += per {
		part := values[from:min(from+per, len(values))]
		var v encoding.Values
		for _, s := range part {
			v.AppendBinary([]byte(s))
		}
		r.blocks = append(r.blocks, rawBlock{
			ordinal: uint32(from), first: []byte(part[0]), last: []byte(part[len(part)-1]),
			raw: encoding.AppendPrefix(nil, uint32(from), v.Offsets, v.Data),
		})
	}
	return r
}

// nullableBlock returns a block of rows. Those that are not valid are null.
func nullableBlock(valid, values []byte) []byte {
	bitmap := encoding.AppendBits(nil, valid)
	b := binary.AppendUvarint(nil, uint64(len(valid)))
	b = binary.AppendUvarint(b, uint64(len(bitmap)))
	return append(append(b, bitmap...), values...)
}

// binaryBlock returns a plain block of BINARY values.
func binaryBlock(ordinal uint32, values ...[]byte) []byte {
	var v encoding.Values
	for _, b := range values {
		v.AppendBinary(b)
	}
	return encoding.AppendPlainBinary(nil, ordinal, v.Offsets, v.Data)
}

// randomBytes returns n bytes that do not compress.
func randomBytes(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed)}).Read(b)
	return b
}
