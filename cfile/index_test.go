package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// TestIndexBlock writes Kudu's vectors: an empty leaf, and a leaf of a positional index.
func TestIndexBlock(t *testing.T) {
	var b indexBlock
	if got := fmt.Sprintf("%x", b.append(nil, true)); got != "0800100004000000" {
		t.Errorf("an empty leaf is %s", got)
	}
	if b.len() != 0 || b.estimate() != 16 {
		t.Errorf("%d entries, %d bytes", b.len(), b.estimate())
	}
	b.add(appendOrdinalKey(nil, 0), Pointer{16, 300})
	b.add(appendOrdinalKey(nil, 258), Pointer{316, 20})
	want := "04 00000000 10 ac02" + "04 00000102 bc02 14" + "00000000 08000000" + "0802 1001 04000000"
	if got := fmt.Sprintf("%x", b.append(nil, false)); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("%s, expected %s", got, want)
	}
	if b.len() != 2 || b.estimate() != 16+8+16 || !bytes.Equal(b.firstKey(), make([]byte, 4)) {
		t.Errorf("%d entries, %d bytes, first key %x", b.len(), b.estimate(), b.firstKey())
	}
	b.reset()
	if b.len() != 0 || b.estimate() != 16 {
		t.Errorf("%d entries, %d bytes", b.len(), b.estimate())
	}
}

// indexBytes returns an index block of the given parts.
func indexBytes(entries []byte, places []uint32, trailer []byte, size uint32) []byte {
	for _, p := range places {
		entries = binary.LittleEndian.AppendUint32(entries, p)
	}
	return binary.LittleEndian.AppendUint32(append(entries, trailer...), size)
}

func entryOf(key string, offset, size uint64) []byte {
	b := binary.AppendUvarint(nil, uint64(len(key)))
	b = binary.AppendUvarint(append(b, key...), offset)
	return binary.AppendUvarint(b, size)
}

func TestParseIndexRefuses(t *testing.T) {
	trailer := func(n, kind uint64) []byte {
		return protobuf.AppendVarint(protobuf.AppendVarint(nil, trailerEntries, n), trailerType, kind)
	}
	// block returns a block of entries with correct places.
	block := func(kind uint64, entries ...[]byte) []byte {
		var all []byte
		var places []uint32
		for _, e := range entries {
			places = append(places, uint32(len(all)))
			all = append(all, e...)
		}
		end := trailer(uint64(len(entries)), kind)
		return indexBytes(all, places, end, uint32(len(end)))
	}
	one := entryOf("\x00\x00\x00\x05", 100, 10)
	two := entryOf("\x00\x00\x00\x06", 110, 10)
	rules := indexRules{positional: true, values: 10, from: 100, to: 130, minSize: 8}
	inner := rules
	inner.first, inner.below = []byte("\x00\x00\x00\x05"), []byte("\x00\x00\x00\x07")
	for name, c := range map[string]struct {
		raw    []byte
		rules  indexRules
		kind   damage.Kind
		reason string
	}{
		"nothing":               {nil, rules, damage.Truncated, "0 bytes"},
		"no trailer":            {make([]byte, 4), rules, damage.Header, "field 1 is missing"},
		"trailer beyond":        {indexBytes(nil, nil, trailer(0, 0), 5), rules, damage.Size, "5 bytes of 4"},
		"huge trailer":          {indexBytes(nil, nil, trailer(0, 0), math.MaxUint32), rules, damage.Size, "4294967295 bytes of 4"},
		"unknown kind":          {block(999, one), rules, damage.Value, "field 2"},
		"-1 entries":            {indexBytes(nil, nil, append(trailer(math.MaxUint64, 0)[:11], 0x10, 0), 13), rules, damage.Value, "field 1 is -1"},
		"more entries":          {indexBytes(one, []uint32{0}, trailer(3, 0), 4), rules, damage.Count, "3 entries in 11 bytes"},
		"a million entries":     {indexBytes(one, []uint32{0}, trailer(1<<20, 0), 6), rules, damage.Count, "entries in"},
		"inner without entries": {indexBytes(nil, nil, trailer(0, 1), 4), rules, damage.Count, "without entries"},
		"leaf without entries":  {indexBytes(nil, nil, trailer(0, 0), 4), inner, damage.Count, "without entries"},
		"first place":           {indexBytes(one, []uint32{1}, trailer(1, 0), 4), rules, damage.Size, "is at 1, expected 0"},
		"second place":          {indexBytes(append(bytes.Clone(one), two...), []uint32{0, 0}, trailer(2, 0), 4), rules, damage.Size, "entry 1 of an index block is at 0"},
		"place beyond":          {indexBytes(one, []uint32{math.MaxUint32}, trailer(1, 0), 4), rules, damage.Size, "is at 4294967295"},
		"bytes after entries":   {indexBytes(append(bytes.Clone(one), 0), []uint32{0}, trailer(1, 0), 4), rules, damage.Trailing, "1 bytes after"},
		"cut key":               {block(0, append(binary.AppendUvarint(nil, 200), one...)), rules, damage.Truncated, "cut"},
		"endless key":           {block(0, append(bytes.Repeat([]byte{0xff}, 12), one...)), rules, damage.Truncated, "cut"},
		"huge key":              {block(0, append(binary.AppendUvarint(nil, math.MaxUint64), one...)), rules, damage.Truncated, "cut"},
		"cut offset":            {block(0, []byte("\x04\x00\x00\x00\x05\x80\x80\x80")), rules, damage.Truncated, "cut"},
		"cut size":              {block(0, []byte("\x04\x00\x00\x00\x05\x64\x80\x80")), rules, damage.Truncated, "cut"},
		"huge size":             {block(0, entryOf("\x00\x00\x00\x05", 100, 1<<31)), rules, damage.Truncated, "cut"},
		"huge offset":           {block(0, entryOf("\x00\x00\x00\x05", math.MaxUint64, 8)), rules, damage.Truncated, "cut"},
		"offset in the header":  {block(0, entryOf("\x00\x00\x00\x05", 99, 8)), rules, damage.Size, "8 bytes at 99"},
		"small block":           {block(0, entryOf("\x00\x00\x00\x05", 100, 7)), rules, damage.Size, "7 bytes at 100"},
		"block past the end":    {block(0, entryOf("\x00\x00\x00\x05", 123, 8)), rules, damage.Size, "8 bytes at 123"},
		"the same block":        {block(0, one, entryOf("\x00\x00\x00\x06", 100, 10)), rules, damage.Size, "10 bytes at 100"},
		"short ordinal":         {block(0, entryOf("\x00\x00\x05", 100, 10)), rules, damage.Value, "3 bytes"},
		"ordinals descend":      {block(0, entryOf("\x00\x00\x00\x07", 100, 10), two), rules, damage.Value, "not between"},
		"the same ordinal":      {block(0, entryOf("\x00\x00\x00\x06", 100, 10), two), rules, damage.Value, "not between"},
		"ordinal of no row":     {block(0, entryOf("\x00\x00\x00\x0a", 100, 10)), rules, damage.Count, "is 10, the file has 10 rows"},
		"another first key":     {block(0, two), inner, damage.Value, "begins with the key"},
		"ordinal of a sibling":  {block(0, one, entryOf("\x00\x00\x00\x07", 110, 10)), inner, damage.Value, "not between"},
	} {
		_, err := parseIndex(c.raw, &c.rules)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != c.kind || !strings.Contains(d.Reason, c.reason) {
			t.Errorf("%s: %v, expected %s: …%s…", name, err, c.kind, c.reason)
		}
	}
	for name, c := range map[string]indexRules{"root": rules, "inner": inner} {
		if x, err := parseIndex(block(0, one, two), &c); err != nil || x.len() != 2 || !x.leaf {
			t.Errorf("%s: %d entries, %v", name, x.len(), err)
		}
	}
}

