package shred

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func shredder(t testing.TB, schema string, opts Options) (*Shredder, *column.Buffers) {
	t.Helper()
	s, err := ParseSchema(schema)
	testenv.Must(t, err)
	m, err := Map(s, opts)
	testenv.Must(t, err)
	bufs := column.NewBuffers(m.Columns, column.Interleaved, 1<<16)
	return NewShredder(m, bufs), bufs
}

// columnsOf shreds one row and returns the columns' blocks as text.
func columnsOf(t *testing.T, schema, datum string, opts Options) string {
	t.Helper()
	s, bufs := shredder(t, schema, opts)
	n, err := s.Row([]byte(datum + "next"))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if n != len(datum) {
		t.Errorf("%s: got %d bytes consumed, want %d", schema, n, len(datum))
	}
	var out []string
	for i := range bufs.Cols {
		var b column.Block
		bufs.Cols[i].Finish(1, &b)
		out = append(out, string(b.Data))
	}
	return strings.Join(out, "|")
}

func TestRow(t *testing.T) {
	for _, c := range []struct {
		name, schema, datum, want string
	}{
		{"null", `"null"`, "", ""},
		{"boolean", `"boolean"`, "\x01", "\x01"},
		{"int", `"int"`, "\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\x0f"},
		{"long", `"long"`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		{"overlong int", `"int"`, "\x82\x80\x00", "\x02"},
		{"overlong length", `"string"`, "\x82\x00a", "\x02a"},
		{"float", `"float"`, "abcd", "abcd"},
		{"double", `"double"`, "abcdefgh", "abcdefgh"},
		{"bytes", `"bytes"`, "\x04ab", "\x04ab"},
		{"fixed", `{"type":"fixed","name":"f","size":3}`, "abc", "\x06abc"},
		{"enum", `{"type":"enum","name":"e","symbols":["A","B"]}`, "\x02", "\x02"},
		{"array", `{"type":"array","items":"string"}`, "\x04\x02a\x02b\x00", "\x04\x02a\x02b"},
		{"empty array", `{"type":"array","items":"string"}`, "\x00", "\x00"},
		{"array with a block size", `{"type":"array","items":"string"}`, "\x03\x08\x02a\x02b\x00", "\x04\x02a\x02b"},
		{"array in blocks", `{"type":"array","items":"string"}`, "\x02\x02a\x01\x04\x02b\x02\x02c\x00", "\x06\x02a\x02b\x02c"},
		{"booleans in blocks", `{"type":"array","items":"boolean"}`, "\x02\x01\x04\x00\x01\x00", "\x06\x05"},
		{"array of records in blocks", `{"type":"array","items":{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}}`,
			"\x02\x02\x02\x04\x00", "\x04|\x02\x04"},
		{"map", `{"type":"map","values":"int"}`, "\x04\x02a\x02\x02b\x04\x00", "\x04|\x02a\x02b|\x02\x04"},
		{"optional, absent", `["null","int"]`, "\x00", "\x00"},
		{"optional, present", `["null","int"]`, "\x02\x06", "\x02\x06"},
		{"optional, null last", `["int","null"]`, "\x02", "\x00"},
		{"union", `["string","null","int"]`, "\x04\x06", "\x00|\x02\x06"},
		{"null in a union", `["string","null","int"]`, "\x02", "\x00|\x00"},
	} {
		if got := columnsOf(t, c.schema, c.datum, Options{}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRowErrors(t *testing.T) {
	const nested = `{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":` +
		`{"type":"record","name":"s","fields":[{"name":"b","type":["null",{"type":"record","name":"t","fields":[{"name":"c","type":"string"}]}]}]}}}]}`
	for _, c := range []struct {
		name, schema, datum string
		kind                damage.Kind
		path                string
		offset              int64
	}{
		{"nothing", `"int"`, "", damage.Truncated, "", 0},
		{"cut varint", `"int"`, "\x80", damage.Truncated, "", 0},
		{"long int", `"int"`, "\x80\x80\x80\x80\x80\x01", damage.Value, "", 0},
		{"large int", `"int"`, "\x80\x80\x80\x80\x10", damage.Value, "", 0},
		{"large long", `"long"`, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", damage.Value, "", 0},
		{"boolean", `"boolean"`, "\x02", damage.Value, "", 0},
		{"enum", `{"type":"enum","name":"e","symbols":["A"]}`, "\x02", damage.Value, "", 0},
		{"negative enum", `{"type":"enum","name":"e","symbols":["A"]}`, "\x01", damage.Value, "", 0},
		{"union", `["null","int"]`, "\x04", damage.Value, "", 0},
		{"negative union", `["null","int","string"]`, "\x01", damage.Value, "", 0},
		{"cut string", `"string"`, "\x08abc", damage.Truncated, "", 0},
		{"negative length", `"string"`, "\x01", damage.Size, "", 0},
		{"cut double", `"double"`, "1234567", damage.Truncated, "", 0},
		{"cut fixed", `{"type":"fixed","name":"f","size":3}`, "ab", damage.Truncated, "", 0},
		{"items", `{"type":"array","items":"int"}`, "\x10\x02", damage.Count, "", 0},
		{"nulls", `{"type":"array","items":"null"}`, "\x80\x80\x80\x80\x10", damage.Count, "", 0},
		{"most negative count", `{"type":"array","items":"int"}`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", damage.Count, "", 0},
		{"block size too small", `{"type":"array","items":"int"}`, "\x03\x02\x02\x02\x00", damage.Size, "", 0},
		{"block size too large", `{"type":"array","items":"int"}`, "\x01\x04\x02\x00\x00", damage.Size, "", 0},
		{"block size beyond the end", `{"type":"array","items":"int"}`, "\x01\x40\x02\x00", damage.Truncated, "", 1},
		{"nested", nested, "\x04\x00\x02\x08abc", damage.Truncated, "a[].b.c", 3},
		{"map key", `{"type":"record","name":"r","fields":[{"name":"m","type":{"type":"map","values":"int"}}]}`, "\x02\x01\x00", damage.Size, "m{}", 1},
	} {
		s, _ := shredder(t, c.schema, Options{})
		_, err := s.Row([]byte(c.datum))
		var d *damage.Error
		if !errors.As(err, &d) {
			t.Errorf("%s: error %v, want damage", c.name, err)
			continue
		}
		if d.Kind != c.kind || d.Path != c.path || d.Offset != c.offset {
			t.Errorf("%s: %s at %q, offset %d; want %s at %q, offset %d (%v)", c.name, d.Kind, d.Path, d.Offset, c.kind, c.path, c.offset, d)
		}
	}
}

const list = `{"type":"record","name":"List","fields":[{"name":"value","type":"int"},{"name":"next","type":["null","List"]}]}`

func TestRecursivePartStaysAvro(t *testing.T) {
	got := columnsOf(t, list, "\x02\x02\x04\x02\x06\x00", Options{RecursiveBytes: true})
	if want := "\x02|\x02\x08\x04\x02\x06\x00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s, _ := shredder(t, list, Options{RecursiveBytes: true})
	var d *damage.Error
	deep := append(bytes.Repeat([]byte{2, 2}, 10_000), 2, 0)
	if _, err := s.Row(deep); !errors.As(err, &d) || d.Kind != damage.Unsupported {
		t.Errorf("data nested 10,000 levels deep: %v", err)
	}
	if _, err := s.Row([]byte("\x02\x02\x04\x06")); !errors.As(err, &d) || d.Path != "next.next" {
		t.Errorf("damage inside the recursive part: %v", err)
	}
}

func TestInvalidUTF8IsCounted(t *testing.T) {
	s, _ := shredder(t, `{"type":"array","items":"string"}`, Options{})
	if _, err := s.Row([]byte("\x04\x02\xff\x02a\x02\x02\xfe\x00")); err != nil {
		t.Fatal(err)
	}
	if got := s.InvalidUTF8(); got != 2 {
		t.Errorf("%d invalid strings counted, want 2", got)
	}
}

// FuzzRow walks any bytes: the result is located damage or a consumed length inside
// the input, and columns no larger than their bound.
func FuzzRow(f *testing.F) {
	const schema = `{"type":"record","name":"r","fields":[{"name":"a","type":{"type":"array","items":["null","string","boolean",` +
		`{"type":"array","items":"null"}]}},{"name":"m","type":{"type":"map","values":{"type":"array","items":"boolean"}}},` +
		`{"name":"e","type":{"type":"enum","name":"e","symbols":["A","B"]}},{"name":"n","type":["null",{"type":"record","name":"List","fields":[` +
		`{"name":"v","type":"long"},{"name":"next","type":["null","List"]}]}]}]}`
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Add([]byte("\x04\x02\x02a\x04\x01\x01\x04\x06\x00\x00\x00\x02\x02k\x04\x01\x00\x00\x02\x02\x02\x02\x06\x00"))
	f.Fuzz(func(t *testing.T, datum []byte) {
		s, bufs := shredder(t, schema, Options{RecursiveBytes: true})
		n, err := s.Row(datum)
		if err != nil {
			var d *damage.Error
			if !errors.As(err, &d) || d.Offset < 0 || d.Offset > int64(len(datum)) {
				t.Fatalf("error %v is not located", err)
			}
			return
		}
		if n > len(datum) {
			t.Fatalf("%d bytes consumed of %d", n, len(datum))
		}
		_, perByte, _ := s.Growth()
		size := 0
		for i := range bufs.Cols {
			var b column.Block
			bufs.Cols[i].Finish(1, &b)
			size += len(b.Data)
		}
		if size > n*perByte+5*len(bufs.Cols) {
			t.Errorf("%d bytes of columns from %d of datum", size, n)
		}
	})
}
