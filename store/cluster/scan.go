package cluster

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

const maxFile = 16 << 20 // bytes; what is read here has some kilobytes

// readFile returns the content of a file that is not too large.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	//guard: the first part of a file would be taken for the whole
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is of more than %d bytes", path, maxFile)
	}
	return data, err
}

// scanner takes a binary file apart. The first read past its end makes err
// io.ErrUnexpectedEOF, and all reads return zeros from then on. Byte slices are
// parts of the file, so nothing is allocated that the file does not hold.
type scanner struct {
	rest []byte
	err  error
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.rest = nil
}

func (s *scanner) bytes(n int64) []byte {
	//guard: a length in a file could reach beyond it
	if uint64(n) > uint64(len(s.rest)) { // also if it is negative
		s.fail(io.ErrUnexpectedEOF)
		return nil
	}
	b := s.rest[:n:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scanner) uint8() uint8 {
	if b := s.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (s *scanner) uint16() uint16 {
	if b := s.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (s *scanner) uint32() uint32 {
	if b := s.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// vint reads a number as Hadoop writes it: one byte from -112 to 127 stands for
// itself, others tell sign and number of the big-endian bytes that follow.
func (s *scanner) vint() int64 {
	first := int8(s.uint8())
	if first >= -112 {
		return int64(first)
	}
	n, negative := -112-int(first), false
	if first < -120 {
		n, negative = -120-int(first), true
	}
	var v uint64
	for _, b := range s.bytes(int64(n)) {
		v = v<<8 | uint64(b)
	}
	if negative {
		v = ^v
	}
	return int64(v)
}

// counted reads bytes behind their number.
func (s *scanner) counted() []byte { return s.bytes(s.vint()) }

// appendVint appends a number that is not negative as Hadoop writes it.
func appendVint(b []byte, v uint64) []byte {
	if v <= 127 {
		return append(b, byte(v))
	}
	var be [8]byte
	binary.BigEndian.PutUint64(be[:], v)
	skip := 0
	for be[skip] == 0 {
		skip++
	}
	minus := -112 - (len(be) - skip)
	return append(append(b, byte(int8(minus))), be[skip:]...)
}

func appendCounted(b, data []byte) []byte {
	return append(appendVint(b, uint64(len(data))), data...)
}
