package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The columns of formattest.SmallSchema.
const (
	idColumn, nameColumn, suitColumn, priceColumn  = 0, 3, 4, 5
	hopsColumn, portColumn, noneColumn, tagsColumn = 6, 7, 8, 9
	hostColumn                                     = 10
)

// redocument changes the document of a part.
func redocument(t *testing.T, files map[string][]byte, change func(d *document)) {
	t.Helper()
	d, err := parseDocument(files[documentName], documentName)
	testenv.Must(t, err)
	change(d)
	if files[documentName], err = d.append(nil); err != nil {
		t.Fatal(err)
	}
}

// replace replaces a file of a part by another valid file, and sets its checksum in the
// document.
func replace(t *testing.T, files map[string][]byte, name string, file []byte) {
	t.Helper()
	f, err := Open(bytes.NewReader(file), int64(len(file)), name)
	testenv.Must(t, err)
	crc, _ := f.Footer().Get(BlocksCRCKey)
	files[name] = file
	redocument(t, files, func(d *document) {
		for i := range d.Columns {
			for _, f := range []*documentFile{d.Columns[i].Lengths, d.Columns[i].Values} {
				if f != nil && f.Name == name && crc != nil {
					f.BlocksCRC = binary.LittleEndian.Uint32(crc)
				}
			}
		}
	})
}

// Files with the same layout have different checksums, so that swapped files do not give rows
// of the wrong column.
func TestSwappedFiles(t *testing.T) {
	o := Options{Type: Int64, Encoding: Plain, Positional: true, BlocksCRC: true}
	first := loneFile(t, o, false, make([]byte, 8*12))
	second := loneFile(t, o, false, bytes.Repeat([]byte{1}, 8*12))
	if len(first) != len(second) || checksum(first) == checksum(second) {
		t.Errorf("files of %d and %d bytes have the checksums %08x and %08x", len(first), len(second), checksum(first), checksum(second))
	}
	files := maps.Clone(smallPart(t, 0))
	o = Options{Type: Int64, Encoding: Bitshuffle, ValueIndex: true, Positional: true, KeyBounds: true, BlocksCRC: true}
	files["00000.cf"] = loneFile(t, o, false, make([]byte, 8*12))
	var d *damage.Error
	for _, err := range []error{checkPart(t, files), readColumn(formattest.MustOpen(t, Format, files, smallBlocks), idColumn)} {
		if !errors.As(err, &d) || d.Kind != damage.Checksum {
			t.Errorf("another file: %v", err)
		}
	}
	o.BlocksCRC, o.Metadata = false, []Pair{{BlocksCRCKey, []byte{1, 2, 3, 4}}}
	lone := map[string][]byte{"lone.cf": loneFile(t, o, false, make([]byte, 8*12))}
	if err := formattest.MustOpen(t, Format, lone, smallBlocks).Verify(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "checksum of the blocks is") {
		t.Errorf("blocks of another file: %v", err)
	}
}