// rootFile returns a file whose last block is the root of the value index.
func rootFile(blocks [][]byte, root Pointer) []byte {
	o := Footer{Type: Int32, Encoding: Plain, Compression: NoCompression, Values: 5, Value: &root}
	b := appendHeader(nil, false)
	for _, raw := range blocks {
		b = append(b, raw...)
	}
	return o.append(b)
}

// chain returns a file with an index of depth levels. All entries of a level point to the one
// block below. The lowest block points to itself if endless is set, else to a data block.
func chain(depth, entries int, endless bool) []byte {
	at := int64(frameSize)
	below := Pointer{at, 20}
	blocks := [][]byte{make([]byte, 20)}
	at += 20
	for level := range depth {
		var b indexBlock
		if level == 0 && endless {
			below.Offset = at
		}
		for range entries {
			b.add([]byte("k"), below)
		}
		raw := b.append(nil, level == 0 && !endless)
		blocks = append(blocks, raw)
		below = Pointer{at, int32(len(raw))}
		at = below.end()
	}
	return rootFile(blocks, below)
}

// Cycles, or very many paths to the same block, are found before a walk takes forever.
func TestInvalidTrees(t *testing.T) {
	for name, c := range map[string]struct {
		b    []byte
		kind damage.Kind
	}{
		"a cycle":              {chain(3, 1, true), damage.Size},
		"many paths to a leaf": {chain(30, 2, false), damage.Size},
		"a million levels":     {chain(100_000, 1, false), damage.Unsupported},
	} {
		f := openBytes(t, c.b)
		_, blocks := f.Blocks()
		cursor := f.Cursor()
		_, read := cursor.Read(new(Rows), 1)
		_, seek := f.Cursor().SeekValue([]byte("kk"))
		_, height := f.Height(false)
		for what, err := range map[string]error{
			"blocks": blocks, "read": read, "seek": seek, "height": height,
			"visit": f.visit(*f.footer.Value, func(node) error { return nil }),
		} {
			var d *damage.Error
			if !errors.As(err, &d) || d.Kind != c.kind || d.File != "test.cf" {
				t.Errorf("%s, %s: %v, expected %s", name, what, err, c.kind)
			}
		}
	}
}

// The blocks of a level follow each other, also if different blocks point to them.
func TestBlocksOfSiblings(t *testing.T) {
	at := int64(frameSize)
	blocks := [][]byte{make([]byte, 20)}
	data := Pointer{at, 20}
	at = data.end()
	var root indexBlock
	for _, key := range []string{"a", "b"} {
		var leaf indexBlock
		leaf.add([]byte(key), data)
		raw := leaf.append(nil, true)
		blocks = append(blocks, raw)
		root.add([]byte(key), Pointer{at, int32(len(raw))})
		at += int64(len(raw))
	}
	raw := root.append(nil, false)
	f := openBytes(t, rootFile(append(blocks, raw), Pointer{at, int32(len(raw))}))
	_, err := f.Blocks()
	var d *damage.Error
	if !errors.As(err, &d) || d.Kind != damage.Size {
		t.Error(err)
	}
	visited := 0
	stop := errors.New("stop")
	if err := f.visit(*f.footer.Value, func(n node) error {
		if visited++; n.level == 2 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) || visited != 3 {
		t.Errorf("%d visited, %v", visited, err)
	}
}
