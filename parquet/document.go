package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/rowtocol/rowtocol/format/damage"
)

var protocol thrift.CompactProtocol

// marshal returns a document in Thrift's compact protocol.
func marshal(v any) ([]byte, error) { return thrift.Marshal(&protocol, v) }

// unmarshal reads the document at the start of b into v, a pointer to its zero value, and
// returns its size. file and offset locate b, for damage.
func unmarshal(file string, offset int64, b []byte, v any) (size int, err error) {
	w := thriftWalk{b: b}
	//guard: rejects a document that is cut or that needs far more memory than it has bytes
	if err = w.structure(0); err == nil {
		err = thrift.Unmarshal(&protocol, b[:w.at], v)
	}
	if err != nil {
		return 0, damage.New(damage.Header, file, offset+int64(w.at), "not a Thrift document: %v", err)
	}
	return w.at, nil
}

// thriftWalk walks a document without decoding it, and checks its lengths.
type thriftWalk struct {
	b       []byte
	at      int
	structs int // number of structures in lists
}

const (
	// maxThriftDepth is the most levels of structures and lists. Parquet needs eight.
	maxThriftDepth = 16
	// leastThrift is the least size in bytes of a structure in a list of Parquet's documents.
	leastThrift = 4
)

var errThriftCut = errors.New("it is cut")

// structure walks a structure: fields up to a stop byte.
func (w *thriftWalk) structure(depth int) error {
	//guard: bounds the depth of a document
	if depth > maxThriftDepth {
		return fmt.Errorf("more than %d levels", maxThriftDepth)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 0xf; kind != thriftTrue && kind != thriftFalse { // which have no bytes
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// The types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// value walks a value. In a list, a boolean has a byte.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.skip(8)
	case thriftBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thriftList, thriftSet:
		return w.list(depth + 1)
	case thriftStruct:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("a value of type %d, which Parquet does not use", kind)
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n, kind := uint64(head>>4), head&0xf
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	//guard: rejects a list with more items than bytes
	if n > uint64(len(w.b)-w.at) {
		return fmt.Errorf("a list of %d items in %d bytes", n, len(w.b)-w.at)
	}
	if kind == thriftStruct {
		w.structs += int(n)
		//guard: rejects a list whose items need far more memory than bytes
		if w.structs > len(w.b)/leastThrift+1 {
			return fmt.Errorf("%d structures in %d bytes", w.structs, len(w.b))
		}
	}
	for range n {
		if err := w.value(kind, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at == len(w.b) {
		return 0, errThriftCut
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, errThriftCut
	}
	w.at += n
	return v, nil
}

func (w *thriftWalk) skip(n uint64) error {
	//guard: rejects a value that reaches beyond its document
	if n > uint64(len(w.b)-w.at) {
		return errThriftCut
	}
	w.at += int(n)
	return nil
}
