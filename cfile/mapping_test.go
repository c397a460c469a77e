package cfile

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const shapesSchema = `{"type":"record","name":"R","fields":[
	{"name":"b","type":"boolean"},{"name":"f","type":["float","null"]},{"name":"d","type":"double"},
	{"name":"day","type":{"type":"int","logicalType":"date"}},
	{"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros"}]},
	{"name":"ms","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"d32","type":{"type":"fixed","name":"D32","size":5,"logicalType":"decimal","precision":9}},
	{"name":"d64","type":{"type":"fixed","name":"D64","size":8,"logicalType":"decimal","precision":18,"scale":2}},
	{"name":"d128","type":{"type":"fixed","name":"D128","size":17,"logicalType":"decimal","precision":38}},
	{"name":"d39","type":{"type":"fixed","name":"D39","size":20,"logicalType":"decimal","precision":39}},
	{"name":"db","type":{"type":"bytes","logicalType":"decimal","precision":9}},
	{"name":"fx","type":{"type":"fixed","name":"F","size":3}},
	{"name":"suit","type":{"type":"enum","name":"S","symbols":["A","B","C"]}},
	{"name":"twice","type":{"type":"enum","name":"T","symbols":["A","A"]}},
	{"name":"u","type":["null","int","string"]},{"name":"n","type":"null"},
	{"name":"rec","type":["null",{"type":"record","name":"Q","fields":[{"name":"x","type":["null","int"]}]}]},
	{"name":"m","type":{"type":"map","values":{"type":"array","items":"long"}}}]}`

func TestMapping(t *testing.T) {
	files := formattest.Rows(t, Format, map[string][]string{"encoding": {"twice=physical", "d64=physical"}}, shapesSchema, nil, 0).Files(t)
	var document struct {
		Columns []struct{ Path, File, Holds, Type, Encoding, Compression, Parent string }
	}
	testenv.Must(t, json.Unmarshal(files["columns.json"], &document))
	var got []string
	for _, c := range document.Columns {
		got = append(got, strings.Join([]string{c.Path, c.File, c.Holds, c.Type, c.Encoding, c.Compression, c.Parent}, " "))
		if c.File != "" {
			if _, ok := files[c.File]; !ok {
				t.Errorf("no file %s", c.File)
			}
		}
	}
	const want = `b 00000.cf values BOOL RLE SNAPPY 
f/float 00001.cf values FLOAT BIT_SHUFFLE NO_COMPRESSION 
d 00002.cf values DOUBLE BIT_SHUFFLE NO_COMPRESSION 
day 00003.cf values DATE BIT_SHUFFLE NO_COMPRESSION 
at/long 00004.cf values UNIXTIME_MICROS BIT_SHUFFLE NO_COMPRESSION 
ms 00005.cf values INT64 BIT_SHUFFLE NO_COMPRESSION 
d32 00006.cf values DECIMAL32 BIT_SHUFFLE NO_COMPRESSION 
d64 00007.cf values BINARY DICT SNAPPY 
d128 00008.cf values DECIMAL128 BIT_SHUFFLE NO_COMPRESSION 
d39 00009.cf values BINARY DICT SNAPPY 
db 00010.cf values BINARY DICT SNAPPY 
fx 00011.cf values BINARY DICT SNAPPY 
suit 00012.cf values STRING DICT SNAPPY 
twice 00013.cf values INT32 BIT_SHUFFLE NO_COMPRESSION 
u/int 00014.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION 
u/int 00014.cf items INT32 BIT_SHUFFLE NO_COMPRESSION 
u/string 00015.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION 
u/string 00015.cf items STRING DICT SNAPPY 
n  nulls    
rec/Q 00017.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION 
rec/Q#x/int 00018.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION rec/Q
rec/Q#x/int 00018.cf items INT32 BIT_SHUFFLE NO_COMPRESSION rec/Q
m> 00019.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION 
m>key 00020.cf items STRING DICT SNAPPY m>
m>value[] 00021.lengths.cf lengths INT32 BIT_SHUFFLE NO_COMPRESSION m>
m>value[] 00021.cf items INT64 BIT_SHUFFLE NO_COMPRESSION m>`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(files) != len(document.Columns) { // one column has no file, but the document is one more
		t.Errorf("%d files for %d lines", len(files), len(document.Columns))
	}
}
