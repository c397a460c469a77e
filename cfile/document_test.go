package cfile

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// sampleDocument returns a document with columns of every shape.
func sampleDocument() document {
	file := func(col int, lengths, nullable bool, t Type, e Encoding) *documentFile {
		return &documentFile{Name: fileName(col, lengths), Type: t, Encoding: e, Compression: Snappy, Nullable: nullable}
	}
	col := func(name string, t column.Type, parent int) column.Column {
		return column.Column{Name: name, Type: t, Parent: parent}
	}
	id, day, tags, word := col("id", column.Long, -1), col("day/int", column.Int, -1), col("tags>", column.Null, -1), col("tags>value[]", column.String, 2)
	day.Array, day.Optional, day.Nullable, day.Logical = true, true, true, column.LogicalDate
	tags.Array, word.Array = true, true
	suit, none := col("tags>suit", column.Int, 2), col("none", column.Null, -1)
	suit.Symbols = []string{"♠", "a<b"}
	empty := col("empty", column.Int, 3)
	empty.Symbols = []string{}
	return document{
		Rows: 5, Schema: `{"type": "record", "name":"R"}`,
		Columns: []documentColumn{
			{Column: id, Values: file(0, false, false, Int64, Bitshuffle), Blocks: []documentBlock{{3, 3, 3, 30, 20}, {2, 2, 2, 20, 10}}},
			{Column: day, Values: file(1, false, true, Date, RLE), Blocks: []documentBlock{{5, 5, 1, 4, 40}}},
			{Column: tags, Lengths: file(2, true, false, Int32, Bitshuffle), Blocks: []documentBlock{{5, 5, 4, 20, 40}}},
			{Column: word, Lengths: file(3, true, false, Int32, Plain), Values: file(3, false, false, String, Dict), Blocks: []documentBlock{{1, 1, 2, 1, 1}, {4, 3, 1, 1, 1}}},
			{Column: suit, Values: file(4, false, false, String, Dict), Blocks: []documentBlock{{5, 4, 4, 1, 1}}},
			{Column: none, Blocks: []documentBlock{{Rows: 5}}},
			{Column: empty, Values: file(6, false, false, String, Dict), Blocks: []documentBlock{{5, 3, 3, 1, 1}}},
		},
	}
}

func TestDocument(t *testing.T) {
	d := sampleDocument()
	text, err := d.append([]byte("before"))
	testenv.Must(t, err)
	text = text[len("before"):]
	got, err := parseDocument(text, documentName)
	if err != nil || !reflect.DeepEqual(*got, d) {
		t.Fatalf("%v: read\n%+v, written\n%+v of\n%s", err, got, d, text)
	}
	if lines := strings.Count(string(text), "\n"); lines != 8+2 || !strings.Contains(string(text), `"a<b"`) {
		t.Errorf("%d lines:\n%s", lines, text)
	}
	for i := range text {
		text[i] ^= 1
		if _, err := parseDocument(text, documentName); err == nil {
			t.Errorf("a change of byte %d is not detected", i)
		}
		text[i] ^= 1
	}
}

