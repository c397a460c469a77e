package parquet

import (
	"strings"
	"testing"
)

// Options with one of a few values.
func TestChoices(t *testing.T) {
	for name, wrong := range map[string]string{
		optionTimes:       "is not one of exact, spark, iceberg",
		optionInvalidUTF8: "is not one of refuse, replace",
	} {
		if _, err := Format.Options(map[string][]string{name: {"hive"}}); err == nil || !strings.Contains(err.Error(), "--"+name+` "hive" `+wrong) {
			t.Errorf("--%s hive: %v", name, err)
		}
	}
	for _, doc := range []string{`{"times":"hive"}`, `{"invalid_utf8":"keep"}`} {
		if _, err := Format.Writer([]byte(doc)); err == nil {
			t.Errorf("the options %s are accepted", doc)
		}
	}
	for doc, want := range map[string]string{`{"times":"spark"}`: "times spark", `{"invalid_utf8":"replace"}`: "invalid UTF-8 replaced"} {
		if got := Format.Describe([]byte(doc)); got != "compression snappy, "+want {
			t.Errorf("%s is described as %q, want %q", doc, got, want)
		}
	}
}
