package arrow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// mapping returns the mapping of a record with one field of a type.
func mapping(t *testing.T, typ string) *shred.Mapping {
	t.Helper()
	m := avrotest.Map(t, `{"type":"record","name":"R","fields":[{"name":"f","type":`+typ+`}]}`)
	return m
}

// fieldArray returns the array of a field of a type from the vectors of its columns.
func fieldArray(t *testing.T, typ string, n int, form Form, vectors ...column.Vector) (arrow.Array, error) {
	t.Helper()
	return fieldArrayWithin(t, typ, n, form, func(int64) error { return nil }, vectors...)
}

// source is a Source of vectors.
type source struct {
	rows    int
	vectors []column.Vector
	reserve func(n int64) error
}

func (s *source) Rows() int                      { return s.rows }
func (s *source) Vector(col int) *column.Vector  { return &s.vectors[col] }
func (s *source) Origin(row int) (string, int64) { return "part", int64(row) }
func (s *source) ReserveBatch(n int64) error     { return s.reserve(n) }

// fieldArrayWithin is fieldArray with limited memory. It checks that the memory of the
// vectors is returned once, with the last array or with the error.
func fieldArrayWithin(t *testing.T, typ string, n int, form Form, reserve func(int64) error, vectors ...column.Vector) (arrow.Array, error) {
	t.Helper()
	s, err := NewSchema(mapping(t, typ), form, reserve)
	if err != nil {
		return nil, err
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	returned := 0
	check := func() {
		t.Helper()
		if mem.AssertSize(t, 0); returned != 1 {
			t.Errorf("the memory of the vectors is returned %d times", returned)
		}
	}
	rows, err := s.NewMaker(mem).Make(&source{n, vectors, reserve}, func() { returned++ })
	if err != nil {
		check()
		return nil, err
	}
	defer rows.Release()
	a := rows.Column(0)
	a.Retain()
	t.Cleanup(func() {
		a.Release()
		check()
	})
	return a, nil
}

// texts returns a vector of strings or bytes.
func texts(values ...string) column.Vector {
	v := column.Vector{Offsets: []int32{0}, Values: len(values)}
	for _, s := range values {
		v.Data = append(v.Data, s...)
		v.Offsets = append(v.Offsets, int32(len(v.Data)))
	}
	return v
}

func lengths(v column.Vector, lengths ...int32) column.Vector {
	v.Lengths = lengths
	return v
}

// If columns contradict each other or the schema, the error names the column.
func TestContradictions(t *testing.T) {
	one := column.Vector{Longs: []int64{7}, Values: 1}
	cases := []struct {
		name, typ string
		n         int
		vectors   []column.Vector
		column    string
	}{
		{"two branches", `["int","long"]`, 1, []column.Vector{lengths(column.Vector{Ints: []int32{1}, Values: 1}, 1), lengths(one, 1)}, "f/long"},
		{"no branch", `["int","long"]`, 1, []column.Vector{lengths(column.Vector{}, 0), lengths(column.Vector{}, 0)}, "f/long"},
		{"absent without null", `["long"]`, 1, []column.Vector{lengths(column.Vector{}, 0)}, "f/long"},
		{"absent without null or values", `[{"type":"record","name":"E","fields":[]}]`, 1, []column.Vector{lengths(column.Vector{}, 0)}, "f/E"},
		{"digits", `{"type":"bytes","logicalType":"decimal","precision":2}`, 1, []column.Vector{texts("\x64")}, "f"},
		{"bytes of digits", `{"type":"bytes","logicalType":"decimal","precision":38}`, 1, []column.Vector{texts("\x01" + strings.Repeat("\x00", 16))}, "f"},
		{"sign cut off", `{"type":"bytes","logicalType":"decimal","precision":38}`, 1, []column.Vector{texts("\x00\x80" + strings.Repeat("\x00", 15))}, "f"},
	}
	for _, c := range cases {
		for _, form := range []Form{Unions, Structs, Spark} {
			_, err := fieldArray(t, c.typ, c.n, form, c.vectors...)
			if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Column != c.column {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// Absent values take as much room as others in an array of a fixed type.
func TestAbsentValuesAreBounded(t *testing.T) {
	const size, n = 1 << 20, maxArray>>20 + 1
	_, err := fieldArray(t, fmt.Sprintf(`["null",{"type":"fixed","name":"F","size":%d}]`, size), n, Unions,
		lengths(texts(), make([]int32, n)...))
	if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != damage.Unsupported {
		t.Errorf("%d absent values of %d bytes: %v", n, size, err)
	}
}

func TestDecimals(t *testing.T) {
	for _, precision := range []int{1, 18, 38, 39, 76} {
		limit := new(big.Int).Sub(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil), big.NewInt(1))
		numbers := []*big.Int{limit, new(big.Int).Neg(limit), big.NewInt(0), big.NewInt(-1), big.NewInt(9)}
		var encoded []string
		for i, n := range numbers {
			whole := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 320), big.NewInt(1)))
			bytes := whole.FillBytes(make([]byte, 40))
			if i%2 == 0 { // as short as possible
				for len(bytes) > 1 && (bytes[0] == 0 && bytes[1] < 0x80) {
					bytes = bytes[1:]
				}
			}
			encoded = append(encoded, string(bytes))
		}
		numbers, encoded = append(numbers, big.NewInt(0)), append(encoded, "")
		a, err := fieldArray(t, fmt.Sprintf(`{"type":"bytes","logicalType":"decimal","precision":%d}`, precision), len(encoded), Unions, texts(encoded...))
		testenv.Must(t, err)
		for i, n := range numbers {
			if got := a.ValueStr(i); got != n.String() {
				t.Errorf("precision %d: %s, want %s", precision, got, n)
			}
		}
	}
}

func TestOddValues(t *testing.T) {
	cases := []struct {
		name, typ string
		vectors   []column.Vector
		n         int
		want      string
	}{
		{"text that is not UTF-8", `"string"`, []column.Vector{texts("a\xff", "ä", "\xc3", "\xa4", "")}, 5, `["a�","ä","�","�",""]`},
		{"halves of a character", `"string"`, []column.Vector{texts("\xc3", "\xa4")}, 2, `["�","�"]`},
		{"equal symbols", `{"type":"enum","name":"E","symbols":["A","B","A","C"]}`, []column.Vector{{Ints: []int32{3, 2, 1, 0}, Values: 4}}, 4, `["C","A","B","A"]`},
		{"recursive", `["null","R"]`, []column.Vector{lengths(texts("\x00"), 1, 0)}, 2, `["AA==",null]`},
		{"decimal of too many digits", `{"type":"bytes","logicalType":"decimal","precision":77}`, []column.Vector{texts("\x01")}, 1, `["AQ=="]`},
		{"no rows", `["null",{"type":"map","values":["int","string"]}]`, make([]column.Vector, 5), 0, `[]`},
	}
	for _, c := range cases {
		a, err := fieldArray(t, c.typ, c.n, Structs, c.vectors...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := json.Marshal(a); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, err)
		}
	}
}