// A document with a valid checksum may still be inconsistent.
func TestHostileDocument(t *testing.T) {
	file := func(d *document) *documentFile { return d.Columns[0].Values }
	for name, test := range map[string]struct {
		change func(d *document)
		kind   damage.Kind
	}{
		"negative rows":     {func(d *document) { d.Rows = -1 }, damage.Count},
		"other rows":        {func(d *document) { d.Rows = 6 }, damage.Count},
		"fewer rows":        {func(d *document) { d.Rows = 4 }, damage.Count},
		"an empty block":    {func(d *document) { d.Columns[5].Blocks = []documentBlock{{Rows: 5}, {}} }, damage.Count},
		"values of a null":  {func(d *document) { d.Columns[5].Blocks[0].Items = 1 }, damage.Count},
		"other units":       {func(d *document) { d.Columns[0].Blocks[0].Units, d.Columns[0].Blocks[0].Items = 4, 4 }, damage.Count},
		"other items":       {func(d *document) { d.Columns[0].Blocks[0].Items = 4 }, damage.Count},
		"too many values":   {func(d *document) { d.Columns[1].Blocks[0].Items = 6 }, damage.Count},
		"items of no child": {func(d *document) { d.Columns[2].Blocks[0].Items = 5 }, damage.Count},
		"too many items":    {func(d *document) { d.Columns[2].Blocks[0].Items = maxItems + 1 }, damage.Count},
		"huge sizes": {func(d *document) {
			d.Columns[0].Blocks[0].Raw, d.Columns[0].Blocks[1].Raw = maxBytes, 1
		}, damage.Size},
		"a huge stored size": {func(d *document) { d.Columns[0].Blocks[0].Stored = math.MaxInt64 }, damage.Size},
		"negative":           {func(d *document) { d.Columns[0].Blocks[0].Stored = -1 }, damage.Header},
		"a file outside":     {func(d *document) { file(d).Name = "../00000.cf" }, damage.Header},
		"another file":       {func(d *document) { file(d).Name = "00001.cf" }, damage.Header},
		"another type":       {func(d *document) { file(d).Type = Int32 }, damage.Header},
		"nullable":           {func(d *document) { file(d).Nullable = true }, damage.Header},
		"no compression":     {func(d *document) { file(d).Compression = 0 }, damage.Header},
		"a type not of Avro": {func(d *document) { d.Columns[0].Type = column.Fixed32 }, damage.Header},
		"two of one name":    {func(d *document) { d.Columns[0].Name = "none" }, damage.Header},
		"a parent, no array": {func(d *document) { d.Columns[4].Parent = 0 }, damage.Header},
		"a later parent":     {func(d *document) { d.Columns[0].Parent = 2 }, damage.Header},
	} {
		d := sampleDocument()
		test.change(&d)
		text, err := d.append(nil)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = parseDocument(text, documentName)
		if e, ok := err.(*damage.Error); !ok || e.Kind != test.kind || e.File != documentName {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := new(document).append(nil)
	testenv.Must(t, err)
	const first = `"columns":[`
	for _, test := range []struct {
		from, to string
		kind     damage.Kind
	}{
		{`"cfile"`, `"other"`, damage.Magic},
		{`"version":1`, `"version":2`, damage.Unsupported},
		{`"rows":0`, `"rows":x`, damage.Header},
		{first, first + `{"path":"a","holds":"values"}`, damage.Header},
		{first, first + `{"path":"a","holds":"values","avro":{"type":"odd"}}`, damage.Header},
		{first, first + `{"path":"a","holds":"nulls","avro":{"type":"null","logical":"odd"}}`, damage.Header},
		{first, first + `{"path":"a","holds":"items","avro":{"type":"null"}}`, damage.Header},
		{first, first + `{"path":"a","holds":"nulls","avro":{"type":"null"},"blocks":[[1,2]]}`, damage.Header},
		{first, first + `{"path":"a","holds":"lengths"}`, damage.Header},
	} {
		changed := []byte(strings.Replace(string(text), test.from, test.to, 1))
		sum, at := documentSum(changed)
		copy(changed[at:], fmt.Sprintf("%08x", sum))
		_, err := parseDocument(changed, documentName)
		if e, ok := err.(*damage.Error); !ok || e.Kind != test.kind {
			t.Errorf("%s: %v", changed, err)
		}
	}
	if _, err := parseDocument([]byte("{}"), documentName); err == nil {
		t.Error("a document without checksum is read")
	}
}

// TestLinesOfAColumn checks that the lines of a column's lengths and items must match.
func TestLinesOfAColumn(t *testing.T) {
	const (
		lengths = `{"path":"a","file":"00000.lengths.cf","holds":"lengths","type":"INT32","encoding":"PLAIN","compression":"LZ4","crc32c":"0123abcd"}`
		items   = `{"path":"a","file":"00000.cf","holds":"items","type":"INT32","encoding":"PLAIN","compression":"LZ4","crc32c":"0123abcd","avro":{"type":"int","array":true}}`
	)
	for lines, sound := range map[string]bool{
		lengths + "," + items: true,
		strings.Replace(lengths, `"a"`, `"b"`, 1) + "," + items:                                                  false,
		strings.Replace(lengths, `"holds"`, `"parent":"b","holds"`, 1) + "," + items:                             false,
		lengths + "," + strings.Replace(strings.Replace(items, `"items"`, `"lengths"`, 1), `"int"`, `"null"`, 1): false,
		lengths + "," + strings.Replace(items, "0123abcd", "0123abcg", 1):                                        false,
		lengths + "," + strings.Replace(items, "0123abcd", "0123abc", 1):                                         false,
		lengths: false,
		items:   false,
	} {
		text := []byte(`{"format":"cfile","version":1,"rows":0,"schema":"int","columns":[` + lines + documentEnd)
		sum, at := documentSum(text)
		copy(text[at:], fmt.Sprintf("%08x", sum))
		if _, err := parseDocument(text, documentName); (err == nil) != sound {
			t.Errorf("%s: %v", lines, err)
		}
	}
}
