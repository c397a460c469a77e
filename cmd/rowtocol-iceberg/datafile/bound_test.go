package datafile

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"
)

func le32(v int32) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }
func le64(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

func stamp(unit pq.TimeUnit) pq.LogicalType {
	return pq.LogicalType{Value: &pq.TimestampType{Unit: unit}}
}

func TestBound(t *testing.T) {
	millis := stamp(pq.TimeUnit{Value: &pq.MilliSeconds{}})
	micros := stamp(pq.TimeUnit{Value: &pq.MicroSeconds{}})
	p := iceberg.PrimitiveTypes
	for _, tt := range []struct {
		name       string
		annotation pq.LogicalType
		to         iceberg.Type
		from, want []byte // want is nil if there is no bound
	}{
		{"unknown", pq.LogicalType{}, p.Int32, nil, nil},
		{"boolean", pq.LogicalType{}, p.Bool, []byte{1}, []byte{1}},
		{"int", pq.LogicalType{}, p.Int32, le32(-5), le32(-5)},
		{"int as long", pq.LogicalType{}, p.Int64, le32(-5), le64(-5)},
		{"long", pq.LogicalType{}, p.Int64, le64(1 << 40), le64(1 << 40)},
		{"date", pq.LogicalType{}, p.Date, le32(7), le32(7)},
		{"time", pq.LogicalType{}, p.Time, le64(7), le64(7)},
		{"micros", micros, p.TimestampTz, le64(-7), le64(-7)},
		{"millis", millis, p.TimestampTz, le64(-7), le64(-7000)},
		{"local millis", millis, p.Timestamp, le64(7), le64(7000)},
		{"too many millis", millis, p.Timestamp, le64(math.MaxInt64/1000 + 1), nil},
		{"too few millis", millis, p.Timestamp, le64(math.MinInt64/1000 - 1), nil},
		{"float", pq.LogicalType{}, p.Float32, le32(int32(math.Float32bits(0.5))), le32(int32(math.Float32bits(0.5)))},
		{"float as double", pq.LogicalType{}, p.Float64, le32(int32(math.Float32bits(0.5))), le64(int64(math.Float64bits(0.5)))},
		{"text", pq.LogicalType{}, p.String, []byte("é"), []byte("é")},
		{"no text", pq.LogicalType{}, p.String, []byte("é")[:1], nil},
		{"empty text", pq.LogicalType{}, p.String, []byte{}, []byte{}},
		{"binary", pq.LogicalType{}, p.Binary, []byte{0xff}, []byte{0xff}},
		{"fixed", pq.LogicalType{}, iceberg.FixedTypeOf(2), []byte{1, 2}, []byte{1, 2}},
		{"cut fixed", pq.LogicalType{}, iceberg.FixedTypeOf(3), []byte{1, 2}, nil},
		{"decimal", pq.LogicalType{}, iceberg.DecimalTypeOf(9, 2), []byte{0, 0, 0x80}, []byte{0, 0x80}},
		{"negative decimal", pq.LogicalType{}, iceberg.DecimalTypeOf(9, 2), []byte{0xff, 0xff, 0x80}, []byte{0x80}},
		{"zero", pq.LogicalType{}, iceberg.DecimalTypeOf(9, 2), []byte{}, []byte{0}},
		{"list", pq.LogicalType{}, &iceberg.ListType{}, le32(1), nil},
	} {
		got, ok := bound(&pq.SchemaElement{LogicalType: tt.annotation}, tt.to, tt.from)
		if ok != (tt.want != nil) || ok && !bytes.Equal(got, tt.want) {
			t.Errorf("%s: %x, %t; want %x", tt.name, got, ok, tt.want)
		}
		if !ok || tt.to.Equals(p.Binary) {
			continue
		}
		if _, err := iceberg.LiteralFromBytes(tt.to, got); err != nil {
			t.Errorf("%s: iceberg-go refuses it: %v", tt.name, err)
		}
	}
}

// Columns of lists have no figures, and a column with NaN has no count of them.
func TestMetrics(t *testing.T) {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "l", Type: &iceberg.ListType{ElementID: 2, Element: iceberg.PrimitiveTypes.Int32}},
		iceberg.NestedField{ID: 3, Name: "r", Type: &iceberg.StructType{FieldList: []iceberg.NestedField{{ID: 4, Name: "x", Type: iceberg.PrimitiveTypes.Float64}}}},
	)
	m := newMetrics()
	leaf := &pq.SchemaElement{}
	m.add(schema, leaf, &pq.ColumnMetaData{PathInSchema: []string{"l", "list", "element"}, NumValues: 9})
	m.add(schema, leaf, &pq.ColumnMetaData{PathInSchema: []string{"r", "x"}, NumValues: 7, TotalCompressedSize: 70, Statistics: pq.Statistics{NullCount: 2}})
	if len(m.values) != 1 || m.values[4] != 7 || m.nulls[4] != 2 || m.sizes[4] != 70 || len(m.nans)+len(m.lower)+len(m.upper) != 0 {
		t.Errorf("%+v", m)
	}
	m.add(schema, leaf, &pq.ColumnMetaData{PathInSchema: []string{"r", "x"}, Statistics: pq.Statistics{MinValue: le64(0), MaxValue: le64(0)}})
	if n, ok := m.nans[4]; !ok || n != 0 {
		t.Errorf("NaN: %d, %t", n, ok)
	}
}

// The bounds of one of several row groups are not those of the file.
func TestRowGroups(t *testing.T) {
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "x", Type: iceberg.PrimitiveTypes.Int64})
	group := func(offset, v int64) pq.RowGroup {
		return pq.RowGroup{FileOffset: offset, NumRows: 5, Columns: []pq.ColumnChunk{{MetaData: pq.ColumnMetaData{
			PathInSchema: []string{"x"}, NumValues: 5, Statistics: pq.Statistics{MinValue: le64(v), MaxValue: le64(v)}}}}}
	}
	elements := make([]pq.SchemaElement, 2)
	elements[1].Type.Set(pq.Int64)
	for n := 1; n <= 2; n++ {
		footer := &pq.FileMetaData{Schema: elements, NumRows: int64(5 * n)}
		for i := range n {
			footer.RowGroups = append(footer.RowGroups, group(int64(4+100*i), int64(i)))
		}
		d, err := New(&File{URI: "file:///x.parquet", Bytes: 300, Footer: footer}, schema, iceberg.NewPartitionSpec())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.LowerBoundValues()) != 2-n || len(d.UpperBoundValues()) != 2-n || d.ValueCounts()[1] != int64(5*n) || len(d.SplitOffsets()) != n {
			t.Errorf("%d row groups: bounds %v, values %v, offsets %v", n, d.LowerBoundValues(), d.ValueCounts(), d.SplitOffsets())
		}
	}
}