// The indices of an enum are as wide as its symbols need.
func TestManySymbols(t *testing.T) {
	for n, index := range map[int]arrow.Type{128: arrow.INT8, 129: arrow.INT16, 1 << 15: arrow.INT16, 1<<15 + 1: arrow.INT32} {
		symbols := make([]string, n)
		for i := range symbols {
			symbols[i] = fmt.Sprintf(`"S%d"`, i)
		}
		typ := `["null",{"type":"enum","name":"E","symbols":[` + strings.Join(symbols, ",") + `]}]`
		last := int32(n - 1)
		a, err := fieldArray(t, typ, 3, Structs, lengths(column.Vector{Ints: []int32{last, 1}, Values: 2}, 1, 0, 1))
		if err != nil {
			t.Errorf("%d symbols: %v", n, err)
			continue
		}
		if got := a.DataType().(*arrow.DictionaryType).IndexType.ID(); got != index {
			t.Errorf("%d symbols: indices %s, want %s", n, got, index)
		}
		if got, err := json.Marshal(a); err != nil || string(got) != fmt.Sprintf(`[%s,null,"S1"]`, symbols[last]) {
			t.Errorf("%d symbols: %s (%v)", n, got, err)
		}
	}
}

// Memory is reserved for absent values, which take none in the vectors.
func TestAbsentValuesAreReserved(t *testing.T) {
	const size, n = 1 << 10, 100
	refused := errors.New("no memory")
	var reserved int64
	_, err := fieldArrayWithin(t, fmt.Sprintf(`["null",{"type":"fixed","name":"F","size":%d}]`, size), n, Unions, func(n int64) error {
		if reserved += n; n >= size {
			return refused
		}
		return nil
	}, lengths(texts(), make([]int32, n)...))
	if !errors.Is(err, refused) || reserved != size*n {
		t.Errorf("%d bytes reserved, %v", reserved, err)
	}
}

