package cfile

import "testing"

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		o  Options
		ok bool
	}{
		{Options{Type: Int32, Positional: true}, true},
		{Options{Type: Int32}, false},
		{Options{Type: 18, Positional: true}, false},
		{Options{Type: Int32, Encoding: Dict, Positional: true}, false},
		{Options{Type: Int32, Compression: 5, Positional: true}, false},
		{Options{Type: Int32, BlockSize: -1, Positional: true}, false},
		{Options{Type: Int32, BlockSize: maxBlockSize, Positional: true}, true},
		{Options{Type: Int32, BlockSize: maxBlockSize + 1, Positional: true}, false},
		{Options{Type: Int32, IndexBlockSize: -1, Positional: true}, false},
		{Options{Type: Int32, IndexBlockSize: maxBlockSize + 1, Positional: true}, false},
		{Options{Type: Int32, ValueIndex: true, KeyBounds: true}, true},
		{Options{Type: Int32, Positional: true, KeyBounds: true}, false},
		{Options{Type: Int32, ValueIndex: true, Nullable: true}, false},
		{Options{Type: Double, ValueIndex: true}, false},
	} {
		if err := c.o.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
