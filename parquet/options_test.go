package parquet

import (
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestOptions(t *testing.T) {
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]},
		{"name":"m","type":{"type":"map","values":"string"}},{"name":"l","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"x=y","type":"int"}]}}}]}`, timesExact)
	if err != nil { // names with = are not valid in Avro, but exist
		t.Fatal(err)
	}
	for _, tt := range []struct {
		chosen []string
		want   []pq.CompressionCodec // a, m>key, m>value, l.x=y
		err    string
	}{
		{nil, []pq.CompressionCodec{1, 1, 1, 1}, ""},
		{[]string{"zstd"}, []pq.CompressionCodec{6, 6, 6, 6}, ""},
		{[]string{"zstd", "a=none", "m>value=gzip", "l.x=y=lz4_raw"}, []pq.CompressionCodec{0, 6, 2, 7}, ""},
		{[]string{"a/int=none", "gzip"}, []pq.CompressionCodec{0, 2, 2, 2}, ""},
		{[]string{"lzo"}, nil, `"lzo" is not one of snappy, zstd, gzip, lz4_raw, none`},
		{[]string{"=zstd"}, nil, "the column before = is missing"},
		{[]string{"b=zstd"}, nil, "--compression b=zstd: there is no such column"},
		{[]string{"m=zstd"}, nil, "no such column with values"},
	} {
		doc, err := Format.Options(map[string][]string{"compression": tt.chosen})
		var got []pq.CompressionCodec
		if err == nil {
			o, parseErr := parseOptions(doc)
			testenv.Must(t, parseErr)
			var leaves []leafOptions
			leaves, err = o.leaves(tree.leaves)
			for _, l := range leaves {
				got = append(got, l.codec)
			}
		}
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: got the error %v, want %q", tt.chosen, err, tt.err)
			}
			continue
		}
		testenv.Must(t, err)
		for i := range tt.want {
			if got[i] != tt.want[i] {
				t.Errorf("%q: column %d has the codec %v, want %v", tt.chosen, i, got[i], tt.want[i])
			}
		}
	}
	for _, doc := range []string{`{"compression":"lzo"}`, `{"other":1}`, `[`, `{"encodings":{"a":"b"}}`, `{"page_version":3}`} {
		if _, err := Format.Writer([]byte(doc)); err == nil {
			t.Errorf("the options %s are accepted", doc)
		}
	}
	for doc, want := range map[string]string{
		`{"compression":"gzip"}`:                "compression gzip",
		`{"page_version":2}`:                    "compression snappy, pages of version 2",
		`{"encodings":{"a":"rle","b":"plain"}}`: "compression snappy, encodings of columns: 2",
	} {
		if got := Format.Describe([]byte(doc)); got != want {
			t.Errorf("%s is described as %q", doc, got)
		}
	}
}