// A dictionary is reserved once for all fields and batches that have it.
func TestDictionariesAreReserved(t *testing.T) {
	typ := `{"type":"record","name":"In","fields":[{"name":"a","type":{"type":"enum","name":"E","symbols":["one","two"]}},` +
		`{"name":"b","type":"E"},{"name":"c","type":["null","E"]}]}`
	one := column.Vector{Ints: []int32{1}, Values: 1}
	const want = 6 + 2*symbolMemory
	for _, form := range []Form{Unions, Structs} {
		var reserved int64
		a, err := fieldArrayWithin(t, typ, 1, form, func(n int64) error {
			reserved += n
			return nil
		}, one, one, lengths(one, 1))
		if err != nil || reserved != want {
			t.Fatalf("form %d: %d bytes reserved, want %d: %v", form, reserved, want, err)
		}
		in := a.(*array.Struct)
		for i := range in.NumField() {
			dictionary := in.Field(i).(*array.Dictionary)
			if dictionary.Data().Dictionary() != in.Field(0).Data().Dictionary() || dictionary.Dictionary().ValueStr(dictionary.GetValueIndex(0)) != "two" {
				t.Errorf("form %d: field %d has the dictionary %v", form, i, dictionary.Dictionary())
			}
		}
	}
	refused := errors.New("no memory")
	if _, err := fieldArrayWithin(t, typ, 1, Unions, func(int64) error { return refused }, one, one, lengths(one, 1)); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// Types may be nested as deeply as Arrow's streams allow. A writer would detect a deeper
// one only after it has written the schema.
func TestDepth(t *testing.T) {
	for _, c := range []struct {
		name, around, path string
		most               int
	}{
		{"record", `{"type":"record","name":"R%d","fields":[{"name":"g","type":%s}]}`, ".g", 63},
		{"array", `{"type":"array","items":%[2]s}`, "[]", 63},
		{"map in a record", `{"type":"record","name":"R%d","fields":[{"name":"g","type":%s}]}`, ".g", 61},
		{"union", `["null","string",{"type":"record","name":"R%d","fields":[{"name":"g","type":%s}]}]`, ".g", 31},
		{"nullable", `["null",{"type":"record","name":"R%d","fields":[{"name":"g","type":%s}]}]`, ".g", 63},
	} {
		typ := `"int"`
		if c.name == "map in a record" {
			typ = `{"type":"map","values":"int"}`
		}
		for i := range c.most {
			typ = fmt.Sprintf(c.around, i, typ)
		}
		for _, form := range []Form{Unions, Structs} {
			if err := writeEmpty(t, typ, form); err != nil {
				t.Errorf("%s, form %d: %v", c.name, form, err)
			}
			err := writeEmpty(t, fmt.Sprintf(c.around, c.most, typ), form)
			if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != damage.Unsupported || !strings.HasPrefix(e.Path, "f"+strings.Repeat(c.path, c.most+1)) {
				t.Errorf("%s, form %d: %v", c.name, form, err)
			}
		}
	}
}

// Each map around a type doubles the memory that the library takes for its arrays.
func TestNestedMaps(t *testing.T) {
	typ := `{"type":"array","items":"int"}`
	for range maxMaps {
		typ = `{"type":"map","values":` + typ + `}`
	}
	if err := writeEmpty(t, typ, Unions); err != nil {
		t.Error(err)
	}
	err := writeEmpty(t, `{"type":"map","values":`+typ+`}`, Structs)
	if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != damage.Unsupported || e.Path != "f"+strings.Repeat("{}", maxMaps) {
		t.Error(err)
	}
}

// writeEmpty writes an empty batch of one field of a type as a stream.
func writeEmpty(t *testing.T, typ string, form Form) error {
	t.Helper()
	none := func(int64) error { return nil }
	m := mapping(t, typ)
	s, err := NewSchema(m, form, none)
	if err != nil {
		return err
	}
	rows, err := s.NewMaker(memory.NewGoAllocator()).Make(&source{0, make([]column.Vector, len(m.Columns)), none}, func() {})
	testenv.Must(t, err)
	w := NewStream(io.Discard, s.Arrow())
	if err := w.Write(rows); err != nil {
		t.Errorf("a type that is not too deep cannot be written: %v", err)
	}
	return w.Close()
}

// A dense union has at most 128 branches, a struct any number.
func TestManyBranches(t *testing.T) {
	branches, vectors := []string{`"null"`}, []column.Vector{}
	for i := range 130 {
		branches = append(branches, fmt.Sprintf(`{"type":"fixed","name":"a.F%d","size":1}`, i))
		vectors = append(vectors, lengths(column.Vector{}, 0))
	}
	typ := "[" + strings.Join(branches, ",") + "]"
	_, err := fieldArray(t, typ, 1, Unions, vectors...)
	if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != damage.Unsupported {
		t.Error(err)
	}
	if a, err := fieldArray(t, typ, 1, Structs, vectors...); err != nil || !a.IsNull(0) {
		t.Error(a, err)
	}
}

// Rows that are not records become one field.
func TestRowsOfOtherTypes(t *testing.T) {
	cases := map[string]string{
		`"long"`:                         "value: type=int64",
		`["null","string"]`:              "value: type=utf8, nullable",
		`["int","string"]`:               "value: type=struct<int: int32 nullable, string: utf8 nullable>",
		`{"type":"array","items":"int"}`: "value: type=list<item: int32>",
	}
	for typ, want := range cases {
		m := avrotest.Map(t, typ)
		c := compiler{form: Structs}
		fields, makers, err := c.rows(m)
		if err != nil || len(fields) != 1 || len(makers) != 1 || fields[0].String() != want {
			t.Errorf("%s: %v, %v", typ, fields, err)
		}
	}
}

func TestBranchNames(t *testing.T) {
	s := avrotest.Parse(t, `["null","string",{"type":"fixed","name":"a.F","size":1},{"type":"fixed","name":"b.F","size":1},{"type":"fixed","name":"b.G","size":1}]`)
	if got := fmt.Sprint(branchNames(s.Root())); got != "[null string a.F b.F G]" {
		t.Error(got)
	}
}
