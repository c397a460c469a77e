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
	size, _, err = walkDocument(file, offset, b, nil, nil)
	//guard: rejects a document that ends too early or needs far more memory than it has bytes
	if err != nil {
		return 0, err
	}
	return size, decodeDocument(file, offset, b[:size], v)
}

// decodeDocument reads a document, which walkDocument accepted, into v, a pointer to its zero value.
func decodeDocument(file string, offset int64, b []byte, v any) error {
	if err := thrift.Unmarshal(&protocol, b, v); err != nil {
		return notDocument(file, offset+int64(len(b)), err)
	}
	return nil
}

// walkDocument walks the document at the start of b, and returns its size. It does not decode
// the document, but checks its lengths. If there is a visit, it gets each item. t is the type of
// the document, for the names and types of items, and for the memory that decodeDocument needs,
// about. file and offset locate b, for damage.
func walkDocument(file string, offset int64, b []byte, t reflect.Type, visit func(thriftItem)) (size int, memory int64, err error) {
	w := thriftWalk{b: b, visit: visit}
	if err := w.fields(t, "", 0); err != nil {
		return 0, 0, notDocument(file, offset+int64(w.at), err)
	}
	if t != nil {
		w.memory += int64(w.at) + int64(t.Size())
	}
	return w.at, w.memory, nil
}

func notDocument(file string, offset int64, err error) error {
	return damage.New(damage.Header, file, offset, "not a Thrift document: %v", err)
}
