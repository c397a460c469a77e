package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset/stats"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

const tableSchema = `{"type":"record","name":"T","fields":[{"name":"id","type":"int"},{"name":"text","type":["null","string"]},` +
	`{"name":"list","type":{"type":"array","items":"double"}},{"name":"day","type":{"type":"int","logicalType":"date"}}]}`

// tableRow returns a row of tableSchema. A nil text is null.
func tableRow(id int, text *string, list ...byte) []byte {
	row := appendVarint(nil, id)
	if text == nil {
		row = append(row, 0)
	} else {
		row = append(appendVarint(append(row, 2), len(*text)), *text...)
	}
	if len(list) > 0 {
		row = append(appendVarint(row, len(list)/8), list...)
	}
	return append(row, 0, 2)
}

func TestTable(t *testing.T) {
	dir := t.TempDir()
	var rows [][]byte
	for i, text := range []string{"plain", "", "null", "日本語", "a\tb\x1b[2J", "👍", `"quoted"`} {
		rows = append(rows, tableRow(i, &text))
	}
	rows = append(rows, tableRow(1000, nil, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f))
	write(t, dir+"/a.avro", encodeAvro(t, tableSchema, rows...))
	want := `  id  text          list   day
   0  plain         []     1970-01-02
   1  ""            []     1970-01-02
   2  null          []     1970-01-02
   3  日本語        []     1970-01-02
   4  a\tb\x1b[2J   []     1970-01-02
   5  👍            []     1970-01-02
   6  "\"quoted\""  []     1970-01-02
1000                [1.5]  1970-01-02
`
	for _, args := range [][]string{{"head", "a.avro"}, {"cat", "--to", "table", "a.avro"}} {
		rowtocol(t, dir, nil, args...).want(t, 0).prints(t, want)
	}
	rowtocol(t, dir, nil, "head", "--to", "csv", "-n", "1", "--columns", "id", "--json", "a.avro").want(t, 0, "id\n0\n", `"rows":1`)
	rowtocol(t, dir, nil, "head", "--to", "xml", "a.avro").want(t, 1, "xml")
}

// TestTableOfManyRows checks that a pipe gets all rows, with widths from the first thousand.
func TestTableOfManyRows(t *testing.T) {
	dir := t.TempDir()
	var rows [][]byte
	long := strings.Repeat("x", 100)
	for i := range 1500 {
		text := "short"
		if i >= 1000 {
			text = long
		}
		rows = append(rows, tableRow(i, &text))
	}
	write(t, dir+"/a.avro", encodeAvro(t, tableSchema, rows...))
	lines := strings.Split(rowtocol(t, dir, nil, "cat", "--to", "table", "a.avro").want(t, 0).stdout, "\n")
	if len(lines) != 1502 || lines[1] != "   0  short  []    1970-01-02" && lines[1] != "  0  short  []    1970-01-02" || !strings.Contains(lines[1500], "1499  "+long+"  []") {
		t.Errorf("%d lines, %q, %q", len(lines), lines[1], lines[1500])
	}
}

// mailFile makes an Avro file of messages.
func mailFile(t *testing.T, dir string, n int) {
	t.Helper()
	g := mailgen.New(1)
	var rows [][]byte
	for range n {
		rows = append(rows, g.Append(nil))
	}
	write(t, dir+"/mail.avro", encodeAvro(t, mailgen.Schema, rows...))
}

func TestStats(t *testing.T) {
	dir := t.TempDir()
	mailFile(t, dir, 2000)
	var got summed
	rowtocol(t, dir, nil, "stats", "--json", "mail.avro").want(t, 0).object(t, &got)
	by := map[string]stats.Column{}
	for _, c := range got.Columns {
		by[c.Name] = c
	}
	if id := by["id"]; got.Rows != 2000 || id.Values != 2000 || *id.Distinct < 1995 || *id.Distinct > 2005 || id.Min.(float64) != 1 {
		t.Errorf("%d rows, %+v", got.Rows, id)
	}
	if c := by["folder"]; c.Type != "enum" || c.Min != "ARCHIVE" || c.Max != "SPAM" || *c.Distinct != 4 {
		t.Errorf("%+v", c)
	}
	if c := by["subject/string"]; c.Values+c.Nulls != 2000 || c.Nulls == 0 || c.Length == nil || c.Length.Max < c.Length.Min || c.Items != nil {
		t.Errorf("%+v", c)
	}
	if c := by["to[]"]; c.Items == nil || c.Items.Min != 1 || c.Items.Mean*2000 != float64(c.Values) || c.Nulls != 0 {
		t.Errorf("%+v", c)
	}
	if c := by["date"]; c.Min != "2010-01-01T00:07:36.765Z" {
		t.Errorf("%+v", c)
	}
	if c := by["score/double"]; c.Mean == nil || c.NaN == nil {
		t.Errorf("%+v", c)
	}
	if c := by["body"]; !c.Cut || len(c.Min.(string)) != 64 {
		t.Errorf("%+v", c)
	}
	rowtocol(t, dir, nil, "stats", "--columns", "size", "--where", "size > 700", "mail.avro").want(t, 0, "size/int", "int[]")
	rowtocol(t, dir, nil, "stats", "--columns", "none", "mail.avro").want(t, 1, "none")
}

