package arrow

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

// Form chooses between Arrow types where not every reader knows the first.
// Structs and Spark can go together.
type Form uint8

const (
	// Unions has dense unions for unions.
	Unions Form = 0
	// Structs has what Parquet and most engines know: a union is a struct of its
	// branches, at most one of which is not null, and a record without fields is
	// a boolean, true.
	Structs Form = 1
	// Spark has what Spark knows: timestamps are in microseconds, and times of day
	// are integers. A timestamp that this would change is an error.
	Spark Form = 2
)

// maxBranches is the most children of a dense union.
const maxBranches = math.MaxInt8 + 1

// compiler makes the makers of a mapping's places.
type compiler struct {
	form   Form
	inside int // arrays and maps around the place
}

// field returns a place as a field, with what makes its arrays.
func (c *compiler) field(name string, p shred.Place) (arrow.Field, maker, error) {
	m, nullable, err := c.place(p)
	if err != nil {
		return arrow.Field{}, nil, err
	}
	return arrow.Field{Name: name, Type: m.typ(), Nullable: nullable}, m, nil
}

// place returns the maker of a place, and whether its values can be null.
func (c *compiler) place(p shred.Place) (m maker, nullable bool, err error) {
	n := p.Type()
	switch {
	case p.Leaf():
		m = c.leaf(p)
		return m, n.Kind == shred.KindNull && !p.Raw(), nil
	case n.Kind == shred.KindRecord:
		m, err = c.record(p)
	case n.Kind == shred.KindArray:
		var item arrow.Field
		var items maker
		if item, items, err = c.items("item", p); err == nil {
			m = &list{arrow.ListOfField(item), p.Column(), []maker{items}, false}
		}
	case n.Kind == shred.KindMap:
		var value arrow.Field
		var values maker
		if value, values, err = c.items("value", p); err == nil {
			key := arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}
			m = &list{arrow.MapOfFields(key, value), p.Column(), []maker{&text{arrow.BinaryTypes.String, p.Key()}, values}, true}
		}
	default:
		return c.union(p)
	}
	return m, false, err
}

// items is field for the items of an array or a map.
func (c *compiler) items(name string, p shred.Place) (arrow.Field, maker, error) {
	c.inside++
	defer func() { c.inside-- }()
	return c.field(name, p.Items())
}

func (c *compiler) record(p shred.Place) (maker, error) {
	n := p.Type()
	if len(n.Fields) == 0 && c.form&Structs != 0 {
		return truth{}, nil
	}
	fields, makers := make([]arrow.Field, len(n.Fields)), make([]maker, len(n.Fields))
	for i, f := range n.Fields {
		var err error
		if fields[i], makers[i], err = c.field(f.Name, p.Field(i)); err != nil {
			return nil, err
		}
	}
	return &record{arrow.StructOf(fields...), makers}, nil
}

func (c *compiler) union(p shred.Place) (m maker, nullable bool, err error) {
	branches := make([]branch, 0, len(p.Type().Branches))
	null := -1
	for i := range p.Type().Branches {
		lengths, place := p.Branch(i)
		b := branch{lengths: lengths}
		if lengths < 0 {
			null, b.maker = i, nothing{}
		} else if b.maker, _, err = c.place(place); err != nil {
			return nil, false, err
		}
		branches = append(branches, b)
	}
	switch {
	case len(branches) == 1 && null == 0:
		return nothing{}, true, nil
	case len(branches) == 1:
		return &optional{branches[0].maker, branches[0].lengths, true}, false, nil
	case len(branches) == 2 && null >= 0:
		return &optional{branches[1-null].maker, branches[1-null].lengths, false}, true, nil
	}
	u := union{branches: branches, null: null}
	fields := make([]arrow.Field, 0, len(branches))
	for i, name := range branchNames(p.Type()) {
		if i != null || c.form&Structs == 0 {
			fields = append(fields, arrow.Field{Name: name, Type: branches[i].maker.typ(), Nullable: true})
		}
	}
	if c.form&Structs != 0 {
		return &unionStruct{u, arrow.StructOf(fields...)}, null >= 0, nil
	}
	//guard: codes of a union's branches would not fit a byte
	if len(branches) > maxBranches {
		return nil, false, damage.New(damage.Unsupported, "", -1, "a union of %d types; Arrow's have at most %d", len(branches), maxBranches)
	}
	codes := make([]arrow.UnionTypeCode, len(branches))
	for i := range codes {
		codes[i] = arrow.UnionTypeCode(i)
	}
	return &denseUnion{u, arrow.DenseUnionOf(fields, codes)}, null >= 0, nil
}

