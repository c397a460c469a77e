package fields

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/job/failure"
)

// Of returns the columns of a file with this schema. They have no IDs.
func Of(schema []pq.SchemaElement) ([]iceberg.NestedField, error) {
	w := walk{left: schema[1:]}
	return w.group(int(schema[0].NumChildren.V))
}

// walk walks the elements of a schema, depth first.
type walk struct {
	left []pq.SchemaElement
	path []string
}

func (w *walk) group(children int) ([]iceberg.NestedField, error) {
	all := make([]iceberg.NestedField, 0, children)
	for range children {
		f, err := w.field()
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// field returns the next element, with the elements below it.
func (w *walk) field() (f iceberg.NestedField, err error) {
	e := &w.left[0]
	w.left, w.path = w.left[1:], append(w.path, e.Name)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	f.Name, f.Required = e.Name, e.RepetitionType.V == pq.Required
	//guard: refuses a name that could be the path of another column
	if strings.Contains(e.Name, ".") {
		return f, w.refuse("a table has no names with dots")
	}
	//guard: refuses repeated elements that are not in a list or a map
	if e.RepetitionType.V == pq.Repeated {
		return f, w.refuse("a map without values has no type")
	}
	f.Type, err = w.typeOf(e)
	return f, err
}

func (w *walk) typeOf(e *pq.SchemaElement) (iceberg.Type, error) {
	if e.Type.Valid {
		t, why := leaf(e)
		if why != "" {
			return nil, w.refuse(why)
		}
		return t, nil
	}
	switch e.LogicalType.Value.(type) {
	case *pq.ListType:
		w.left = w.left[1:] // the repeated group
		element, err := w.field()
		return &iceberg.ListType{Element: element.Type, ElementRequired: element.Required}, err
	case *pq.MapType:
		w.left = w.left[1:]
		pair, err := w.group(2)
		if err != nil {
			return nil, err
		}
		return &iceberg.MapType{KeyType: pair[0].Type, ValueType: pair[1].Type, ValueRequired: pair[1].Required}, nil
	}
	children, err := w.group(int(e.NumChildren.V))
	return &iceberg.StructType{FieldList: children}, err
}

func (w *walk) refuse(why string) error {
	return failure.New(failure.Input, "column %s: %s", strings.Join(w.path, "."), why)
}

// leaf returns the type of a leaf, or why a table has no such type.
func leaf(e *pq.SchemaElement) (t iceberg.Type, why string) {
	switch a := e.LogicalType.Value.(type) {
	case *pq.DateType:
		return iceberg.PrimitiveTypes.Date, ""
	case *pq.TimeType:
		if _, ok := a.Unit.Value.(*pq.MicroSeconds); !ok {
			return nil, "a table has times of day in microseconds only; convert with --times iceberg"
		}
		return iceberg.PrimitiveTypes.Time, ""
	case *pq.TimestampType:
		if _, ok := a.Unit.Value.(*pq.NanoSeconds); ok {
			return nil, "a table of version 2 has no timestamps in nanoseconds; convert with --times spark if microseconds suffice"
		}
		if a.IsAdjustedToUTC {
			return iceberg.PrimitiveTypes.TimestampTz, ""
		}
		return iceberg.PrimitiveTypes.Timestamp, ""
	case *pq.DecimalType:
		return iceberg.DecimalTypeOf(int(a.Precision), int(a.Scale)), ""
	case *pq.StringType:
		return iceberg.PrimitiveTypes.String, ""
	}
	return physical(e)
}

// physical returns the type of a leaf without annotation.
func physical(e *pq.SchemaElement) (t iceberg.Type, why string) {
	switch e.Type.V {
	case pq.Boolean:
		return iceberg.PrimitiveTypes.Bool, ""
	case pq.Int32:
		return iceberg.PrimitiveTypes.Int32, ""
	case pq.Int64:
		return iceberg.PrimitiveTypes.Int64, ""
	case pq.Float:
		return iceberg.PrimitiveTypes.Float32, ""
	case pq.Double:
		return iceberg.PrimitiveTypes.Float64, ""
	case pq.ByteArray:
		return iceberg.PrimitiveTypes.Binary, ""
	case pq.FixedLenByteArray:
		return iceberg.FixedTypeOf(int(e.TypeLength.V)), ""
	}
	return nil, fmt.Sprintf("a table has no values of the type %v", e.Type.V)
}

// HasByteDecimals reports whether a file stores decimals as BYTE_ARRAY, which Iceberg does not
// provide for. Iceberg's vectorized reader in Spark cannot read them, other readers can.
func HasByteDecimals(schema []pq.SchemaElement) bool {
	return slices.ContainsFunc(schema, func(e pq.SchemaElement) bool {
		_, decimal := e.LogicalType.Value.(*pq.DecimalType)
		return decimal && e.Type.V == pq.ByteArray
	})
}

// Schema returns a schema of columns, and gives them IDs.
func Schema(columns []iceberg.NestedField) *iceberg.Schema {
	n := numbering{}
	return iceberg.NewSchema(0, n.fields(columns)...)
}

type numbering struct{ last int }

func (n *numbering) next() int {
	n.last++
	return n.last
}

func (n *numbering) fields(from []iceberg.NestedField) []iceberg.NestedField {
	all := slices.Clone(from)
	for i := range all {
		all[i].ID = n.next()
		all[i].Type = n.number(all[i].Type)
	}
	return all
}

func (n *numbering) number(t iceberg.Type) iceberg.Type {
	switch t := t.(type) {
	case *iceberg.StructType:
		return &iceberg.StructType{FieldList: n.fields(t.FieldList)}
	case *iceberg.ListType:
		list := *t
		list.ElementID = n.next()
		list.Element = n.number(t.Element)
		return &list
	case *iceberg.MapType:
		m := *t
		m.KeyID, m.ValueID = n.next(), n.next()
		m.KeyType, m.ValueType = n.number(t.KeyType), n.number(t.ValueType)
		return &m
	}
	return t
}