// TestAnswersFitTerminal checks that lines fit the terminal, and that a pipe gets everything.
func TestAnswersFitTerminal(t *testing.T) {
	dir := t.TempDir()
	mailFile(t, dir, 50)
	for _, args := range []string{"stats mail.avro", "head mail.avro", "cat --to table mail.avro", "inspect mail.avro"} {
		for _, width := range []int{60, 80, 132} {
			o := onTerminal(t, dir, width, strings.Fields(args)...).want(t, 0).wantHarmless(t)
			for line := range strings.Lines(o.stdout) {
				if n := cli.TextWidth(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s: a line of %d columns, want at most %d: %s", args, n, width, line)
				}
			}
		}
	}
	onTerminal(t, dir, 80, "stats", "mail.avro").want(t, 0, "distinct", "2010…", "ARCHIVE")
	onTerminal(t, dir, 80, "head", "mail.avro").want(t, 0, "more columns", "body")
	piped := rowtocol(t, dir, nil, "stats", "mail.avro").want(t, 0, "NaN", "items", "2010-01-01T00:07:36.765Z")
	if n := strings.Count(piped.stdout, "\n"); n < 15 {
		t.Errorf("%s", piped.stdout)
	}
}

// TestStatsOfOddValues sums up NaN, infinities, decimals and a column of nulls.
func TestStatsOfOddValues(t *testing.T) {
	dir := t.TempDir()
	schema := `{"type":"record","name":"F","fields":[{"name":"f","type":"float"},{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"n","type":"null"},{"name":"b","type":"boolean"}]}`
	var rows [][]byte
	for _, v := range []struct{ f, d string }{
		{"\x00\x00\xc0\x7f", "\x02\x05"}, {"\xcd\xcc\x8c\x3f", "\x04\xff\x7f"}, {"\x00\x00\x80\xff", "\x04\x01\x00"}, {"\x00\x00\x00\x80", "\x02\x80"}, {"\x00\x00\x00\x00", "\x02\xff"},
	} {
		rows = append(rows, []byte(v.f+v.d+"\x01"))
	}
	write(t, dir+"/f.avro", encodeAvro(t, schema, rows...))
	var got summed
	rowtocol(t, dir, nil, "stats", "--json", "f.avro").want(t, 0).object(t, &got)
	f, d, n, b := got.Columns[0], got.Columns[1], got.Columns[2], got.Columns[3]
	if *f.NaN != 1 || f.Min != "-Infinity" || fmt.Sprint(f.Max) != "1.1" || *f.Distinct != 4 || f.Mean != nil {
		t.Errorf("%+v, %d distinct", f, *f.Distinct)
	}
	if d.Min != "-1.29" || d.Max != "2.56" || *d.Distinct != 5 {
		t.Errorf("%+v", d)
	}
	if n.Nulls != 5 || n.Values != 0 || n.Distinct != nil || b.Min != true || b.Max != true {
		t.Errorf("%+v, %+v", n, b)
	}
}

func TestCount(t *testing.T) {
	dir := catPairs(t)
	var got counted
	rowtocol(t, dir, nil, "count", "--json", "a", "b").want(t, 0).object(t, &got)
	if got.Rows != 150 || *got.TotalRows != 150 {
		t.Errorf("%+v", got)
	}
	rowtocol(t, dir, nil, "count", "--where", "id>120", "a", "b").want(t, 0, "29\n")
	rowtocol(t, dir, nil, "count", "--where", "nothing>120", "a").want(t, 1, "nothing")
	rowtocol(t, dir, nil, "count", "none").want(t, 3, "none")
	rowtocol(t, dir, nil, "count").want(t, 1, "usage")

	// Only the manifest is read, and for Avro the heads of blocks.
	name := partOf(t, dir+"/b", 0)
	write(t, name, bytes.Repeat([]byte{0}, len(read(t, name))))
	rowtocol(t, dir, nil, "count", "b").want(t, 0, "50\n")
	flip(t, dir+"/a.avro", -25, 0xff)
	rowtocol(t, dir, nil, "count", "a.avro").want(t, 0, "100\n")

	// Rows of several schemas are counted together.
	write(t, dir+"/text.avro", encodeAvro(t, textSchema, append(appendVarint(appendVarint(nil, 500), 1), 'x')))
	rowtocol(t, dir, nil, "count", "a", "text.avro").want(t, 0, "101\n")
	rowtocol(t, dir, nil, "count", "--where", "id>=98", "a", "text.avro").want(t, 0, "3\n")
}
