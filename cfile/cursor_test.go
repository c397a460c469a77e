package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// int32Block returns a plain block of small values.
func int32Block(ordinal uint32, values ...byte) []byte {
	var fixed []byte
	for _, v := range values {
		fixed = append(fixed, v, 0, 0, 0)
	}
	return encoding.AppendPlain(nil, ordinal, 4, fixed)
}

// int32File returns a file of such blocks, nullable or not, with the given number of rows.
func int32File(nullable bool, rows int64, blocks ...rawBlock) *rawFile {
	return &rawFile{fan: 2, order: "p", blocks: blocks, Footer: Footer{
		Type: Int32, Encoding: Plain, Nullable: nullable, Values: rows, Incompatible: FeatureChecksums,
	}}
}

// Footer, index and blocks must agree on the rows. The checksums are correct here.
func TestInconsistentRows(t *testing.T) {
	at := func(ordinal uint32, raw []byte) rawBlock { return rawBlock{ordinal: ordinal, raw: raw} }
	three, two := at(0, int32Block(0, 1, 2, 3)), at(3, int32Block(3, 4, 5))
	null := func(valid string, values ...byte) rawBlock {
		return at(0, nullableBlock([]byte(valid), int32Block(0, values...)))
	}
	for name, c := range map[string]struct {
		file   *rawFile
		kind   damage.Kind
		reason string
	}{
		"a block is missing at the end":   {int32File(false, 6, three, two), damage.Count, "have 5 rows, the footer says 6"},
		"a block is missing at the start": {int32File(false, 5, two), damage.Count, "the index says that a block begins with row 3, expected 0"},
		"a block is missing in between":   {int32File(false, 9, three, at(4, int32Block(4, 1, 2, 3, 4, 5))), damage.Count, "the index says that a block begins with row 4, expected 3"},
		"blocks overlap":                  {int32File(false, 4, three, at(2, int32Block(2, 1, 2))), damage.Count, "the index says that a block begins with row 2, expected 3"},
		"an extra block":                  {int32File(false, 3, three, two), damage.Count, "the file has 3 rows"},
		"extra rows":                      {int32File(false, 4, three, two), damage.Count, "a block of 2 rows begins with row 3 of 4"},
		"another block":                   {int32File(false, 5, three, at(3, int32Block(2, 4, 5))), damage.Count, "begins with row 2, expected 3"},
		"an empty block":                  {int32File(false, 3, at(0, int32Block(0))), damage.Count, "without rows"},
		"an empty nullable block":         {int32File(true, 3, null("")), damage.Count, "without rows"},
		"nullable, rows missing":          {int32File(true, 3, null("\x01\x00", 7)), damage.Count, "have 2 rows, the footer says 3"},
		"fewer values than rows":          {int32File(true, 3, null("\x01\x01\x00", 7)), damage.Count, "1 values"},
		"more values than rows":           {int32File(true, 3, null("\x01\x01\x00", 7, 8, 9)), damage.Count, "more values"},
		"a body cut":                      {int32File(false, 3, at(0, int32Block(0, 1, 2, 3)[:18])), damage.Size, ""},
		"no rows":                         {int32File(true, 3, at(0, bytes.Repeat([]byte{0x80}, 11))), damage.Count, "number of rows is cut short"},
		"2^32 rows":                       {int32File(true, 3, at(0, []byte("\x80\x80\x80\x80\x10\x00\x00\x00\x00"))), damage.Count, "number of rows is cut short"},
		"no bitmap":                       {int32File(true, 3, at(0, []byte("\x03\xff\xff\xff"))), damage.Size, "null bitmap of"},
		"a long bitmap":                   {int32File(true, 3, at(0, []byte("\x03\x03\x00\x00"))), damage.Size, "null bitmap of 3 bytes"},
		"a huge bitmap":                   {int32File(true, 3, at(0, []byte("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))), damage.Size, "null bitmap of"},
		"a short bitmap":                  {int32File(true, 3, at(0, append([]byte("\x03\x02\x04\x01"), int32Block(0, 1, 2)...))), damage.Truncated, "null bitmap"},
		"a bitmap of no runs":             {int32File(true, 3, at(0, append([]byte("\x03\x01\xff"), int32Block(0, 1, 2)...))), "", "null bitmap"},
	} {
		f := openBytes(t, c.file.bytes(t))
		for _, n := range []int{1, 2, 100} {
			_, err := readAll(f, n)
			var d *damage.Error
			if !errors.As(err, &d) || c.kind != "" && d.Kind != c.kind || !strings.Contains(d.Reason, c.reason) ||
				d.File != "test.cf" || d.Offset < int64(frameSize) {
				t.Errorf("%s, %d at a time: %v, expected %s: …%s…", name, n, err, c.kind, c.reason)
			}
		}
	}
	for name, c := range map[string]*rawFile{
		"before the first block": int32File(false, 5, two),
		"after the last block":   int32File(false, 6, at(0, int32Block(0, 1, 2)), at(4, int32Block(4, 1, 2))),
	} {
		cursor := openBytes(t, c.bytes(t)).Cursor()
		if err := cursor.SeekRow(2); !isDamage(err) {
			t.Errorf("seek %s: %v", name, err)
		}
		if _, err := cursor.Read(new(Rows), 1); !isDamage(err) {
			t.Errorf("read %s: %v", name, err)
		}
	}
}

// nullableRows returns a nullable file with the given number of blocks and of rows per block.
// Every third row is null, and all rows of some blocks.
func nullableRows(blocks, per int) (*rawFile, []string) {
	file := int32File(true, int64(blocks*per))
	file.Encoding = RLE
	var want []string
	for i := range blocks {
		var valid, fixed []byte
		for j := range per {
			row := i*per + j
			if row%3 == 0 || i%4 == 1 {
				valid, want = append(valid, 0), append(want, "NULL")
				continue
			}
			valid, want = append(valid, 1), append(want, fmt.Sprint(row/5))
			fixed = binary.LittleEndian.AppendUint32(fixed, uint32(row/5))
		}
		raw := nullableBlock(valid, encoding.AppendRLE(nil, uint32(i*per), 4, fixed))
		file.blocks = append(file.blocks, rawBlock{ordinal: uint32(i * per), raw: raw})
	}
	return file, want
}

func TestNullableRows(t *testing.T) {
	for _, per := range []int{1, 3, 1000, bitsAhead + 1, 3 * bitsAhead} {
		raw, want := nullableRows(5, per)
		f := openBytes(t, raw.bytes(t))
		for _, n := range []int{7, 1 << 20} {
			rows, err := readAll(f, n)
			if got := printRows(nil, f.footer, &rows); err != nil || string(got) != strings.Join(want, "\n")+"\n" {
				t.Errorf("%d rows per block, %d at a time: %v, %.50q", per, n, err, got)
			}
		}
		c := f.Cursor()
		for row := 0; row < len(want); {
			by := min(per/2+row%3+1, len(want)-row)
			var r Rows
			if row%2 == 0 {
				values, err := c.skip(int64(by))
				nulls := 0
				for _, w := range want[row : row+by] {
					if w == "NULL" {
						nulls++
					}
				}
				if err != nil || values != int64(by-nulls) {
					t.Fatalf("%d rows per block, rows %d to %d: %d values, %v, expected %d", per, row, row+by, values, err, by-nulls)
				}
			} else {
				n, err := c.Read(&r, by)
				if got := string(printRows(nil, f.footer, &r)); err != nil || got != strings.Join(want[row:row+n], "\n")+"\n" {
					t.Fatalf("%d rows per block, row %d: %q, %v", per, row, got, err)
				}
				by = n
			}
			row += by
		}
		if _, err := c.Read(new(Rows), 1); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// If values are long, a decoder returns only some of them, and a read ends after their rows.
func TestRowsOfLongValues(t *testing.T) {
	long := bytes.Repeat([]byte("long"), 100_000)
	valid := []byte{0, 1, 0, 1, 1, 0, 1, 0, 0}
	var v encoding.Values
	var codes []byte
	for i := range uint32(4) {
		v.AppendBinary(append(long, byte(i)))
		codes = binary.LittleEndian.AppendUint32(codes, i)
	}
	values, err := encoding.AppendDictCodes(nil, new(encoding.Shuffler), 0, codes)
	testenv.Must(t, err)
	raw := &rawFile{fan: 2, order: "p", Footer: Footer{Type: Binary, Encoding: Dict, Nullable: true, Values: 9}}
	raw.words = encoding.AppendPlainBinary(nil, 0, v.Offsets, v.Data)
	raw.blocks = []rawBlock{{raw: nullableBlock(valid, values)}}
	c := openBytes(t, raw.bytes(t)).Cursor()
	var all Rows
	reads := 0
	for {
		n, err := c.Read(&all, 100)
		if errors.Is(err, io.EOF) {
			break
		}
		if reads++; err != nil || n == 0 || len(all.Valid) != int(c.Ordinal()) {
			t.Fatalf("%d rows, %d in all, %v", n, len(all.Valid), err)
		}
	}
	if !bytes.Equal(all.Valid, valid) || !bytes.Equal(all.Data, v.Data) || !slices.Equal(all.Offsets, v.Offsets) {
		t.Errorf("%v, %d bytes", all.Valid, len(all.Data))
	}
	if reads < 2 {
		t.Error("one read returned all values")
	}
}

// Files of version 1 and files without checksums hold the same rows.
func TestContainers(t *testing.T) {
	values := make([]int64, 3000)
	for i := range values {
		values[i] = int64(i / 7)
	}
	for _, version := range []int{1, 2} {
		for _, features := range []uint32{0, FeatureChecksums} {
			for c := NoCompression; c <= Zlib; c++ {
				raw := int64File(values, 500)
				raw.Version, raw.Incompatible, raw.Compression = version, features, c
				f := openBytes(t, raw.bytes(t))
				rows, err := readAll(f, 1000)
				if err != nil || len(rows.Fixed) != 8*len(values) || f.unverified() != (features == 0) || f.footer.Version != version {
					t.Errorf("version %d, features %d, %s: %d bytes, %v", version, features, c, len(rows.Fixed), err)
					continue
				}
				for i, v := range values {
					if got := int64(binary.LittleEndian.Uint64(rows.Fixed[8*i:])); got != v {
						t.Fatalf("version %d, features %d, %s: row %d is %d, expected %d", version, features, c, i, got, v)
					}
				}
			}
		}
	}
}

// The value index alone also leads to all rows.
func TestSamplesWithoutPositionalIndex(t *testing.T) {
	for name, b := range samples(t) {
		f := openBytes(t, b)
		if f.footer.Value == nil || f.footer.Values == 0 {
			continue
		}
		want, err := readAll(f, 1000)
		testenv.Must(t, err)
		footer := *f.footer
		footer.Positional = nil
		g := openBytes(t, footer.append(bytes.Clone(b[:f.footerAt])))
		got, err := readAll(g, 1000)
		if err != nil || !bytes.Equal(got.Fixed, want.Fixed) || !bytes.Equal(got.Data, want.Data) {
			t.Errorf("%s: %d and %d bytes, %v", name, len(got.Fixed), len(got.Data), err)
		}
		c := g.Cursor()
		for _, row := range []int64{footer.Values - 1, 0, footer.Values / 2, footer.Values} {
			if err := c.SeekRow(row); err != nil || c.Ordinal() != row {
				t.Errorf("%s: row %d, %v", name, c.Ordinal(), err)
			}
		}
	}
}

// SeekValue finds every value of the samples with a value index in its place.
func TestSeekInSamples(t *testing.T) {
	for name, b := range samples(t) {
		f := openBytes(t, b)
		if f.footer.Value == nil || f.footer.Values == 0 {
			continue
		}
		c, reader := f.Cursor(), f.Cursor()
		step := max(1, f.footer.Values/200)
		for row := int64(0); row < f.footer.Values; row += step {
			testenv.Must(t, reader.SeekRow(row))
			exact, err := c.SeekValue(keyAt(t, reader))
			if err != nil || !exact || c.Ordinal() != row {
				t.Fatalf("%s: row %d, %v, %v, expected %d", name, c.Ordinal(), exact, err, row)
			}
		}
	}
}

func TestFilesWithoutRows(t *testing.T) {
	for _, order := range []string{"p", "v", "pv"} {
		raw := int64File(nil, 1)
		raw.order = order
		f := openBytes(t, raw.bytes(t))
		if _, err := f.Cursor().Read(new(Rows), 1); !errors.Is(err, io.EOF) {
			t.Error(order, err)
		}
		if err := f.Cursor().SeekRow(0); err != nil {
			t.Error(order, err)
		}
		if blocks, err := f.Blocks(); err != nil || len(blocks) > 0 {
			t.Error(order, blocks, err)
		}
		if order != "p" {
			if _, err := f.Cursor().SeekValue(nil); !errors.Is(err, io.EOF) {
				t.Error(order, err)
			}
		}
		height, err := f.Height(true)
		if want := strings.Count(order, "p"); height != want || err != nil {
			t.Errorf("%s: a height of %d, %v, expected %d", order, height, err, want)
		}
	}
}

// A cursor that found damage returns the error until a seek moves it.
func TestDamageStays(t *testing.T) {
	raw := int64File([]int64{1, 2, 3, 4, 5, 6}, 2)
	b := raw.bytes(t)
	blocks, err := openBytes(t, b).Blocks()
	if err != nil || len(blocks) != 3 || blocks[1].Ordinal != 2 {
		t.Fatal(blocks, err)
	}
	b[blocks[1].Offset+9] ^= 1
	c := openBytes(t, b).Cursor()
	for row := range 4 {
		_, err := c.Read(new(Rows), 1)
		if isDamage(err) != (row >= 2) {
			t.Fatalf("row %d: %v", row, err)
		}
	}
	if err := c.Skip(1); !isDamage(err) {
		t.Error(err)
	}
	if err := c.SeekRow(5); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(new(Rows), 10); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, err := c.Read(new(Rows), 1); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	var d *damage.Error
	if err := c.SeekRow(3); !errors.As(err, &d) || d.Kind != damage.Checksum || d.Offset != blocks[1].Offset {
		t.Error(err)
	}
}