// Valid files that do not match the document are damage.
func TestContradictionsInParts(t *testing.T) {
	ints := func(values ...int32) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	// shift moves numbers from a column's second block to the first.
	shift := func(d *document, col int, rows, units, items int64) {
		for i, sign := range []int64{1, -1} {
			b := &d.Columns[col].Blocks[i]
			b.Rows, b.Units, b.Items = b.Rows+sign*rows, b.Units+sign*units, b.Items+sign*items
		}
	}
	id := Options{Type: Int64, Encoding: Bitshuffle, ValueIndex: true, Positional: true, KeyBounds: true}
	ids := make([]byte, 8*12)
	other := func(name string, o Options, nulls bool, values []byte) func(map[string][]byte) {
		o.BlocksCRC = !o.NoChecksums
		return func(files map[string][]byte) { replace(t, files, name, loneFile(t, o, nulls, values)) }
	}
	with := func(change func(o *Options)) Options {
		o := id
		change(&o)
		return o
	}
	for _, test := range []struct {
		name   string
		kind   damage.Kind
		reason string
		change func(map[string][]byte)
	}{
		{"another type", damage.Header, "the type", other("00000.cf", with(func(o *Options) { o.Type = Uint64 }), false, ids)},
		{"another encoding", damage.Header, "the encoding", other("00000.cf", with(func(o *Options) { o.Encoding = Plain }), false, ids)},
		{"another compression", damage.Header, "the compression", other("00000.cf", with(func(o *Options) { o.Compression = LZ4 }), false, ids)},
		{"nulls", damage.Header, "nullable", other("00000.cf", with(func(o *Options) { o.ValueIndex, o.KeyBounds = false, false }), true, ids[:8*6])},
		{"fewer rows", damage.Count, "11 rows", other("00000.cf", id, false, ids[8:])},
		{"no checksums", damage.Header, "features", other("00000.cf", with(func(o *Options) { o.NoChecksums = true }), false, ids)},
		{"no value index", damage.Header, "value index", other("00000.cf", with(func(o *Options) { o.ValueIndex, o.KeyBounds = false, false }), false, ids)},
		{"no positional index", damage.Header, "positional index", func(files map[string][]byte) {
			f := int64File(make([]int64, 12), 3)
			f.order, f.Encoding = "v", Bitshuffle
			f.blocks = nil
			files["00000.cf"] = f.bytes(t)
		}},
		{"other blocks", damage.Count, "rows with", other("00000.cf", id, false, ids)},
		{"a negative length", damage.Value, "length -1", other("00006.lengths.cf", Options{Type: Int32}, false, ints(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, -1, 6))},
		{"a branch with two values", damage.Count, "length 2 in a branch", other("00010.lengths.cf", Options{Type: Int32}, false,
			ints(1, 1, 0, 1, 0, 1, 2, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1))},
		{"a decimal of more bytes", damage.Value, "does not fit 3 bytes", other("00005.cf", Options{Type: Decimal32}, false, ints(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1<<23))},
		{"an unknown symbol", damage.Value, "not a symbol", other("00004.cf", Options{Type: String, Encoding: Dict}, false, []byte("abcabcabcabc"))},
		{"rows of another block", damage.Count, "its first row with", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { shift(d, portColumn, 2, 0, 0) })
		}},
		{"lengths of another block", damage.Count, "rows with", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { shift(d, tagsColumn, 0, 1, 2) })
		}},
		{"other items", damage.Count, "rows with", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { shift(d, tagsColumn, 0, 0, 1) })
		}},
		{"other raw bytes", damage.Size, "but the files have", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { d.Columns[nameColumn].Blocks[2].Raw++ })
		}},
		{"other stored bytes", damage.Size, "but the files have", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { d.Columns[hostColumn].Blocks[0].Stored++ })
		}},
		{"a large block", damage.Unsupported, "exceeds", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { d.Columns[idColumn].Blocks[0].Raw = 1<<20 + 1 })
		}},
	} {
		files := maps.Clone(smallPart(t, 0))
		test.change(files)
		err := checkPart(t, files)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != test.kind || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// readColumn reads a whole column.
func readColumn(p format.Part, col int) (err error) {
	c, err := p.(format.ColumnPart).Cursor(col)
	for err == nil {
		_, _, err = c.Read(new(column.Vector), 100)
	}
	return err
}

// A cursor reports the same damage of lengths and values as Verify.
func TestCursorsFindContradictions(t *testing.T) {
	lengths := func(values ...byte) []byte {
		b := make([]byte, 4*len(values))
		for i, v := range values {
			b[4*i], b[4*i+3] = v&0x7f, v&0x80
		}
		return b
	}
	tags := bytes.Repeat([]byte{2}, 18)
	for _, test := range []struct {
		name   string
		col    int
		kind   damage.Kind
		reason string
		change func(map[string][]byte)
	}{
		{"a negative length", tagsColumn, damage.Value, "length -", func(f map[string][]byte) {
			replace(t, f, "00009.lengths.cf", loneFile(t, Options{Type: Int32, BlocksCRC: true}, false, lengths(append([]byte{0x82}, tags[1:]...)...)))
		}},
		{"a branch with two values", hostColumn, damage.Count, "length 2 in a branch", func(f map[string][]byte) {
			replace(t, f, "00010.lengths.cf", loneFile(t, Options{Type: Int32, BlocksCRC: true}, false, lengths(tags...)))
		}},
		{"more items", tagsColumn, damage.Count, "add up to", func(f map[string][]byte) {
			replace(t, f, "00009.lengths.cf", loneFile(t, Options{Type: Int32, BlocksCRC: true}, false, lengths(append([]byte{3}, tags[1:]...)...)))
		}},
		{"more text than the block has", nameColumn, damage.Size, "more than", func(f map[string][]byte) {
			redocument(t, f, func(d *document) {
				for i := range d.Columns[nameColumn].Blocks {
					d.Columns[nameColumn].Blocks[i].Raw = 3
				}
			})
		}},
		{"a large block", idColumn, damage.Unsupported, "exceeds", func(f map[string][]byte) {
			redocument(t, f, func(d *document) { d.Columns[idColumn].Blocks[0].Raw = 1<<20 + 1 })
		}},
	} {
		files := maps.Clone(smallPart(t, 0))
		test.change(files)
		err := readColumn(formattest.MustOpen(t, Format, files, smallBlocks), test.col)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != test.kind || !strings.Contains(d.Reason, test.reason) || d.Column == "" || !partDamage(err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Vectors are not filled beyond their limit, and the next read goes on with the rest.
func TestFullVectors(t *testing.T) {
	p := formattest.MustOpen(t, Format, formattest.Rows(t, Format, smallChoices[0], formattest.SmallSchema, formattest.SmallRows(200), 64).Files(t), smallBlocks)
	for col, info := range p.Columns() {
		c, err := p.(format.ColumnPart).Cursor(col)
		testenv.Must(t, err)
		units, values := 0, 0
		for {
			v := column.Vector{Limit: 2}
			n, items, err := c.Read(&v, 100)
			if errors.Is(err, column.ErrFull) {
				v = column.Vector{Limit: 6}
				n, items, err = c.Read(&v, 100)
			}
			if err != nil {
				break
			}
			if info.Type != column.Null && v.Values > v.Limit || v.Values != items || info.Array && len(v.Lengths) != n {
				t.Fatalf("column %s: %d units of %d items in %+v", info.Name, n, items, v)
			}
			units, values = units+n, values+items
		}
		if want := formattest.UnitsFrom(t, p, col, 0); units != want {
			t.Errorf("column %s: %d units with %d values, want %d", info.Name, units, values, want)
		}
	}
	c, err := p.(format.ColumnPart).Cursor(idColumn)
	testenv.Must(t, err)
	v := column.Vector{Limit: 3}
	for want := range 3 {
		if n, _, err := c.Read(&v, 1); n != 1 || err != nil || v.Longs[want] != int64(want) {
			t.Errorf("value %d: %d, %v", want, n, err)
		}
	}
	if n, _, err := c.Read(&v, 1); n != 0 || !errors.Is(err, column.ErrFull) {
		t.Errorf("a full vector: %d, %v", n, err)
	}
}

// The bounds of a block include all its values.
func TestBlockBounds(t *testing.T) {
	p := formattest.MustOpen(t, Format, formattest.Rows(t, Format, smallChoices[0], formattest.SmallSchema, formattest.SmallRows(64), 16).Files(t), smallBlocks)
	for col, info := range p.Columns() {
		blocks, err := p.Blocks(col)
		testenv.Must(t, err)
		if info.Indexed != (col == idColumn) {
			t.Errorf("column %s is indexed: %v", info.Name, info.Indexed)
		}
		for i, b := range blocks {
			if !info.Indexed {
				if b.Min != nil || b.Max != nil {
					t.Errorf("column %s has bounds", info.Name)
				}
				continue
			}
			least, _ := binary.Varint(b.Min)
			greatest, _ := binary.Varint(b.Max)
			if first, last := b.FirstRow, b.FirstRow+b.Rows-1; least > first || greatest < last || greatest > last+1 || i > 0 && least < first {
				t.Errorf("block %d, of %d to %d: %d to %d", i, first, last, least, greatest)
			}
		}
	}
}

// The bound of a key is the least value that begins with it.
func TestKeyBound(t *testing.T) {
	long := &column.Column{Type: column.Long}
	for _, test := range []struct {
		column *column.Column
		t      Type
		key    []byte
		want   string
	}{
		{long, Int64, []byte{0x80, 0, 0, 0, 0, 0, 0, 5}, "5"},
		{long, Int64, []byte{0x80, 0, 0, 0, 0, 0, 1}, "256"},
		{long, Int64, []byte{0x7f}, fmt.Sprint(-1 << 56)},
		{long, Uint32, []byte{0xff, 0xff}, fmt.Sprint(0xffff0000)},
		{long, Uint64, []byte{0x7f}, fmt.Sprint(0x7f << 56)},
		{long, Uint64, []byte{0x80}, "none"},
		{&column.Column{Type: column.Int}, Int8, []byte{0x7f}, "-1"},
		{&column.Column{Type: column.Int}, Uint16, []byte{0x01}, "256"},
		{&column.Column{Type: column.Int}, Date, []byte{0x80, 0, 0, 1}, "1"},
		{&column.Column{Type: column.String}, String, []byte("ab"), `"ab"`},
		{&column.Column{Type: column.Bytes}, Binary, []byte("ab"), `"ab"`},
		{&column.Column{Type: column.Bytes, Logical: column.LogicalDecimal}, Binary, []byte("ab"), "none"},
		{&column.Column{Type: column.Bytes, FixedSize: 4}, Decimal32, []byte{0x80}, "none"},
		{&column.Column{Type: column.Int, Symbols: []string{"a"}}, String, []byte("a"), "none"},
	} {
		got, bound := "none", keyBound(test.column, test.t, test.key)
		switch {
		case bound == nil:
		case test.t.Width() > 0:
			n, _ := binary.Varint(bound)
			got = fmt.Sprint(n)
		default:
			got = fmt.Sprintf("%q", column.Sized(bound))
		}
		if got != test.want {
			t.Errorf("%v %x: %s, want %s", test.t, test.key, got, test.want)
		}
	}
}
