package cfile

import (
	"bytes"
	"errors"
	"maps"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
)

// A dump has each byte once.
func TestDumpShowsEveryByte(t *testing.T) {
	parts := make(map[string]map[string][]byte)
	for name, b := range samples(t) {
		parts[name] = map[string][]byte{"": b}
	}
	for i, name := range []string{"plain", "compressed", "physical"} {
		parts[name] = smallPart(t, i)
	}
	for _, e := range []Encoding{Plain, RLE, Bitshuffle, GroupVarint} {
		parts[e.String()] = map[string][]byte{"": loneFile(t, Options{Type: Uint32, Encoding: e}, false, make([]byte, 40))}
	}
	v1 := int64File([]int64{1, 2, 3}, 2)
	v1.Version, v1.Compression = 1, Zlib
	parts["version 1"] = map[string][]byte{"": v1.bytes(t)}
	for name, files := range parts {
		size := 0
		for _, b := range files {
			size += len(b)
		}
		var out bytes.Buffer
		if err := formattest.MustOpen(t, Format, files, smallBlocks).Dump(&out); err != nil || len(formattest.Dumped(out.Bytes())) != size {
			t.Errorf("%s: %d bytes of %d, %v", name, len(formattest.Dumped(out.Bytes())), size, err)
		}
	}
}

// Damaged files are dumped to their end, and the damage is returned.
func TestDumpOfDamage(t *testing.T) {
	whole := smallPart(t, 0)
	for name, b := range whole {
		if name == documentName {
			continue
		}
		for _, at := range []int{20, len(b) / 2, len(b) - 5} {
			files := maps.Clone(whole)
			files[name] = bytes.Clone(b)
			files[name][at] ^= 0x40
			size := 0
			for _, b := range files {
				size += len(b)
			}
			var out bytes.Buffer
			if err := formattest.MustOpen(t, Format, files, smallBlocks).Dump(&out); !partDamage(err) || len(formattest.Dumped(out.Bytes())) != size {
				t.Errorf("%s, byte %d: %d bytes of %d, %v", name, at, len(formattest.Dumped(out.Bytes())), size, err)
			}
		}
	}
}

// failingWriter fails at once.
type failingWriter struct{}

var errWriter = errors.New("the disk is full")

func (failingWriter) Write([]byte) (int, error) { return 0, errWriter }

func TestDumpEndsWithItsWriter(t *testing.T) {
	if err := formattest.MustOpen(t, Format, smallPart(t, 0), smallBlocks).Dump(failingWriter{}); !errors.Is(err, errWriter) {
		t.Error(err)
	}
}

// TestDump checks the dump of a small file of Kudu.
func TestDump(t *testing.T) {
	const want = `
p.cfiles: values of "value/int", INT32, rle

header
00000000  6b 75 64 75 63 66 6c 32                          magic, version 2
00000008  00 00 00 00                                      0 bytes of message
0000000c  02 94 3a d3                                      CRC-32C

data block 0, from row 0
00000010  64                                               rows: 100
00000011  03                                               bytes of null bitmap: 3
00000012  c8 01 00                                         null bitmap: runs
00000015  00 00 00 00                                      values: 0
00000019  00 00 00 00                                      ordinal: 0
0000001d  3c ec 68 d5                                      CRC-32C

block of the positional index, level 0
00000021  04 00 00 00 00 10 11                             key 00000000: 17 bytes at 16
00000028  00 00 00 00                                      places of 1 entries
0000002c  08 01 10 00                                      trailer: 1 entries
00000030  04 00 00 00                                      bytes of trailer: 4
00000034  8f 44 5d aa                                      CRC-32C

footer
00000038  f4 0c c5 cd                                      CRC-32C
0000003c  08 05                                            type INT32
0000003e  10 04                                            encoding RLE
00000040  18 64                                            rows: 100
00000042  22 06 0a 04 08 21 10 17                          root of the positional index: 23 bytes at 33
0000004a  30 01                                            compression NO_COMPRESSION
0000004c  40 01                                            nullable: true
0000004e  50 01                                            incompatible features 0x1
00000050  6b 75 64 75 63 66 6c 32                          magic, version 2
00000058  14 00 00 00                                      20 bytes of message
`
	var out bytes.Buffer
	if err := openLone(t, sample(t, "i32_rle_allnull.cf")).Dump(&out); err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}
