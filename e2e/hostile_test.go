package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHostile converts files that were made to exhaust memory, time or stack.
func TestHostile(t *testing.T) {
	const (
		long    = `"long"`
		arrays  = `{"type":"array","items":"null"}`
		list    = `{"type":"record","name":"L","fields":[{"name":"v","type":"int"},{"name":"next","type":["null","L"]}]}`
		empties = `{"type":"record","name":"E","fields":[{"name":"n","type":"null"}]}`
	)
	overflow := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	for _, c := range []struct {
		name, schema string
		rows         int64
		data         []byte
		flags        []string
	}{
		{"schema without columns", `{"type":"record","name":"E","fields":[]}`, 3, nil, nil},
		{"named records expand to 2^30 columns", doubling(30), 0, nil, nil},
		{"block of 2^60 rows without bytes", empties, 1 << 60, nil, nil},
		{"array of 2^31 nulls", arrays, 1, append(varints(nil, 1<<31), 0), nil},
		{"array of 2^62 nulls with a size", arrays, 1, append(varints(nil, -(1<<62), 0), 0), nil},
		{"array of 2^40 items that are not there", `{"type":"array","items":"long"}`, 1, varints(nil, 1<<40), nil},
		{"string of 2^62 bytes", `"string"`, 1, varints(nil, 1<<62), nil},
		{"negative string length", `"string"`, 1, varints(nil, -5), nil},
		{"varint of 11 bytes", long, 1, overflow, nil},
		{"int above 32 bits", `"int"`, 1, varints(nil, 1<<40), nil},
		{"union index out of range", `["null","int"]`, 1, varints(nil, 2), nil},
		{"enum ordinal out of range", `{"type":"enum","name":"E","symbols":["A"]}`, 1, varints(nil, 1), nil},
		{"boolean of 2", `"boolean"`, 1, []byte{2}, nil},
		{"rows left over", long, 1, varints(nil, 1, 2), nil},
		{"rows missing", long, 3, varints(nil, 1, 2), nil},
		{"schema of 10,000 levels", nested(10_000), 0, nil, nil},
		{"data of 10,000 levels", list, 1, nestedData(10_000), []string{"--recursive=bytes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeAvro(t, "hostile", c.schema, block{c.rows, c.data})
			dest := filepath.Join(t.TempDir(), "out")
			r, memory := runMeasured(t, append([]string{"convert", "--json", path, dest}, c.flags...)...)
			r.want(t, 3)
			if p := r.report(t); p.Error == nil || p.Error.File == "" || p.Error.Reason == "" {
				t.Errorf("the error is not located: %s", r.stderr)
			}
			info, err := os.Stat(path)
			must(t, err)
			if limit := 128<<20 + 32*info.Size(); memory > limit {
				t.Errorf("%d MiB of memory, want at most %d", memory>>20, limit>>20)
			}
			if r.elapsed > 30*time.Second {
				t.Errorf("took %s", r.elapsed)
			}
			if len(tree(t, dest)) > 0 {
				t.Errorf("%s was left over", dest)
			}
		})
	}
}

// doubling returns a schema of nested records with two fields each.
func doubling(levels int) string {
	s := `"long"`
	for i := range levels {
		s = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":%s}]}`, i, s, reference(i))
	}
	return s
}

func reference(level int) string {
	if level == 0 {
		return `"long"`
	}
	return fmt.Sprintf(`"R%d"`, level-1)
}

func nested(levels int) string {
	return strings.Repeat(`{"type":"array","items":`, levels) + `"int"` + strings.Repeat("}", levels)
}

func nestedData(levels int) []byte {
	var data []byte
	for range levels {
		data = varints(data, 1, 1)
	}
	return varints(data, 1, 0)
}

// TestOverlongVarints converts varints with needless bytes, which are valid.
func TestOverlongVarints(t *testing.T) {
	path := writeAvro(t, "overlong", `"long"`, block{2, []byte{0x82, 0x80, 0x00, 0x02}})
	dest := filepath.Join(t.TempDir(), "out")
	run(t, "convert", path, dest).want(t, 0)
	run(t, "verify", dest, "--against", path).want(t, 0)
}

// TestDamage truncates a file at every length, and appends to it.
func TestDamage(t *testing.T) {
	whole := readFile(t, "../testdata/real/list-columns.avro")
	cases := map[string][]byte{"one byte too many": append(whole[:len(whole):len(whole)], 0)}
	for _, n := range []int{0, 1, 3, 4, 5, len(whole) / 4, len(whole) / 2, len(whole) - 17, len(whole) - 16, len(whole) - 1} {
		cases[fmt.Sprintf("cut to %d bytes", n)] = whole[:n]
	}
	for name, data := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path, dest := filepath.Join(dir, "damaged.avro"), filepath.Join(dir, "out")
			must(t, os.WriteFile(path, data, 0o644))
			r := run(t, "convert", "--json", path, dest).want(t, 3)
			r.wantComplaint(t, "damaged.avro")
			if p := r.report(t); p.Error == nil || p.Error.Offset == nil {
				t.Errorf("the error has no offset: %s", r.stderr)
			}
			if _, err := os.Stat(dest); err == nil {
				t.Errorf("%s was left over", dest)
			}
		})
	}
}
