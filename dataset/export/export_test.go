package export

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/linkedin/goavro/v2"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func parse(t testing.TB, schema string) *shred.Schema {
	t.Helper()
	s := avrotest.Parse(t, schema)
	return s
}

// encode returns goavro's datum of a native value.
func encode(t *testing.T, schema string, native any) []byte {
	t.Helper()
	c, err := goavro.NewCodec(schema)
	testenv.Must(t, err)
	b, err := c.BinaryFromNative(nil, native)
	testenv.Must(t, err)
	return b
}

// open returns a writer of an encoding.
func open(t testing.TB, w io.Writer, e Encoding) Writer {
	t.Helper()
	opened, err := NewWriter(w, e)
	testenv.Must(t, err)
	return opened
}

// openCSV returns a writer of CSV.
func openCSV(t testing.TB, w io.Writer, s *shred.Schema) Writer {
	t.Helper()
	e, err := CSV(s)
	testenv.Must(t, err)
	return open(t, w, e)
}

// openAvro returns a writer of Avro files.
func openAvro(t testing.TB, w io.Writer, s *shred.Schema, codec string) Writer {
	t.Helper()
	e, err := Avro(s, codec)
	testenv.Must(t, err)
	return open(t, w, e)
}

// write returns the output of a writer of rows.
func write(t *testing.T, w Writer, out *bytes.Buffer, rows ...[]byte) string {
	t.Helper()
	for _, row := range rows {
		testenv.Must(t, w.Write(row))
	}
	testenv.Must(t, w.Close())
	return out.String()
}

func varint(v int64) []byte { return binary.AppendVarint(nil, v) }

func sized(s string) []byte { return append(varint(int64(len(s))), s...) }

func double(v float64) []byte {
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		schema      string
		datum       []byte
		json, plain string // a line of JSON; a field of CSV
	}{
		{`"null"`, nil, `null`, ``},
		{`"boolean"`, []byte{1}, `true`, `true`},
		{`"int"`, varint(-7), `-7`, `-7`},
		{`"long"`, varint(math.MinInt64), `-9223372036854775808`, `-9223372036854775808`},
		{`"float"`, []byte{0xcd, 0xcc, 0xcc, 0x3d}, `0.1`, `0.1`},
		{`"float"`, []byte{0, 0, 0xc0, 0x7f}, `"NaN"`, `NaN`},
		{`"double"`, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, `"Infinity"`, `Infinity`},
		{`"double"`, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0xff}, `"-Infinity"`, `-Infinity`},
		{`"double"`, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, `-0.0`, `-0.0`},
		{`"double"`, []byte{0, 0, 0, 0, 0, 0, 0, 0}, `0.0`, `0.0`},
		{`"float"`, []byte{0, 0, 0, 0x80}, `-0.0`, `-0.0`},
		{`"float"`, []byte{0, 0, 0x40, 0x40}, `3.0`, `3.0`},
		{`"double"`, double(1e20), `100000000000000000000.0`, `100000000000000000000.0`},
		{`"double"`, double(1e21), `1e+21`, `1e+21`},
		{`"double"`, double(-2.5e-7), `-2.5e-07`, `-2.5e-07`},
		{`"string"`, sized(``), `""`, `""`},
		{`"string"`, sized("a\"b\\\n\x01é,"), `"a\"b\\\n\u0001é,"`, "\"a\"\"b\\\n\x01é,\""},
		{`"string"`, sized("a\xffb"), `"a` + "\uFFFD" + `b"`, "a\uFFFDb"},
		{`"bytes"`, sized("\x00\xff"), `"AP8="`, `AP8=`},
		{`{"type":"fixed","name":"F","size":3}`, []byte("abc"), `"YWJj"`, `YWJj`},
		{`{"type":"enum","name":"E","symbols":["A","B"]}`, varint(1), `"B"`, `B`},
		{`["null","string"]`, varint(0), `null`, ``},
		{`["null","string"]`, append(varint(1), sized("x")...), `"x"`, `x`},
		{`["int"]`, append(varint(0), varint(7)...), `7`, `7`},
		{`["null"]`, varint(0), `null`, ``},
		{`{"type":"int","logicalType":"date"}`, varint(20484), `"2026-01-31"`, `2026-01-31`},
		{`{"type":"int","logicalType":"date"}`, varint(-719529), `"-00001-12-31"`, `-00001-12-31`},
		{`{"type":"int","logicalType":"date"}`, varint(2932897), `"+10000-01-01"`, `+10000-01-01`},
		{`{"type":"int","logicalType":"time-millis"}`, varint(86399123), `"23:59:59.123"`, `23:59:59.123`},
		{`{"type":"int","logicalType":"time-millis"}`, varint(-1), `"-1"`, `-1`},
		{`{"type":"long","logicalType":"time-micros"}`, varint(1), `"00:00:00.000001"`, `00:00:00.000001`},
		{`{"type":"long","logicalType":"timestamp-millis"}`, varint(-1), `"1969-12-31T23:59:59.999Z"`, `1969-12-31T23:59:59.999Z`},
		{`{"type":"long","logicalType":"timestamp-micros"}`, varint(1500000), `"1970-01-01T00:00:01.500000Z"`, `1970-01-01T00:00:01.500000Z`},
		{`{"type":"long","logicalType":"timestamp-nanos"}`, varint(math.MaxInt64), `"2262-04-11T23:47:16.854775807Z"`, `2262-04-11T23:47:16.854775807Z`},
		{`{"type":"long","logicalType":"local-timestamp-millis"}`, varint(0), `"1970-01-01T00:00:00.000"`, `1970-01-01T00:00:00.000`},
		{`{"type":"string","logicalType":"date"}`, sized("x"), `"x"`, `x`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, sized("\xfb\x32"), `"-12.30"`, `-12.30`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, sized("\x05"), `"0.05"`, `0.05`},
		{`{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}`, sized(``), `"0.00"`, `0.00`},
		{`{"type":"bytes","logicalType":"decimal","precision":4}`, sized("\x80"), `"-128"`, `-128`},
		{`{"type":"bytes","logicalType":"decimal","precision":2,"scale":3}`, sized("\x01"), `"AQ=="`, `AQ==`},
		{`{"type":"fixed","name":"D","size":9,"logicalType":"decimal","precision":20,"scale":1}`,
			[]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 0}, `"-1844674407370955161.6"`, `-1844674407370955161.6`},
		{`{"type":"fixed","name":"U","size":16,"logicalType":"uuid"}`, []byte("0123456789abcdef"),
			`"30313233-3435-3637-3839-616263646566"`, `30313233-3435-3637-3839-616263646566`},
		{`{"type":"fixed","name":"P","size":12,"logicalType":"duration"}`, []byte{1, 0, 0, 0, 2, 0, 0, 0, 0xbc, 0x0b, 0, 0},
			`"P1M2DT3.004S"`, `P1M2DT3.004S`},
	} {
		s := parse(t, c.schema)
		var out bytes.Buffer
		if got := write(t, open(t, &out, JSON(s, JSONOptions{})), &out, c.datum); got != c.json+"\n" {
			t.Errorf("%s of %x: JSON %s, want %s", c.schema, c.datum, got, c.json)
		}
		out.Reset()
		w := openCSV(t, &out, s)
		_ = w.Close()
		out.Reset()
		if got := write(t, w, &out, c.datum); got != c.plain+"\n" {
			t.Errorf("%s of %x: CSV %s, want %s", c.schema, c.datum, got, c.plain)
		}
	}
}

