package parquet

import (
	"fmt"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// schemaText returns a schema in the form in which Parquet's tools print it, with the highest
// levels of each leaf.
func schemaText(t *tree) string {
	var b strings.Builder
	at, leaf := 0, 0
	var node func(depth int)
	node = func(depth int) {
		e := t.elements[at]
		at++
		fmt.Fprintf(&b, "%s", strings.Repeat(" ", depth))
		if e.RepetitionType.Valid {
			fmt.Fprintf(&b, "%s ", strings.ToLower(e.RepetitionType.V.String()))
		}
		if e.Type.Valid {
			fmt.Fprintf(&b, "%s ", e.Type.V)
			if e.TypeLength.Valid {
				fmt.Fprintf(&b, "(%d) ", e.TypeLength.V)
			}
		}
		b.WriteString(e.Name)
		if e.LogicalType.Value != nil {
			fmt.Fprintf(&b, " (%s)", e.LogicalType.Value)
		}
		if e.Type.Valid {
			l := t.leaves[leaf]
			leaf++
			fmt.Fprintf(&b, " %d/%d", l.def, l.rep)
		}
		b.WriteByte('\n')
		for range e.NumChildren.V {
			node(depth + 1)
		}
	}
	node(0)
	return b.String()
}

func TestTree(t *testing.T) {
	for _, test := range []struct {
		name, fields, want string
		partial            bool
	}{
		{"simple types", `
			{"name":"b","type":"boolean"}, {"name":"i","type":"int"}, {"name":"l","type":"long"}, {"name":"f","type":"float"},
			{"name":"d","type":"double"}, {"name":"s","type":"string"}, {"name":"y","type":"bytes"}, {"name":"n","type":"null"},
			{"name":"x","type":{"type":"fixed","name":"X","size":5}}, {"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}}`, `
 required BOOLEAN b 0/0
 required INT32 i 0/0
 required INT64 l 0/0
 required FLOAT f 0/0
 required DOUBLE d 0/0
 required BYTE_ARRAY s (STRING) 0/0
 required BYTE_ARRAY y 0/0
 optional INT32 n 1/0
 required FIXED_LEN_BYTE_ARRAY (5) x 0/0
 required BYTE_ARRAY e (STRING) 0/0
`, false},
		{"logical types", `
			{"name":"d","type":{"type":"int","logicalType":"date"}}, {"name":"t","type":{"type":"long","logicalType":"time-micros"}},
			{"name":"u","type":["null",{"type":"long","logicalType":"timestamp-nanos"}]}, {"name":"l","type":{"type":"long","logicalType":"local-timestamp-millis"}},
			{"name":"c","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},
			{"name":"g","type":{"type":"bytes","logicalType":"decimal","precision":39}}, {"name":"i","type":{"type":"string","logicalType":"uuid"}}`, `
 required INT32 d (DATE) 0/0
 required INT64 t (TIME(isAdjustedToUTC=false,unit=MICROS)) 0/0
 optional INT64 u (TIMESTAMP(isAdjustedToUTC=true,unit=NANOS)) 1/0
 required INT64 l (TIMESTAMP(isAdjustedToUTC=false,unit=MILLIS)) 0/0
 required BYTE_ARRAY c (DECIMAL(9,2)) 0/0
 required BYTE_ARRAY g 0/0
 required BYTE_ARRAY i (STRING) 0/0
`, false},
		{"lists and maps", `
			{"name":"a","type":{"type":"array","items":["null","int"]}}, {"name":"z","type":{"type":"array","items":"null"}},
			{"name":"m","type":["null",{"type":"map","values":{"type":"array","items":"long"}}]}`, `
 required a (LIST)
  repeated list
   optional INT32 element 2/1
 required z (LIST)
  repeated list
   optional INT32 element 2/1
 optional m (MAP)
  repeated key_value
   required BYTE_ARRAY key (STRING) 2/1
   required value (LIST)
    repeated list
     required INT64 element 3/2
`, false},
		{"unions", `
			{"name":"u","type":["null","int",{"type":"record","name":"U","fields":[{"name":"s","type":"string"}]}]},
			{"name":"v","type":["int","string"]}`, `
 optional u
  optional INT32 member0 2/0
  optional member1
   required BYTE_ARRAY s (STRING) 2/0
 required v
  optional INT32 member0 1/0
  optional BYTE_ARRAY member1 (STRING) 1/0
`, false},
		{"records without fields", `
			{"name":"e","type":{"type":"record","name":"N","fields":[]}}, {"name":"o","type":["null","N"]},
			{"name":"a","type":{"type":"array","items":"N"}}, {"name":"m","type":{"type":"map","values":"N"}}, {"name":"i","type":"int"}`, `
 optional BOOLEAN o 1/0
 required a (LIST)
  repeated list
   required BOOLEAN element 1/1
 required m
  repeated key_value
   required BYTE_ARRAY key (STRING) 1/1
 required INT32 i 0/0
`, true},
		{"recursion", `{"name":"next","type":["null","R"]}, {"name":"i","type":"int"}`, `
 optional BYTE_ARRAY next 1/0
 required INT32 i 0/0
`, true},
	} {
		tree, err := newTree(`{"type":"record","name":"R","namespace":"n","fields":[`+test.fields+`]}`, timesExact)
		testenv.Must(t, err)
		if got, want := schemaText(tree), "n.R"+test.want; got != want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, want)
		}
		if tree.partial != test.partial {
			t.Errorf("%s: partial %t", test.name, tree.partial)
		}
		for i, l := range tree.leafOf {
			if l < 0 {
				t.Errorf("%s: column %s has no leaf", test.name, tree.mapping.Columns[i].Name)
			}
		}
	}
}

