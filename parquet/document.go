package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/rowtocol/rowtocol/format/damage"
)

var protocol thrift.CompactProtocol

// marshal returns a document in Thrift's compact protocol.
func marshal(v any) ([]byte, error) { return thrift.Marshal(&protocol, v) }

// unmarshal reads the document at the start of b into v, a pointer to its zero value, and
// returns its size. file and offset locate b, for damage.
func unmarshal(file string, offset int64, b []byte, v any) (size int, err error) {
	size, err = walkDocument(file, offset, b, nil, nil)
	//guard: rejects a document that ends too early or needs far more memory than it has bytes
	if err != nil {
		return 0, err
	}
	if err := thrift.Unmarshal(&protocol, b[:size], v); err != nil {
		return 0, notDocument(file, offset+int64(size), err)
	}
	return size, nil
}

// walkDocument walks the document at the start of b, and returns its size. It does not decode
// the document, but checks its lengths. If there is a visit, it gets each item. t is the type of
// the document, for the names and types of items. file and offset locate b, for damage.
func walkDocument(file string, offset int64, b []byte, t reflect.Type, visit func(thriftItem)) (size int, err error) {
	w := thriftWalk{b: b, visit: visit}
	if err := w.fields(t, "", 0); err != nil {
		return w.at, notDocument(file, offset+int64(w.at), err)
	}
	return w.at, nil
}

func notDocument(file string, offset int64, err error) error {
	return damage.New(damage.Header, file, offset, "not a Thrift document: %v", err)
}

// documentMemory returns about how much memory unmarshal needs for a document of type t.
func documentMemory(b []byte, t reflect.Type) int64 {
	least := int64(len(b)) + int64(t.Size())
	n := least
	_, err := walkDocument("", 0, b, t, func(i thriftItem) {
		if i.typ == nil {
			return
		}
		switch i.kind {
		case thriftList, thriftSet:
			n += i.number * int64(i.typ.Size())
		case thriftStruct:
			n += 16 // if it is a member of a union
		}
	})
	if err != nil {
		return least // it is refused before memory is allocated
	}
	return n
}