const nested = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},
	{"name":"who","type":["null",{"type":"record","name":"n.P","fields":[{"name":"b","type":"bytes"}]},"string"]},
	{"name":"tags","type":{"type":"map","values":["null","int"]}},
	{"name":"list","type":{"type":"array","items":"string"}}]}`

// Strings are scanned some bytes at a time.
func TestStringsOfAllBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for c := range 256 {
		for n := range 41 {
			for _, around := range []string{"a", "é", "\n", "\xff"} {
				at := r.IntN(n + 1)
				in := strings.Repeat(around, at) + string([]byte{byte(c)}) + strings.Repeat(around, n-at)
				out := appendString([]byte("before"), []byte(in))[len("before"):]
				var got string
				if err := json.Unmarshal(out, &got); err != nil || got != string([]rune(in)) || bytes.IndexByte(out, 0x7f) >= 0 {
					t.Fatalf("%q: %v\n%s", in, err, out)
				}
			}
		}
	}
}

func TestNested(t *testing.T) {
	row := encode(t, nested, map[string]any{
		"id": int64(1), "who": goavro.Union("n.P", map[string]any{"b": []byte{0, 0xe9}}),
		"tags": map[string]any{"x": goavro.Union("int", 5)}, "list": []any{"a", "b"},
	})
	empty := encode(t, nested, map[string]any{"id": int64(2), "who": nil, "tags": map[string]any{}, "list": []any{}})
	s := parse(t, nested)
	var out bytes.Buffer
	want := `{"id":1,"who":{"b":"AOk="},"tags":{"x":5},"list":["a","b"]}
{"id":2,"who":null,"tags":{},"list":[]}
`
	if got := write(t, open(t, &out, JSON(s, JSONOptions{})), &out, row, empty); got != want {
		t.Errorf("got %s", got)
	}
	out.Reset()
	want = `{"id":1,"who":{"n.P":{"b":"\u0000\u00e9"}},"tags":{"x":{"int":5}},"list":["a","b"]}` + "\n"
	if got := write(t, open(t, &out, JSON(s, JSONOptions{UnionTags: true})), &out, row); got != want {
		t.Errorf("with tags: %s", got)
	}
	if _, err := CSV(s); !errors.Is(err, ErrNotSimple) {
		t.Errorf("CSV of a nested schema: %v", err)
	}
}

func TestCSVFlattensRecords(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"a","type":{"type":"record","name":"A","fields":[{"name":"x","type":"int"},{"name":"y,","type":["string","null"]}]}},
		{"name":"b","type":"null"}]}`
	s := avrotest.Parse(t, schema)
	var out bytes.Buffer
	w := openCSV(t, &out, s)
	text := write(t, w, &out, []byte{2, 0, 2, 'q'}, []byte{4, 2}, []byte{6, 0, 0})
	if want := "a.x,\"a.y,\",b\n1,q,\n2,,\n3,\"\",\n"; text != want {
		t.Errorf("got %q", text)
	}
	if rows, err := csv.NewReader(bytes.NewReader([]byte(text))).ReadAll(); err != nil || len(rows) != 4 {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestRandomRows compares the forms with goavro's results for the same rows.
func TestRandomRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	compared := 0
	rounds := soak.Rounds(300, 1500)
	for range rounds {
		text := randavro.Schema(r)
		s := parse(t, text)
		codec, err := goavro.NewCodec(text)
		if err != nil {
			continue
		}
		var rows [][]byte
		for range 5 {
			row := randavro.Datum(r, s.Root())
			if _, _, err := codec.NativeFromBinary(row); err == nil { // goavro rejects a map with equal keys
				rows = append(rows, row)
			}
		}
		var plain, tagged, avro bytes.Buffer
		w := openAvro(t, &avro, s, "deflate")
		write(t, w, &avro, rows...)
		write(t, open(t, &plain, JSON(s, JSONOptions{})), &plain, rows...)
		write(t, open(t, &tagged, JSON(s, JSONOptions{UnionTags: true})), &tagged, rows...)
		for _, line := range bytes.Split(bytes.TrimSuffix(plain.Bytes(), []byte{'\n'}), []byte{'\n'}) {
			if !json.Valid(line) || !utf8.Valid(line) {
				t.Fatalf("%s: not JSON: %q", text, line)
			}
		}
		read, err := goavro.NewOCFReader(&avro)
		testenv.Must(t, err)
		lines := bytes.Split(tagged.Bytes(), []byte{'\n'})
		for i, row := range rows {
			native, _, err := codec.NativeFromBinary(row)
			testenv.Must(t, err)
			want, err := codec.BinaryFromNative(nil, native)
			testenv.Must(t, err)
			if !read.Scan() {
				t.Fatalf("%s: row %d is missing: %v", text, i, read.Err())
			}
			again, err := read.Read()
			testenv.Must(t, err)
			if got, err := codec.BinaryFromNative(nil, again); err != nil || !sameBytes(got, want) {
				t.Fatalf("%s: the container has a different row %d: %v", text, i, err)
			}
			back, _, err := codec.NativeFromTextual(lines[i])
			if err != nil {
				// goavro has tags of its own for logical types, and no NaN.
				if text := err.Error(); !strings.Contains(text, "cannot determine codec") && !strings.Contains(text, "unexpected byte") {
					t.Errorf("%s\n%s: %v", s.JSON(), lines[i], err)
				}
				continue
			}
			if got, err := codec.BinaryFromNative(nil, back); err != nil || !sameBytes(got, want) {
				t.Errorf("%s\n%s is a different row: %v", s.JSON(), lines[i], err)
			}
			compared++
		}
	}
	if compared < rounds/10 {
		t.Errorf("only %d rows came back from JSON", compared)
	}
}

