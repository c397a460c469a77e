package cfile

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
)

// fuzzRows bounds the rows that a fuzz target reads of a file: a run of any length takes only
// a few bytes.
const fuzzRows = 20_000

// FuzzFile opens arbitrary bytes, walks the indexes and reads rows. If the rows are sound,
// seeks find the same rows as reading in order.
func FuzzFile(f *testing.F) {
	for _, b := range samples(f) {
		if len(b) < 1000 { // minimizing larger inputs takes the fuzzer long
			f.Add(b)
		}
	}
	nullable, _ := nullableRows(3, 10)
	words := stringFile([]string{"", "a", "a", "ab", "b", "bc", "c"}, 2)
	words.Version = 1
	for _, raw := range []*rawFile{int64File([]int64{-5, 1, 1, 1, 2, 300, 301}, 2), words, nullable} {
		raw.fan, raw.Incompatible = 2, 0 // without checksums changed bytes are decoded
		f.Add(raw.bytes(f))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Blocks do not overlap, and none decompresses to more than about a thousand times its
		// bytes. Only the dictionary may overlap another block.
		memory := formattest.Memory{Limit: 2*1100*int64(len(b)) + 128<<10}
		r := bytes.NewReader(b)
		file, err := newFile(r, int64(len(b)), "fuzz.cf", func(p []byte, off, _ int64) (int, error) { return r.ReadAt(p, off) }, &memory)
		if err != nil {
			damageOnly(t, err)
			return
		}
		for _, root := range []*Pointer{file.footer.Positional, file.footer.Value} {
			if root != nil {
				damageOnly(t, file.visit(*root, func(node) error { return nil }))
			}
		}
		c := file.Cursor()
		var rows Rows
		for c.Ordinal() < fuzzRows {
			if _, err = c.Read(&rows, 1000); err != nil {
				break
			}
		}
		damageOnly(t, err)
		if errors.Is(err, io.EOF) {
			fuzzSeek(t, c, &rows, c.Ordinal()/2)
		}
		if file.footer.Value != nil && file.footer.Type.Keyed() && !file.footer.Nullable && file.footer.Values < fuzzRows {
			_, err = c.SeekValue([]byte{0x80})
			damageOnly(t, err)
		}
		c.Close()
	})
}

// fuzzSeek seeks to a row and compares it with rows.
func fuzzSeek(t *testing.T, c *Cursor, rows *Rows, row int64) {
	if c.Ordinal() == 0 {
		return
	}
	if err := c.SeekRow(row); err != nil {
		t.Fatalf("row %d exists, but a seek fails: %v", row, err)
	}
	var got Rows
	if _, err := c.Read(&got, 1); err != nil {
		t.Fatalf("row %d exists, but a read after a seek fails: %v", row, err)
	}
	value := int(row)
	if c.f.footer.Nullable {
		if got.Valid[0] != rows.Valid[row] {
			t.Fatalf("row %d differs after a seek", row)
		}
		value = bytes.Count(rows.Valid[:row], []byte{1})
	}
	w := c.f.footer.Type.Width()
	if len(got.Offsets) > 0 && !bytes.Equal(got.Binary(0), rows.Binary(value)) ||
		len(got.Fixed) > 0 && !bytes.Equal(got.Fixed, rows.Fixed[value*w:][:w]) {
		t.Fatalf("row %d differs after a seek", row)
	}
}

// damageOnly fails for errors that are neither damage nor the end.
func damageOnly(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, io.EOF) && !isDamage(err) {
		t.Fatal(err)
	}
}

// FuzzFooter reads arbitrary bytes as a footer's message. A valid footer is the same after it
// is written and read again.
func FuzzFooter(f *testing.F) {
	for _, b := range samples(f) {
		f.Add(openBytes(f, b).footer.appendMessage(nil))
	}
	raw := small()
	raw.Metadata = []Pair{{"min_key", []byte{1, 2}}}
	raw.Compatible = 4
	f.Add(raw.message(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		footer, err := parseFooter(b, 100)
		if err != nil {
			damageOnly(t, err)
			return
		}
		again, err := parseFooter(footer.appendMessage(nil), 100)
		if err != nil || !reflect.DeepEqual(again, footer) {
			t.Fatalf("%+v became %+v, %v", footer, again, err)
		}
	})
}

// FuzzIndex reads arbitrary bytes as an index block. A valid block's entries point to places
// where blocks can be, and are the same after they are written and read again.
func FuzzIndex(f *testing.F) {
	var b indexBlock
	f.Add(b.append(nil, true), false)
	b.add(appendOrdinalKey(nil, 0), Pointer{100, 300})
	b.add(appendOrdinalKey(nil, 258), Pointer{400, 20})
	f.Add(b.append(nil, true), true)
	f.Add(b.append(nil, false), false)
	f.Fuzz(func(t *testing.T, b []byte, positional bool) {
		rules := indexRules{positional: positional, values: 1000, from: 50, to: 1 << 40, minSize: 8}
		x, err := parseIndex(b, &rules)
		if err != nil {
			damageOnly(t, err)
			return
		}
		var written indexBlock
		end := rules.from
		for i := range x.len() {
			key, p := x.entry(i)
			if p.Offset < end || p.end() > rules.to || len(key) > len(b) {
				t.Fatalf("entry %d: %x, %v", i, key, p)
			}
			written.add(key, p)
			end = p.end()
		}
		y, err := parseIndex(written.append(nil, x.leaf), &rules)
		if err != nil || y.len() != x.len() || y.leaf != x.leaf || len(written.entries) > len(x.entries) {
			t.Fatalf("%d entries became %d, %v", x.len(), y.len(), err)
		}
	})
}