// TestTreeOfOtherRows checks rows that are not records.
func TestTreeOfOtherRows(t *testing.T) {
	tree, err := newTree(`{"type":"array","items":"int"}`, timesExact)
	testenv.Must(t, err)
	if got := schemaText(tree); !strings.Contains(got, "repeated list") || len(tree.leaves) != 1 || tree.elements[0].NumChildren.V != 1 {
		t.Error(got)
	}
}

// TestUnmarshalChecks checks that a document is refused that is cut or needs much memory.
func TestUnmarshalChecks(t *testing.T) {
	whole, err := marshal(&pq.OffsetIndex{PageLocations: []pq.PageLocation{{Offset: 1 << 40, CompressedPageSize: 7}}})
	testenv.Must(t, err)
	var got pq.OffsetIndex
	if n, err := unmarshal("f", 0, append(whole, 9), &got); err != nil || n != len(whole) || got.PageLocations[0].Offset != 1<<40 {
		t.Errorf("got %+v, %d bytes, %v", got, n, err)
	}
	for n := range whole {
		if _, err := unmarshal("f", 0, whole[:n], new(pq.OffsetIndex)); err == nil {
			t.Errorf("%d of %d bytes are a document", n, len(whole))
		}
	}
	for name, b := range map[string]string{
		"a long list":          "\x19\xfc\xff\xff\xff\x7f",
		"many structures":      "\x19\xfc\x20" + strings.Repeat("\x00", 33),
		"deep":                 strings.Repeat("\x1c", 20) + strings.Repeat("\x00", 21),
		"a map":                "\x1b\x00\x00",
		"a string without end": "\x18\xff\xff\xff\xff\x0f",
	} {
		if _, err := unmarshal("f", 0, []byte(b), new(pq.FileMetaData)); err == nil {
			t.Errorf("%s is a document", name)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	whole, err := marshal(&pq.FileMetaData{Schema: []pq.SchemaElement{{Name: "r"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, v := range []any{new(pq.FileMetaData), new(pq.PageHeader), new(pq.ColumnIndex), new(pq.OffsetIndex), new(pq.BloomFilterHeader)} {
			_, _ = unmarshal("f", 0, b, v)
		}
	})
}

// TestFooterChecksum checks that the footer's checksum covers the whole footer.
func TestFooterChecksum(t *testing.T) {
	var s checksums
	s.add([]byte("header"))
	meta := &pq.FileMetaData{Version: 2, NumRows: 5, CreatedBy: createdBy, Schema: []pq.SchemaElement{{Name: "r"}}}
	footer, err := s.footer(meta)
	testenv.Must(t, err)
	read := func(b []byte) (footerChecksums, error) {
		var m pq.FileMetaData
		if _, err := unmarshal("f", 0, b, &m); err != nil {
			return footerChecksums{}, err
		}
		return readChecksums("f", 0, b, &m)
	}
	if got, err := read(footer); err != nil || got.size != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range footer {
		for bit := range 8 {
			changed := append([]byte(nil), footer...)
			changed[i] ^= 1 << bit
			if _, err := read(changed); err == nil {
				t.Errorf("bit %d of byte %d is not covered", bit, i)
			}
		}
	}
	meta.CreatedBy = "parquet-cpp-arrow version 26.0.1"
	if got, err := readChecksums("f", 0, footer, meta); err != nil || got.size != -1 {
		t.Errorf("copied metadata: %+v, %v", got, err)
	}
	// Without the key, the file is one of another writer.
	if got, err := readChecksums("f", 0, []byte("of another writer"), &pq.FileMetaData{}); err != nil || got.size != -1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Parts with the same schema share its tree, unless their times are stored otherwise.
func TestTreesAreShared(t *testing.T) {
	file := smallFile(t, "none")
	a, b := mustOpen(t, file), mustOpen(t, file)
	if a.tree != b.tree {
		t.Error("each part has its own tree")
	}
	if other, err := newTree(a.schema, timesSpark); err != nil || other == a.tree || other.times != timesSpark {
		t.Errorf("times make no difference: %v", err)
	}
}
