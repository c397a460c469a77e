package e2e

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// posidxInfo is the field of a CFile's footer that says where the positional index is.
const posidxInfo = 4

// withoutPositions returns a CFile, which has checksums, without that field. The index
// remains, but nothing refers to it.
func withoutPositions(t *testing.T, file []byte) []byte {
	t.Helper()
	const tail = 8 + 4 // magic and the footer's length
	magic := file[len(file)-tail : len(file)-4]
	length := int(binary.LittleEndian.Uint32(file[len(file)-4:]))
	start := len(file) - tail - length
	var footer []byte
	for rest := file[start : start+length]; len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		if number != posidxInfo {
			footer = append(footer, rest[:n]...)
		}
		rest = rest[n:]
	}
	checked := append(footer, magic...)
	checked = binary.LittleEndian.AppendUint32(checked, uint32(len(footer)))
	out := append([]byte(nil), file[:start-4]...) // the checksum precedes the bytes that it covers
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(checked, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, checked...)
}
