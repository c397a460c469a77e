package datafile

import (
	"strings"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"
)

// File is a file to be added to a table.
type File struct {
	URI   string
	Bytes int64
	// Partition has the value of each field of the partition spec by the ID of the field.
	Partition map[int]any
	Footer    *pq.FileMetaData
}

// New returns the entry of a file in a table.
func New(f *File, schema *iceberg.Schema, spec iceberg.PartitionSpec) (iceberg.DataFile, error) {
	b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentData, f.URI, iceberg.ParquetFile,
		f.Partition, logicalTypes(schema, spec), nil, f.Footer.NumRows, f.Bytes)
	if err != nil {
		return nil, err
	}
	m, columns := newMetrics(), leaves(f.Footer.Schema)
	var offsets []int64
	for i := range f.Footer.RowGroups {
		g := &f.Footer.RowGroups[i]
		offsets = append(offsets, g.FileOffset)
		for c := range g.Columns {
			m.add(schema, columns[c], &g.Columns[c].MetaData)
		}
	}
	//guard: leaves out bounds that are those of one row group among several
	if len(f.Footer.RowGroups) > 1 {
		m.lower, m.upper = nil, nil
	}
	return b.ColumnSizes(m.sizes).ValueCounts(m.values).NullValueCounts(m.nulls).NaNValueCounts(m.nans).
		LowerBoundValues(m.lower).UpperBoundValues(m.upper).SplitOffsets(offsets).Build(), nil
}

// logicalTypes returns the Avro logical types of the partition's fields by their IDs.
func logicalTypes(schema *iceberg.Schema, spec iceberg.PartitionSpec) map[int]string {
	types := make(map[int]string)
	for _, p := range spec.Fields() {
		if t, ok := schema.FindTypeByID(p.SourceID()); ok && t.Equals(iceberg.PrimitiveTypes.Date) {
			types[p.FieldID] = "date"
		}
	}
	return types
}

// leaves returns the elements of column chunks.
func leaves(schema []pq.SchemaElement) (all []*pq.SchemaElement) {
	for i := range schema {
		if schema[i].Type.Valid {
			all = append(all, &schema[i])
		}
	}
	return all
}

// metrics are figures of a file's columns by the IDs of the columns.
type metrics struct {
	sizes, values, nulls, nans map[int]int64
	lower, upper               map[int][]byte
}

func newMetrics() *metrics {
	return &metrics{
		sizes: make(map[int]int64), values: make(map[int]int64), nulls: make(map[int]int64), nans: make(map[int]int64),
		lower: make(map[int][]byte), upper: make(map[int][]byte),
	}
}

// add adds a column chunk.
func (m *metrics) add(schema *iceberg.Schema, leaf *pq.SchemaElement, chunk *pq.ColumnMetaData) {
	field, ok := schema.FindFieldByName(strings.Join(chunk.PathInSchema, "."))
	//guard: leaves out columns in lists and maps, whose paths in Parquet have more names
	if !ok {
		return
	}
	m.sizes[field.ID] += chunk.TotalCompressedSize
	m.values[field.ID] += chunk.NumValues
	m.nulls[field.ID] += chunk.Statistics.NullCount
	low, hasLow := bound(leaf, field.Type, chunk.Statistics.MinValue)
	high, hasHigh := bound(leaf, field.Type, chunk.Statistics.MaxValue)
	if hasLow {
		m.lower[field.ID] = low
	}
	if hasHigh {
		m.upper[field.ID] = high
	}
	switch field.Type.(type) {
	case iceberg.Float32Type, iceberg.Float64Type:
		// A column with NaN has no bounds.
		if hasLow && hasHigh {
			m.nans[field.ID] = 0
		}
	}
}
