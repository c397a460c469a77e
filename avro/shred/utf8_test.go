package shred_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const invalidSchema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"o","type":["null","string"]},
	{"name":"l","type":{"type":"array","items":"string"}},{"name":"m","type":{"type":"map","values":"string"}},{"name":"b","type":"bytes"}]}`

// invalidRow returns a row of invalidSchema with the string in each place. The array has two blocks.
func invalidRow(s string) (row []byte) {
	text := func(s string) { row = append(binary.AppendVarint(row, int64(len(s))), s...) }
	text(s)
	row = append(row, 2)
	text(s)
	for range 2 {
		row = append(row, 4)
		text("valid")
		text(s)
	}
	row = append(row, 0, 2)
	text(s)
	text(s)
	row = append(row, 0)
	text("bytes")
	return row
}

// checkReplaced checks that the columns of a string are those of the valid string.
func checkReplaced(t *testing.T, s string) {
	t.Helper()
	m := mapping(t, invalidSchema, shred.Options{})
	for _, layout := range []column.Layout{column.Interleaved, column.Split, column.Levels} {
		for _, after := range []int{0, 200} { // shortcuts need bytes after the row
			got, want := newWalker(m, layout, 1<<20), newWalker(m, layout, 1<<20)
			got.SetInvalid(column.ReplaceInvalid)
			row := invalidRow(s)
			n, err := got.Row(append(row, make([]byte, after)...))
			testenv.Must(t, err)
			_, err = want.Row(invalidRow(strings.ToValidUTF8(s, "\uFFFD")))
			testenv.Must(t, err)
			got.rows, want.rows = 1, 1
			if g, w := got.all(), want.all(); n != len(row) || g != w {
				t.Errorf("%q: %d of %d bytes:%s\nwant%s", s, n, len(row), g, w)
			}
			count := int64(0)
			if strings.ToValidUTF8(s, "") != s {
				count = 6
			}
			if got.InvalidUTF8() != count || want.InvalidUTF8() != 0 {
				t.Errorf("%q: %d strings are not UTF-8, want %d", s, got.InvalidUTF8(), count)
			}
		}
	}
}

// U+FFFD replaces each run of invalid bytes.
func TestReplaceInvalid(t *testing.T) {
	for _, s := range []string{
		"", "a", "é", "\xff", "\xff\xfe", "a\xffb", "a\xff\xff\xffb\xe2\x82", "\xe2\x82\xac\x80", "\xed\xa0\x80", "\uFFFD", "\uFFFD\xff",
		strings.Repeat("x\xff", 40), strings.Repeat("\xff", 63), strings.Repeat("é", 31) + "\xff", strings.Repeat("long ", 100) + "\xff",
	} {
		checkReplaced(t, s)
	}
}

func FuzzReplaceInvalid(f *testing.F) {
	f.Add("a\xffb")
	f.Fuzz(func(t *testing.T, s string) { checkReplaced(t, s) })
}

// Keys of rows are as their columns have them.
func TestReplacedKeys(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"o","type":["string","null"]},
		{"name":"n","type":["string","null"]},{"name":"b","type":"bytes"},{"name":"v","type":"string"}]}`
	const row, s, o, n, b, v = "\x04a\xff" + "\x00\x02\xff" + "\x02" + "\x02\xff" + "\x02v", "\x08a\uFFFD", "\x00\x06\uFFFD", "\x02", "\x02\xff", "\x02v"
	m := mapping(t, schema, shred.Options{})
	k, err := shred.NewKeyShredder(m, newBuffers(m), []string{"v", "s", "o", "n", "b"})
	testenv.Must(t, err)
	k.SetInvalid(column.ReplaceInvalid)
	_, err = k.Row([]byte(row))
	testenv.Must(t, err)
	for i, want := range []string{v, s, o, n, b} {
		if got := k.Key(i); !bytes.Equal(got, []byte(want)) {
			t.Errorf("key %d is %q, want %q", i, got, want)
		}
	}
}