// sameBytes reports whether encodings are equal apart from the order of maps.
func sameBytes(a, b []byte) bool {
	x, y := slices.Clone(a), slices.Clone(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y)
}

// A row that is not a datum of the schema is an error, with any lengths, counts,
// branches and depth.
func TestInvalidDatum(t *testing.T) {
	const (
		enum  = `{"type":"enum","name":"E","symbols":["A","B"]}`
		chain = `{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`
		nulls = `{"type":"array","items":"null"}`
	)
	for _, c := range []struct{ name, schema, datum string }{
		{"a second row", `"long"`, "\x02\x04"},
		{"a varint without an end", `"long"`, "\x80"},
		{"a string beyond the row", `"string"`, "\x08ab"},
		{"a string of negative length", `"string"`, "\x01ab"},
		{"half a double", `"double"`, "\x00\x00\x00\x00"},
		{"a fixed beyond the row", `{"type":"fixed","name":"F","size":4}`, "ab"},
		{"an ordinal without a symbol", enum, "\x04"},
		{"a negative ordinal", enum, "\x01"},
		{"an index without a branch", `["null","long"]`, "\x04\x02"},
		{"more nulls than allowed", nulls, string(varint(maxEmpty+2)) + "\x00"},
		{"a count of -2^63", nulls, string(varint(math.MinInt64)) + "\x00"},
		{"too deep", chain, strings.Repeat("\x02", maxDepth+1) + "\x00"},
	} {
		s := parse(t, c.schema)
		var out bytes.Buffer
		writers := map[string]Writer{"json": open(t, &out, JSON(s, JSONOptions{})), "avro json": open(t, &out, JSON(s, JSONOptions{UnionTags: true}))}
		if e, err := CSV(s); err == nil {
			writers["csv"] = open(t, &out, e)
		} else if !errors.Is(err, ErrNotSimple) {
			t.Fatal(err)
		}
		for form, w := range writers {
			if err := w.Write([]byte(c.datum)); !errors.Is(err, errDatum) {
				t.Errorf("%s as %s: %v", c.name, form, err)
			}
		}
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	row := encode(t, nested, map[string]any{
		"id": int64(1), "who": goavro.Union("string", "grüße"),
		"tags": map[string]any{"x": goavro.Union("int", 5)}, "list": []any{"a", "b"},
	})
	var out bytes.Buffer
	out.Grow(64 << 20)
	w := open(t, &out, JSON(parse(t, nested), JSONOptions{}))
	if n := testing.AllocsPerRun(10_000, func() { _ = w.Write(row) }); n != 0 {
		t.Errorf("%v allocations for a row", n)
	}
}

func FuzzWriters(f *testing.F) {
	f.Add(nested, []byte{2, 0, 0, 0})
	f.Add(`{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`, bytes.Repeat([]byte{2}, 10_000))
	f.Add(`{"type":"array","items":"null"}`, []byte{0xff, 0xff, 7, 0, 0}) // more than the writer buffers
	f.Add(`{"type":"array","items":"null"}`, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0})
	f.Fuzz(func(t *testing.T, schema string, row []byte) {
		s, err := shred.ParseSchema(schema)
		if err != nil {
			return
		}
		var out bytes.Buffer
		for _, o := range []JSONOptions{{}, {UnionTags: true}} {
			out.Reset()
			w := open(t, &out, JSON(s, o))
			if err := w.Write(row); err != nil {
				continue
			}
			if err := w.Close(); err != nil || !json.Valid(out.Bytes()) {
				t.Errorf("%q: %v", out.Bytes(), err)
			}
		}
		if e, err := CSV(s); err == nil {
			w := open(t, &out, e)
			_ = w.Write(row)
			_ = w.Close()
		}
	})
}

