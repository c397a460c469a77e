package parquet

import (
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestOptions(t *testing.T) {
	tree, err := newTree(`{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"]},
		{"name":"m","type":{"type":"map","values":"string"}},{"name":"l","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"x=y","type":"int"}]}}}]}`)
	if err != nil { // names with = are not valid in Avro, but exist
		t.Fatal(err)
	}
	for _, tt := range []struct {
		chosen []string
		want   []format.CompressionCodec // a, m>key, m>value, l.x=y
		err    string
	}{
		{nil, []format.CompressionCodec{1, 1, 1, 1}, ""},
		{[]string{"zstd"}, []format.CompressionCodec{6, 6, 6, 6}, ""},
		{[]string{"zstd", "a=none", "m>value=gzip", "l.x=y=lz4_raw"}, []format.CompressionCodec{0, 6, 2, 7}, ""},
		{[]string{"a/int=none", "gzip"}, []format.CompressionCodec{0, 2, 2, 2}, ""},
		{[]string{"lzo"}, nil, `"lzo" is not one of snappy, zstd, gzip, lz4_raw, none`},
		{[]string{"=zstd"}, nil, "the column before = is missing"},
		{[]string{"b=zstd"}, nil, "--compression b=zstd: there is no such column"},
		{[]string{"m=zstd"}, nil, "no such column with values"},
	} {
		doc, err := Format.Options(map[string][]string{"compression": tt.chosen})
		var got []format.CompressionCodec
		if err == nil {
			o, parseErr := parseOptions(doc)
			testenv.Must(t, parseErr)
			got, err = o.codecs(tree.leaves)
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
	for _, doc := range []string{`{"compression":"lzo"}`, `{"other":1}`, `[`} {
		if _, err := Format.Writer([]byte(doc)); err == nil {
			t.Errorf("the options %s are accepted", doc)
		}
	}
	if got := Format.Describe([]byte(`{"compression":"gzip"}`)); got != "compression gzip" {
		t.Errorf("described as %q", got)
	}
}
