package dataset_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

// A key column has the same values in rows and in batches, with gaps and from any
// offset.
func TestKeysAsColumns(t *testing.T) {
	p := newForest(t, trevni.Format)
	root := p.grow(600, "s=b%20%C3%A9%zz/n=7", "s=/n=8", "s=__HIVE_DEFAULT_PARTITION__/n=-9")
	d := open(t, root, dataset.Options{Formats: formats})
	values := map[int64]string{1: `"b é%zz","n":7`, 601: `"","n":8`, 1201: `null,"n":-9`}
	// The empty name comes first, and digits and capitals before small letters.
	if got, err := lines(t, d, dataset.Query{Where: "id % 600 == 1", Limit: -1}); err != nil ||
		got != `{"id":601,"s":`+values[601]+`} {"id":1201,"s":`+values[1201]+`} {"id":1,"s":`+values[1]+`}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, q := range []dataset.Query{
		{Limit: -1}, {Limit: -1, Where: "s != null && id % 7 == 0"}, {Limit: 900, Offset: 250}, {Limit: -1, Where: `s == null`}, {Limit: -1, Where: `s == "" || n == 7`, Offset: 599, BatchRows: 13},
	} {
		want, _, err := scan(t, d, q)
		if err != nil || len(want) == 0 {
			t.Fatal(len(want), err)
		}
		b, err := d.Batches(t.Context(), q)
		testenv.Must(t, err)
		var got [][]byte
		for b.Next() {
			text := 0
			for i := range b.Rows() {
				row := binary.AppendVarint(nil, b.Vector(0).Longs[i])
				s := b.Vector(1)
				row = binary.AppendVarint(row, int64(s.Lengths[i]))
				if s.Lengths[i] == 1 {
					value := s.Data[s.Offsets[text]:s.Offsets[text+1]]
					row = append(binary.AppendVarint(row, int64(len(value))), value...)
					text++
				}
				got = append(got, binary.AppendVarint(row, b.Vector(2).Longs[i]))
			}
		}
		if b.Close(); b.Err() != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%+v: %d rows, want %d, %v", q, len(got), len(want), b.Err())
		}
	}
}

// The type of a key follows from its values in all directories.
func TestTypesOfKeys(t *testing.T) {
	p := newForest(t, trevni.Format)
	one := p.grow(1, "one") + "/one"
	const none = "__HIVE_DEFAULT_PARTITION__"
	for _, test := range []struct {
		values []string
		want   string // type and values
	}{
		{[]string{"7", "-8", "9223372036854775807"}, `"long" -8 7 9223372036854775807`},
		{[]string{"01", "2"}, `"long" 1 2`},
		{[]string{"7", none}, `["null","long"] 7 null`},
		{[]string{none}, `["null","string"] null`},
		{[]string{"9223372036854775808", "1"}, `"string" "1" "9223372036854775808"`},
		{[]string{"+1", "1"}, `"string" "+1" "1"`},
		{[]string{"1_0"}, `"string" "1_0"`},
		{[]string{"", "1"}, `"string" "" "1"`},
		{[]string{"2026-02-28", "1969-12-31"}, `{"logicalType":"date","type":"int"} "1969-12-31" "2026-02-28"`},
		{[]string{"2026-02-28", none}, `["null",{"logicalType":"date","type":"int"}] "2026-02-28" null`},
		{[]string{"2026-02-29"}, `"string" "2026-02-29"`},
		{[]string{"2026-02-01", "2026-2-2"}, `"string" "2026-02-01" "2026-2-2"`},
		{[]string{"2026-02-28", "7"}, `"string" "7" "2026-02-28"`},
		{[]string{"a%2Fb", "a=b", "%"}, `"string" "%" "a/b" "a=b"`},
		{[]string{"__hive_default_partition__"}, `"string" "__hive_default_partition__"`},
	} {
		root := t.TempDir()
		for _, v := range test.values {
			testenv.Must(t, os.CopyFS(filepath.Join(root, "k="+v), os.DirFS(one)))
		}
		d := open(t, root, dataset.Options{Formats: formats})
		_, typ, _ := strings.Cut(d.Schema().JSON(), `{"name":"k","type":`)
		typ, _, _ = strings.Cut(typ, `}],"name":"R"`)
		rows, err := lines(t, d, dataset.Query{Columns: []string{"k"}, Limit: -1})
		rows = strings.NewReplacer(`{"k":`, "", `}`, "").Replace(rows)
		if got := typ + " " + rows; err != nil || got != test.want {
			t.Errorf("%q: %s, %v, want %s", test.values, got, err, test.want)
		}
	}
}

// Keys come from the path below the arguments, after the first wildcard, and where the
// arguments differ.
func TestKeysOfPaths(t *testing.T) {
	p := newForest(t, trevni.Format)
	root := p.grow(1, "a=1/b=2", "a=1/b=10", "a=3/b=2", "plain")
	part := filepath.Join(root, "a=1/b=2", "part-*")
	for _, test := range []struct{ paths, want string }{
		{"/a=1", `{"id":1,"b":2} {"id":2,"b":10}`},
		{"/a=1/b=2", `{"id":1}`},
		{"/a=1/b=2 /a=1/b=2", `{"id":1} {"id":1}`},
		{"/a=*/b=2", `{"id":1,"a":1,"b":2} {"id":3,"a":3,"b":2}`},
		{"/a=1/b=*", `{"id":1,"b":2} {"id":2,"b":10}`},
		{"/a=[3]", `{"id":3,"a":3,"b":2}`},
		{"/*/b=*", `{"id":1,"a":1,"b":2} {"id":2,"a":1,"b":10} {"id":3,"a":3,"b":2}`},
		{"/a=3 /a=1", `{"id":3,"a":3,"b":2} {"id":1,"a":1,"b":2} {"id":2,"a":1,"b":10}`},
		{"/a=3/b=2 /a=1/b=2", `{"id":3,"a":3,"b":2} {"id":1,"a":1,"b":2}`},
		{"/a=1/b=10 /a=1/b=2", `{"id":2,"b":10} {"id":1,"b":2}`},
		{"/a=1 /a=3/b=*", `{"id":1,"a":1,"b":2} {"id":2,"a":1,"b":10} {"id":3,"a":3,"b":2}`},
		{"/a=1/b=2 /plain", `{"id":1} {"id":4}`},
		{"/plain /a=1/b=2 /a=3/b=2", `{"id":4} {"id":1} {"id":3}`},
		{part[len(root):], `{"id":1}`},
	} {
		paths := strings.Fields(test.paths)
		for i := range paths {
			paths[i] = root + paths[i]
		}
		wantLines(t, test.want, paths...)
	}
	for paths, text := range map[string]string{"/a=1 /plain": "plain", "/a=* /plain": "plain", "/*": "plain", "/none*": "none*", "/a=1 /a=1/none": "none", "/[": "["} {
		all := strings.Fields(paths)
		for i := range all {
			all[i] = root + all[i]
		}
		if _, err := openAll(t, all...); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", paths, err)
		}
	}
	if _, err := openAll(t, root+"/["); !errors.Is(err, dataset.ErrQuery) {
		t.Errorf("a bad pattern: %v", err)
	}
}

// Locations on two stores share no path, even if their paths are equal.
func TestKeysOnTwoStores(t *testing.T) {
	p := newForest(t, trevni.Format)
	root := p.grow(1, "a=1", "a=2")
	two := locations(store.Local(), root+"/a=1", root+"/a=1")
	far := storetest.NewFaulty(store.Local())
	two[1].Origin, two[1].Store = "far://", far
	d, err := dataset.Open(t.Context(), two, dataset.Options{Formats: formats})
	testenv.Must(t, err)
	if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != `{"id":1,"a":1} {"id":1,"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
	if n := far.Calls(storetest.Open); n != 1 {
		t.Errorf("%d files of the second store were opened", n)
	}
}

// A field of the rows takes precedence over a key of its name. Rows that are not
// records, or that contain records of their own type, get no keys.
func TestRowsWithoutKeys(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"record","name":"R","fields":[{"name":"a","type":"long"}]}`: `{"a":1,"b":3}`,
		`"long"`: `1`,
		`{"type":"record","name":"R","fields":[{"name":"n","type":["R","null"]}]}`: `{"n":null}`,
	} {
		dir := t.TempDir()
		m := avrotest.Map(t, schema)
		part := columnPart(t, trevni.Format, schema, m.Columns, 1, func(to *column.Buffers, _ int) {
			if m.Columns[0].Array {
				to.Cols[0].Absent()
			} else {
				to.Cols[0].AppendVarint(1)
			}
		})
		testenv.Must(t, os.Rename(filepath.Dir(part), mkdir(t, dir+"/a=2")+"/b=3"))
		d := open(t, dir, dataset.Options{Formats: formats, Partial: true})
		if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", schema, got, err, want)
		}
	}
}