// TestLongValues has values that are written in pieces: of every length of runes, and
// of bytes, around the places where they are cut.
func TestLongValues(t *testing.T) {
	s := parse(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},{"name":"b","type":"bytes"}]}`)
	for _, unit := range []string{"é", "€", "\U0001F600", "\"", ",", "\xff"} {
		for shift := range 3 {
			text := strings.Repeat("x", shift) + strings.Repeat(unit, 200_000/len(unit))
			row := append(binary.AppendVarint(nil, int64(len(text))), text...)
			row = append(row, row...)
			table, err := CSV(s)
			testenv.Must(t, err)
			for name, e := range map[string]Encoding{"json": JSON(s, JSONOptions{}), "avro": JSON(s, JSONOptions{UnionTags: true}), "csv": table} {
				var out bytes.Buffer
				write(t, open(t, &out, e), &out, row)
				wantString, wantBytes := strings.ToValidUTF8(text, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(text))
				var got struct{ S, B string }
				if name == "csv" {
					lines, err := csv.NewReader(&out).ReadAll()
					if err != nil || len(lines) != 2 {
						t.Fatalf("%q: %d lines, %v", unit, len(lines), err)
					}
					got.S, got.B = lines[1][0], lines[1][1]
				} else if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatalf("%s, %q: %v", name, unit, err)
				}
				if name == "avro" {
					wantBytes = latin(text)
				}
				if name != "csv" && unit == "\xff" { // JSON has a replacement for each byte
					wantString = strings.ReplaceAll(text, unit, "\uFFFD")
				}
				if unit == "\xff" && name == "csv" { // a cut makes two replacements
					got.S = strings.TrimRight(got.S, "\uFFFD") + "\uFFFD"
				}
				if got.S != wantString || got.B != wantBytes {
					t.Errorf("%s, %q after %d: %d and %d characters, want %d and %d", name, unit, shift, len(got.S), len(got.B), len(wantString), len(wantBytes))
				}
			}
		}
	}
}

// latin returns bytes as Avro's JSON writes them: each as one character.
func latin(b string) string {
	runes := make([]rune, len(b))
	for i := range len(b) {
		runes[i] = rune(b[i])
	}
	return string(runes)
}
