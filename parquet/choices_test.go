package parquet

import (
	"strings"
	"testing"
)

// Options with one of a few values.
func TestChoices(t *testing.T) {
	for name, wrong := range map[string]string{
		optionTimes: "is not one of exact, spark, iceberg",
	} {
		if _, err := Format.Options(map[string][]string{name: {"hive"}}); err == nil || !strings.Contains(err.Error(), "--"+name+` "hive" `+wrong) {
			t.Errorf("--%s hive: %v", name, err)
		}
	}
	for _, doc := range []string{`{"times":"hive"}`} {
		if _, err := Format.Writer([]byte(doc)); err == nil {
			t.Errorf("the options %s are accepted", doc)
		}
	}
	for doc, want := range map[string]string{`{"times":"spark"}`: "times spark"} {
		if got := Format.Describe([]byte(doc)); got != "compression snappy, "+want {
			t.Errorf("%s is described as %q, want %q", doc, got, want)
		}
	}
}
