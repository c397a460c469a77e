package cfile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
)

func TestChoices(t *testing.T) {
	for _, test := range []struct {
		chosen   map[string][]string
		document string // empty: an error
		words    []string
	}{
		{nil, `{}`, nil},
		{map[string][]string{"compression": {"lz4", "a=b=none"}, "encoding": {"a=rle", "d=physical", "c=physical"}, "sorted-by": {"b", "a", "b"}, "many-files": {"true"}},
			`{"compression":"lz4","column_compressions":{"a=b":"none"},"encodings":{"a":"rle"},"physical":["c","d"],"sorted_by":["a","b"],"many_files":true}`, nil},
		{map[string][]string{"many-files": {"false"}}, `{}`, nil},
		{map[string][]string{"compression": {"gzip"}}, "", []string{`--compression "gzip" is not one of none, snappy`}},
		{map[string][]string{"compression": {"=lz4"}}, "", []string{"the column before = is missing"}},
		{map[string][]string{"encoding": {"plain"}}, "", []string{`"plain" is not of the form PATH=ENCODING`}},
		{map[string][]string{"many-files": {"maybe"}}, "", []string{"maybe"}},
		{map[string][]string{"encoding": {"a=huffman"}, "compression": {"b=gzip"}}, "", []string{`--encoding a="huffman"`, `--compression b="gzip"`}},
	} {
		document, err := Format.Options(test.chosen)
		if string(document) != test.document || (err == nil) != (test.document != "") {
			t.Errorf("%v: %s, %v", test.chosen, document, err)
		}
		for _, w := range test.words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %v, want %q in it", test.chosen, err, w)
			}
		}
	}
	for _, document := range []string{`{"later":1}`, `{"compression":"gzip"}`, `[]`} {
		if _, err := Format.Writer(json.RawMessage(document)); err == nil || Format.Describe(json.RawMessage(document)) != "unknown options" {
			t.Errorf("%s is accepted", document)
		}
	}
	if got := Format.Describe(json.RawMessage(`{"compression":"lz4","sorted_by":["a"]}`)); got != "compression lz4, sorted by a" {
		t.Error(got)
	}
}

const manySchema = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},{"name":"ok","type":"boolean"},{"name":"name","type":["null","string"]},
	{"name":"either","type":["int","string"]},{"name":"nothing","type":"null"},
	{"name":"tags","type":{"type":"array","items":"string"}},
	{"name":"in","type":{"type":"record","name":"I","fields":[{"name":"x","type":"double"}]}}]}`

// An error names all options that do not fit the columns.
func TestOptionsThatDoNotFit(t *testing.T) {
	cols := formattest.Mapping(t, manySchema).Columns
	for _, test := range []struct {
		chosen map[string][]string
		errs   []string
	}{
		{map[string][]string{"encoding": {"id=rle", "name=plain", "tags=prefix", "in.x=plain", "in#x=plain"}}, nil},
		{map[string][]string{"encoding": {"in.x=plain", "in#x=bitshuffle"}}, []string{`cfile: --encoding "in#x=bitshuffle" and "in.x=plain" contradict each other`}},
		{map[string][]string{"sorted-by": {"id"}, "compression": {"tags[]=zlib", "nothing=lz4"}}, nil},
		{map[string][]string{"encoding": {"di=rle", "id=dict", "name/string=rle", "nothing=plain"}, "compression": {"x=lz4"}}, []string{
			"--encoding di=rle: there is no such column", `--encoding: values of column "id" are of the type INT64, which has the encodings plain, rle, bitshuffle`,
			`column "name/string"`, `column "nothing" can have no encoding`, "--compression x=lz4",
		}},
		{map[string][]string{"encoding": {"either=plain", "nothing=physical"}}, []string{"it is one of the columns either/int, either/string", "nothing"}},
		{map[string][]string{"sorted-by": {"ok", "name", "tags", "in.x", "nothing"}}, []string{
			"--sorted-by ok: a value index is not for columns of the type boolean", "--sorted-by name/string: the column does not have exactly one value per row",
			"--sorted-by tags[]", "--sorted-by in#x: a value index is not for columns of the type double", "--sorted-by nothing",
		}},
	} {
		s := formattest.Source{Format: Format, Options: formattest.Options(t, Format, test.chosen), Schema: manySchema, Columns: cols}
		_, _, err := s.Begin(t)
		if (err == nil) != (len(test.errs) == 0) {
			t.Errorf("%v: %v", test.chosen, err)
		}
		for _, e := range test.errs {
			if err == nil || !strings.Contains(err.Error(), e) {
				t.Errorf("%v: %v, want %q in it", test.chosen, err, e)
			}
		}
	}
}

func TestManyFiles(t *testing.T) {
	for _, test := range []struct {
		columns, files int
		many           string
	}{{500, 1000, "false"}, {501, 1002, "false"}, {501, 1002, "true"}} {
		var fields []string
		for i := range test.columns {
			fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":{"type":"array","items":"int"}}`, i))
		}
		schema := `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
		s := formattest.Rows(t, Format, map[string][]string{"many-files": {test.many}}, schema, nil, 4096)
		refused := test.files > 1000 && test.many != "true"
		if _, _, err := s.Begin(t); (err != nil) != refused || refused && !strings.Contains(err.Error(), "1002 files; --many-files") {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
