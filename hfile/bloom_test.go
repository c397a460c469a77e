package hfile

import (
	"encoding/binary"
	"testing"
)

// hashVectors are hashes of HBase's Jenkins, Murmur and Murmur3 with the seeds 0 and -12345,
// and of Hadoop's Murmur with the seed -12345.
var hashVectors = []struct {
	text   string
	hashes [6]uint32
	byHudi uint32
}{
	{"", [6]uint32{0xdeadbeef, 0xdead8eb6, 0x00000000, 0x80e1f3ec, 0x00000000, 0xe75716bd}, 0x80e1f3ec},
	{"a", [6]uint32{0x58d68708, 0xcb03f6bf, 0x92685f5e, 0xe7193470, 0x3c2569b2, 0x82b815e1}, 0xe7193470},
	{"ab", [6]uint32{0xfbb3a8df, 0x6ca4372c, 0x1aa14063, 0x4d935bd9, 0x9bbfd75f, 0x34ca9801}, 0x0a290164},
	{"abc", [6]uint32{0x0e397631, 0x410e5055, 0x13577c9b, 0xf284028b, 0xb3dd93fa, 0xe840d1e1}, 0xe2ff60da},
	{"abcd", [6]uint32{0xb5f4889c, 0x248392f9, 0x26873021, 0xff7d51cf, 0x43ed676a, 0xcfd201c6}, 0xff7d51cf},
	{"row0001", [6]uint32{0x9de6d9d4, 0xfd12df73, 0x2d009a18, 0x87ffad16, 0x539c0796, 0xfa74c50f}, 0x221a8627},
	{"twelve bytes", [6]uint32{0x597b94ce, 0x73dd5e74, 0xdaffb1c2, 0x0cb10023, 0xdddfe179, 0xde0339de}, 0x0cb10023},
	{"thirteen byte", [6]uint32{0x4ed713f9, 0xb75cc679, 0xd78616a2, 0x292e5169, 0xf99e90e0, 0x15296e98}, 0x292e5169},
	{"\u00e9\u00fc\u00ff", [6]uint32{0x7e4f20f0, 0xb0a655cd, 0x1041ef44, 0x38fe2820, 0x33dac69f, 0x956fd39c}, 0x7f482866},
	{"x\u00e9", [6]uint32{0xd917e229, 0xa9f6d6f3, 0x1664aa0b, 0x78e74edf, 0x5ea8bb11, 0xdc67c581}, 0xe73030a5},
	{"\u20ac\u00e9y", [6]uint32{0x6e18875e, 0x375bc0ef, 0x3863b8e1, 0xfbcb64ce, 0xe8d0377e, 0xdbaca876}, 0x603ae8c0},
}

func TestHashes(t *testing.T) {
	for _, v := range hashVectors {
		for i, hash := range []func([]byte, uint32) uint32{jenkins, murmur, murmur3} {
			for j, seed := range []int32{0, -12345} {
				if got := hash([]byte(v.text), uint32(seed)); got != v.hashes[2*i+j] {
					t.Errorf("hash %d of %q with %d is %08x, HBase has %08x", i, v.text, seed, got, v.hashes[2*i+j])
				}
			}
		}
		seed := int32(-12345)
		if got := murmurByHudi([]byte(v.text), uint32(seed)); got != v.byHudi {
			t.Errorf("Hudi's hash of %q is %08x, expected %08x", v.text, got, v.byHudi)
		}
	}
}

func TestBloomDamage(t *testing.T) {
	sound := everything(t, None)
	at := sound.offsets(t, magicBloomMeta)[0]
	h := sound.header(t, at)
	meta := sound[at+headerSize : at+int64(h.covered)]
	put := func(at int, v uint32) func(b []byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b }
	}
	for _, c := range []struct {
		text   string
		change func(b []byte) []byte
	}{
		{"version 2", put(0, 2)},
		{"0 hash functions", put(12, 0)},
		{"129 hash functions", put(12, maxHashes+1)},
		{"hash function 3", put(16, 3)},
		{"-1 index entries", put(36, 0xFFFFFFFF)},
		{"1000 index entries", put(36, 1000)},
		{"bytes after the 0 chunks", put(36, 0)},
		{"the number of chunks needs 4 bytes, 3 remain", func(b []byte) []byte { return b[:bloomMetaSize-1] }},
		{"the length of a comparator needs 1 bytes, 0 remain", func(b []byte) []byte { return b[:bloomMetaSize] }},
		{"a comparator needs 127 bytes, 20 remain", func(b []byte) []byte { b[bloomMetaSize] = 127; return b }},
		{"1 bytes after the 1 chunks", func(b []byte) []byte { return append(b, 0) }},
		{"a key needs 7 bytes, 6 remain", func(b []byte) []byte { return b[:len(b)-1] }},
	} {
		_, err := parseBloom(unaccounted(), c.change(append([]byte(nil), meta...)), nil, 0)
		wantDamage(t, c.text, err, c.text)
	}
	for kind, rows := range map[string]bool{"": true, "ROW": true, "ROWCOL": false} {
		filter, err := parseBloom(unaccounted(), meta, Info{{infoBloomType, []byte(kind)}}, 0)
		if err != nil || filter.rows != rows {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