func TestEncodingOptions(t *testing.T) {
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"i","type":"int"},{"name":"d","type":"double"},{"name":"b","type":"boolean"},
		{"name":"s","type":["null","string"]},{"name":"f","type":{"type":"fixed","name":"F","size":2}},{"name":"n","type":"null"},
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}]}`, timesExact)
	testenv.Must(t, err)
	for _, tt := range []struct {
		encodings []string
		version   string
		document  string // empty: an error of the options alone
		fit       string // the error about the columns
	}{
		{nil, "1", `{}`, ""},
		{[]string{"i=delta_binary_packed", "s=delta_byte_array", "b=rle"}, "2", `{"encodings":{"b":"rle","i":"delta_binary_packed","s":"delta_byte_array"},"page_version":2}`, ""},
		{[]string{"i=byte_stream_split", "d=plain", "s/string=dictionary", "f=delta_byte_array", "n=plain", "e=delta_length_byte_array"}, "1", "{", ""},
		{[]string{"plain"}, "1", "", `--encoding "plain" is not of the form PATH=ENCODING`},
		{[]string{"=plain"}, "1", "", `--encoding "=plain": the column before = is missing`},
		{[]string{"i=delta"}, "1", "", `--encoding i="delta" is not one of dictionary, plain, rle, delta_binary_packed,`},
		{[]string{"i=rle_dictionary"}, "1", "", "is not one of"},
		{nil, "3", "", `--page-version "3" is not one of 1, 2`},
		{[]string{"x=plain"}, "1", "{", "--encoding x=plain: there is no such column with values"},
		{[]string{"i=rle"}, "1", "{", `column "i" are of the type INT32, which has the encodings dictionary, plain, delta_binary_packed, byte_stream_split`},
		{[]string{"d=delta_binary_packed"}, "1", "{", "DOUBLE, which has the encodings dictionary, plain, byte_stream_split"},
		{[]string{"b=dictionary"}, "1", "{", "BOOLEAN, which has the encodings plain, rle"},
		{[]string{"s=byte_stream_split"}, "1", "{", "BYTE_ARRAY, which has the encodings dictionary, plain, delta_length_byte_array, delta_byte_array"},
		{[]string{"f=delta_length_byte_array"}, "1", "{", "FIXED_LEN_BYTE_ARRAY, which has the encodings dictionary, plain, delta_byte_array, byte_stream_split"},
		{[]string{"n=dictionary"}, "1", "{", "INT32, which has the encodings plain"},
		{[]string{"n=rle", "e=rle"}, "1", "{", `column "e"`},
		{[]string{"n=rle", "e=rle"}, "1", "{", `column "n"`},
	} {
		doc, err := Format.Options(map[string][]string{optionEncoding: tt.encodings, optionPageVersion: {tt.version}})
		if (err == nil) != (tt.document != "") || !strings.HasPrefix(string(doc), tt.document) {
			t.Errorf("%q, %s: %s, %v", tt.encodings, tt.version, doc, err)
		}
		if err == nil {
			o, parseErr := parseOptions(doc)
			testenv.Must(t, parseErr)
			_, err = o.leaves(tree.leaves)
		}
		if (err == nil) != (tt.fit == "") || err != nil && !strings.Contains(err.Error(), tt.fit) {
			t.Errorf("%q, %s: %v, want %q", tt.encodings, tt.version, err, tt.fit)
		}
	}
}

// A Bloom filter is refused for columns in which it would be wrong, or of no use.
func TestFilterOptions(t *testing.T) {
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"i","type":["null","int"]},{"name":"s","type":"string"},
		{"name":"f","type":"float"},{"name":"d","type":["null","double"]},{"name":"b","type":"boolean"},{"name":"n","type":"null"},
		{"name":"m","type":{"type":"map","values":"bytes"}},{"name":"e","type":{"type":"array","items":{"type":"record","name":"E","fields":[]}}},
		{"name":"dec","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
		{"name":"fix","type":{"type":"fixed","name":"F","size":4,"logicalType":"decimal","precision":9,"scale":2}},
		{"name":"long","type":{"type":"bytes","logicalType":"decimal","precision":50,"scale":2}}]}`, timesExact)
	testenv.Must(t, err)
	for _, tt := range []struct {
		chosen, err string
	}{
		{"", ""},
		{"i s s fix long m>key m>value", ""},
		{"i/int", ""},
		{"x", "--bloom-filter x: there is no such column"},
		{"m", "--bloom-filter m: "},
		{"f", `column "f" cannot have a Bloom filter: 0.0 and -0.0 are equal`},
		{"d", "0.0 and -0.0 are equal"},
		{"b", "it has only two values"},
		{"n", "it has only one value"},
		{"e", "it has only one value"},
		{"dec", "equal decimals can have different bytes"},
	} {
		doc, err := Format.Options(map[string][]string{optionFilter: strings.Fields(tt.chosen)})
		testenv.Must(t, err)
		o, err := parseOptions(doc)
		testenv.Must(t, err)
		leaves, err := o.leaves(tree.leaves)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: got the error %v, want %q", tt.chosen, err, tt.err)
			}
			continue
		}
		testenv.Must(t, err)
		for i, l := range tree.leaves {
			if want := strings.Contains(" "+tt.chosen+" ", " "+l.Name+" "); leaves[i].filtered != want && l.Name != "i/int" {
				t.Errorf("%q: column %s has a filter: %v", tt.chosen, l.Name, leaves[i].filtered)
			}
		}
	}
	one, err := Format.Options(map[string][]string{optionFilter: {"s", "i"}})
	testenv.Must(t, err)
	two, err := Format.Options(map[string][]string{optionFilter: {"i", "s", "i"}})
	testenv.Must(t, err)
	if string(one) != string(two) || Format.Describe(one) != "compression snappy, Bloom filters: 2" {
		t.Errorf("%s and %s, described as %q", one, two, Format.Describe(one))
	}
}
