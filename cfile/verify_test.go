package cfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
)

// Lone files with correct checksums that contradict themselves are damage.
func TestContradictionsInFiles(t *testing.T) {
	values := []int64{1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233}
	key := func(v int64) []byte { return int64Key(v) }
	for _, test := range []struct {
		name   string
		kind   damage.Kind
		reason string
		change func(f *rawFile)
		end    func(f *rawFile) []byte // replaces the result of bytes
	}{
		{"nothing", "", "", func(*rawFile) {}, nil},
		{"a key that is too large", damage.Value, "the block's key", func(f *rawFile) { f.blocks[1].first = key(6) }, nil},
		{"a key that is too small", damage.Value, "the block's key", func(f *rawFile) { f.blocks[1].first = key(4) }, nil},
		{"values that descend", damage.Value, "less than the one before", func(f *rawFile) {
			f.blocks[1].raw = encoding.AppendPlain(nil, 3, 8, []byte{5, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0})
		}, nil},
		{"another least value", damage.Value, minKey, func(f *rawFile) { f.Metadata = []Pair{{minKey, key(2)}, {maxKey, key(233)}} }, nil},
		{"another greatest value", damage.Value, maxKey, func(f *rawFile) { f.Metadata = []Pair{{minKey, key(1)}, {maxKey, key(232)}} }, nil},
		{"another ordinal", damage.Count, "begins with row 4", func(f *rawFile) { f.blocks[1].raw = encoding.AppendPlain(nil, 4, 8, make([]byte, 24)) }, nil},
		{"another ordinal in the index", damage.Count, "the index says 4", func(f *rawFile) { f.blocks[1].ordinal = 4 }, nil},
		{"fewer rows", damage.Count, "the footer says 13", func(f *rawFile) { f.Values++ }, nil},
		{"a block of nothing", damage.Trailing, "belong to nothing", func(*rawFile) {}, func(f *rawFile) []byte {
			f.Value = nil
			return f.end(f.out)
		}},
		{"a block with two uses", damage.Size, "belong to two", func(*rawFile) {}, func(f *rawFile) []byte {
			f.Dictionary = f.Positional
			return f.end(f.out)
		}},
		{"an invalid dictionary", damage.Count, "", func(f *rawFile) { f.words = make([]byte, 40) }, nil},
		{"indexes of other blocks", damage.Header, "the indexes do not agree", func(*rawFile) {}, func(f *rawFile) []byte {
			f.out = f.out[:f.Value.Offset]
			f.Value = f.tree(t, [][]byte{{1}}, []Pointer{{17, 20}})
			return f.end(f.out)
		}},
		{"an index of fewer blocks", damage.Header, "has 1 data blocks", func(*rawFile) {}, func(f *rawFile) []byte {
			f.out = f.out[:f.Value.Offset]
			f.Value = f.tree(t, [][]byte{{1}}, []Pointer{{16, 36}})
			return f.end(f.out)
		}},
	} {
		f := int64File(values, 3)
		f.fan = 100
		test.change(f)
		b := f.bytes(t)
		if test.end != nil {
			b = test.end(f)
		}
		p := openLone(t, b)
		err := p.Verify(t.Context(), nil)
		var d *damage.Error
		if errors.As(err, &d) != (test.kind != "") || d != nil && test.reason != "" && (d.Kind != test.kind || !strings.Contains(d.Reason, test.reason)) {
			t.Errorf("%s: %v", test.name, err)
		}
		var out bytes.Buffer
		if err := p.Dump(&out); err != nil && !partDamage(err) || len(formattest.Dumped(out.Bytes())) != len(b) {
			t.Errorf("%s: dump has %d bytes of %d: %v", test.name, len(formattest.Dumped(out.Bytes())), len(b), err)
		}
	}
}

// Values need not ascend if the index has only their beginnings, as in a DeltaFile.
func TestKeysOfParts(t *testing.T) {
	f := &rawFile{fan: 4, order: "v", Footer: Footer{Type: Binary, Encoding: Plain, Values: 4, Incompatible: FeatureChecksums}}
	f.blocks = []rawBlock{
		{first: []byte("bb"), raw: binaryBlock(0, []byte("bb2"), []byte("bb1"))},
		{first: []byte("c"), raw: binaryBlock(2, []byte("c2"), []byte("c1"))},
	}
	if err := openLone(t, f.bytes(t)).Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
	f.blocks[1].first = []byte("d")
	if err := openLone(t, f.bytes(t)).Verify(t.Context(), nil); !partDamage(err) {
		t.Error(err)
	}
}