// branchNames returns names for the branches of a union: those of the types,
// without namespace where that does not make two the same.
func branchNames(n *shred.Node) []string {
	names, count := make([]string, len(n.Branches)), map[string]int{}
	for i, b := range n.Branches {
		_, names[i] = shred.SplitName(b.FullName())
		count[names[i]]++
	}
	for i, b := range n.Branches {
		if count[names[i]] > 1 {
			names[i] = b.FullName()
		}
	}
	return names
}

// leaf returns the maker of values in one column.
func (c *compiler) leaf(p shred.Place) maker {
	n, col := p.Type(), p.Column()
	if p.Raw() {
		return &text{arrow.BinaryTypes.Binary, col}
	}
	switch n.Kind {
	case shred.KindNull:
		return nothing{}
	case shred.KindBoolean:
		return &booleans{col}
	case shred.KindInt, shred.KindLong:
		return c.integer(n, col)
	case shred.KindFloat:
		return &numbers[float32]{arrow.PrimitiveTypes.Float32, col, floats}
	case shred.KindDouble:
		return &numbers[float64]{arrow.PrimitiveTypes.Float64, col, doubles}
	case shred.KindEnum:
		if c.inside > 0 { // DuckDB 1.5 breaks its memory over null entries of dictionaries in lists
			return &symbols{n, col}
		}
		return newEnum(n, col)
	case shred.KindString:
		return &text{arrow.BinaryTypes.String, col}
	}
	if n.LogicalType() == column.LogicalDecimal {
		precision, scale := int32(n.Precision), int32(n.Scale)
		switch {
		case precision <= 38:
			return &decimals{&arrow.Decimal128Type{Precision: precision, Scale: scale}, n, col, precision}
		case precision <= 76:
			return &decimals{&arrow.Decimal256Type{Precision: precision, Scale: scale}, n, col, precision}
		}
	}
	if n.Kind == shred.KindFixed && n.Size > 0 {
		return &fixed{&arrow.FixedSizeBinaryType{ByteWidth: n.Size}, col}
	}
	return &text{arrow.BinaryTypes.Binary, col}
}

// integer returns the maker of an int or a long.
func (c *compiler) integer(n *shred.Node, col int) maker {
	switch n.LogicalType() {
	case column.LogicalDate:
		return &numbers[int32]{arrow.FixedWidthTypes.Date32, col, ints}
	case column.LogicalTimeMillis:
		if c.form&Spark == 0 {
			return &numbers[int32]{arrow.FixedWidthTypes.Time32ms, col, ints}
		}
	case column.LogicalTimeMicros:
		if c.form&Spark == 0 {
			return &numbers[int64]{arrow.FixedWidthTypes.Time64us, col, longs}
		}
	case column.LogicalTimestampMillis:
		return c.timestamp(arrow.Millisecond, "UTC", col)
	case column.LogicalTimestampMicros:
		return c.timestamp(arrow.Microsecond, "UTC", col)
	case column.LogicalTimestampNanos:
		return c.timestamp(arrow.Nanosecond, "UTC", col)
	case column.LogicalLocalMillis:
		return c.timestamp(arrow.Millisecond, "", col)
	case column.LogicalLocalMicros:
		return c.timestamp(arrow.Microsecond, "", col)
	case column.LogicalLocalNanos:
		return c.timestamp(arrow.Nanosecond, "", col)
	}
	if n.Kind == shred.KindInt {
		return &numbers[int32]{arrow.PrimitiveTypes.Int32, col, ints}
	}
	return &numbers[int64]{arrow.PrimitiveTypes.Int64, col, longs}
}

// timestamp returns the maker of timestamps, of a zone or without.
func (c *compiler) timestamp(unit arrow.TimeUnit, zone string, col int) maker {
	if c.form&Spark != 0 && unit != arrow.Microsecond {
		return &micros{arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: zone}, unit, col}
	}
	return &numbers[int64]{&arrow.TimestampType{Unit: unit, TimeZone: zone}, col, longs}
}
