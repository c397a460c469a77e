package trevni_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestOptionsAsJSON(t *testing.T) {
	o := trevni.Options{
		Codec: "snappy", ColumnCodecs: map[string]string{"a": "null"}, Checksum: "crc32",
		Meta: []trevni.KeyValue{{Key: "k", Value: []byte("v")}}, Values: []string{"b"},
	}
	b, err := json.Marshal(o)
	testenv.Must(t, err)
	const want = `{"codec":"snappy","column_codecs":{"a":"null"},"checksum":"crc32","meta":[{"key":"k","value":"v"}],"values":["b"]}`
	if string(b) != want {
		t.Errorf("got %s", b)
	}
	got, err := trevni.ParseOptions(b)
	if err != nil || !reflect.DeepEqual(got, o) {
		t.Errorf("read back: %+v, %v", got, err)
	}
	if got, err := trevni.ParseOptions(nil); err != nil || !reflect.DeepEqual(got, trevni.Options{}) {
		t.Errorf("no document: %+v, %v", got, err)
	}
	for _, doc := range []string{`{"later":1}`, `[]`, `{"meta":[1]}`} {
		if _, err := trevni.ParseOptions([]byte(doc)); err == nil {
			t.Errorf("%s: no error", doc)
		}
	}
}
