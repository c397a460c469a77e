package trevni

import (
	"encoding/binary"
	"hash/crc32"
)

// The names of checksums. The specification has "crc-32", stored little-endian. Java knows
// only "crc32", stored big-endian. Each name is read and written with its own byte order.
const (
	ChecksumNull = "null"
	ChecksumJava = "crc32"
	ChecksumSpec = "crc-32"
)

func knownChecksum(name string) bool {
	return name == ChecksumNull || name == ChecksumJava || name == ChecksumSpec
}

// checksumSize returns the number of bytes after each block.
func checksumSize(name string) int {
	if name == ChecksumNull {
		return 0
	}
	return crc32.Size
}

// appendChecksum adds the checksum of an uncompressed block.
func appendChecksum(dst []byte, name string, raw []byte) []byte {
	switch name {
	case ChecksumJava:
		return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(raw))
	case ChecksumSpec:
		return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(raw))
	}
	return dst
}

// readChecksum returns the value of four stored bytes.
func readChecksum(name string, b []byte) uint32 {
	if name == ChecksumJava {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}
