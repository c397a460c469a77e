package arrow

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Form chooses the Arrow types that a reader supports. Structs and Spark can be combined.
type Form uint8

const (
	// Unions writes unions as dense unions.
	Unions Form = 0
	// Structs is for most engines. A union is a struct of its branches, at
	// most one of them not null. A record without fields is a boolean, true.
	Structs Form = 1
	// Spark is for Spark. Timestamps are in microseconds, and times of day are integers.
	// A timestamp that microseconds do not represent exactly is an error.
	Spark Form = 2
)

// maxBranches is the most children of a dense union.
const maxBranches = math.MaxInt8 + 1

// maxDepth is how deep arrays may nest. Implementations of Arrow do not write and read
// deeper arrays.
const maxDepth = 64

// maxMaps is how many maps may nest. The library makes the arrays of a map's items twice,
// so each enclosing map doubles time and memory.
const maxMaps = 6

// compiler makes the makers of a mapping's places.
type compiler struct {
	form         Form
	reserve      func(n int64) error
	dictionaries map[*shred.Node]*dictionary
	inside       int      // number of arrays and maps around the place
	maps         int      // number of maps around the place
	depth        int      // number of Arrow arrays around the place
	path         []string // path of the place
}

// below runs f for a nested place that is levels Arrow arrays deeper.
func (c *compiler) below(component string, levels int, f func() error) error {
	c.path, c.depth = append(c.path, component), c.depth+levels
	err := f()
	c.path, c.depth = c.path[:len(c.path)-1], c.depth-levels
	return err
}

// field returns a place as a field, with the maker of its arrays.
func (c *compiler) field(name string, p shred.Place) (arrow.Field, maker, error) {
	m, nullable, err := c.place(p)
	if err != nil {
		return arrow.Field{}, nil, err
	}
	return arrow.Field{Name: name, Type: m.typ(), Nullable: nullable}, m, nil
}

// unsupported returns the error for a place that Arrow does not support.
func (c *compiler) unsupported(reason string, args ...any) error {
	e := damage.New(damage.Unsupported, "", -1, reason, args...)
	e.Path = strings.TrimPrefix(strings.Join(c.path, ""), ".")
	return e
}

// place returns the maker of a place, and whether its values can be null.
func (c *compiler) place(p shred.Place) (m maker, nullable bool, err error) {
	n := p.Type()
	switch {
	//guard: refuses a schema that nests deeper than Arrow allows
	case c.depth >= maxDepth:
		return nil, false, c.unsupported("types nested deeper than the %d levels of Arrow", maxDepth)
	//guard: bounds how many maps nest in arrays
	case n.Kind == shred.KindMap && c.maps == maxMaps:
		return nil, false, c.unsupported("more than %d maps nested in each other; more are not written to Arrow", maxMaps)
	case p.Leaf():
		m, err = c.leaf(p)
		return m, n.Kind == shred.KindNull && !p.Raw(), err
	case n.Kind == shred.KindRecord:
		m, err = c.record(p)
	case n.Kind == shred.KindArray:
		var item arrow.Field
		var items maker
		if item, items, err = c.items("item", "[]", 1, p); err == nil {
			m = &list{arrow.ListOfField(item), p.Column(), []maker{items}, false}
		}
	case n.Kind == shred.KindMap:
		c.maps++
		defer func() { c.maps-- }()
		var value arrow.Field
		var values maker
		if value, values, err = c.items("value", "{}", 2, p); err == nil {
			key := arrow.Field{Name: "key", Type: arrow.BinaryTypes.String}
			m = &list{arrow.MapOfFields(key, value), p.Column(), []maker{&text{arrow.BinaryTypes.String, p.Key()}, values}, true}
		}
	default:
		return c.union(p)
	}
	return m, false, err
}

// items is field for the items of an array or a map.
func (c *compiler) items(name, component string, levels int, p shred.Place) (item arrow.Field, m maker, err error) {
	c.inside++
	defer func() { c.inside-- }()
	err = c.below(component, levels, func() error {
		item, m, err = c.field(name, p.Items())
		return err
	})
	return item, m, err
}

// fields returns the fields of a record, which are levels Arrow arrays deeper.
func (c *compiler) fields(p shred.Place, levels int) ([]arrow.Field, []maker, error) {
	recordFields := p.Type().Fields
	fields, makers := make([]arrow.Field, len(recordFields)), make([]maker, len(recordFields))
	for i, f := range recordFields {
		err := c.below("."+f.Name, levels, func() (err error) {
			fields[i], makers[i], err = c.field(f.Name, p.Field(i))
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return fields, makers, nil
}

func (c *compiler) record(p shred.Place) (maker, error) {
	if len(p.Type().Fields) == 0 && c.form&Structs != 0 {
		return truth{}, nil
	}
	fields, makers, err := c.fields(p, 1)
	if err != nil {
		return nil, err
	}
	return &record{arrow.StructOf(fields...), makers}, nil
}

func (c *compiler) union(p shred.Place) (m maker, nullable bool, err error) {
	branches := make([]branch, 0, len(p.Type().Branches))
	null := slices.IndexFunc(p.Type().Branches, func(n *shred.Node) bool { return n.Kind == shred.KindNull })
	levels := 1
	if len(p.Type().Branches) == 1 || len(p.Type().Branches) == 2 && null >= 0 {
		levels = 0 // the only branch has no array around it
	}
	for i := range p.Type().Branches {
		lengths, place := p.Branch(i)
		b := branch{lengths: lengths, maker: nothing{}}
		if i != null {
			err = c.below("", levels, func() error {
				b.maker, _, err = c.place(place)
				return err
			})
		}
		if err != nil {
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
	//guard: keeps the codes of a union within a byte
	if len(branches) > maxBranches {
		return nil, false, c.unsupported("a union of %d types; Arrow's have at most %d", len(branches), maxBranches)
	}
	codes := make([]arrow.UnionTypeCode, len(branches))
	for i := range codes {
		codes[i] = arrow.UnionTypeCode(i)
	}
	return &denseUnion{u, arrow.DenseUnionOf(fields, codes)}, null >= 0, nil
}

// branchNames returns names for the branches of a union: the names of the types, without
// namespaces if these names are distinct.
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
func (c *compiler) leaf(p shred.Place) (maker, error) {
	n, col := p.Type(), p.Column()
	if p.Raw() {
		return &text{arrow.BinaryTypes.Binary, col}, nil
	}
	switch n.Kind {
	case shred.KindNull:
		return nothing{}, nil
	case shred.KindBoolean:
		return &booleans{col}, nil
	case shred.KindInt, shred.KindLong:
		return c.integer(n, col), nil
	case shred.KindFloat:
		return &numbers[float32]{arrow.PrimitiveTypes.Float32, col, floats}, nil
	case shred.KindDouble:
		return &numbers[float64]{arrow.PrimitiveTypes.Float64, col, doubles}, nil
	case shred.KindEnum:
		if c.inside > 0 { // DuckDB 1.5 corrupts its memory on null dictionary entries in lists
			return &symbols{n, col}, nil
		}
		return c.enum(n, col)
	case shred.KindString:
		return &text{arrow.BinaryTypes.String, col}, nil
	}
	if n.LogicalType() == column.LogicalDecimal {
		precision, scale := int32(n.Precision), int32(n.Scale)
		switch {
		case precision <= 38:
			return &decimals{&arrow.Decimal128Type{Precision: precision, Scale: scale}, col, precision}, nil
		case precision <= 76:
			return &decimals{&arrow.Decimal256Type{Precision: precision, Scale: scale}, col, precision}, nil
		}
	}
	if n.Kind == shred.KindFixed && n.Size > 0 {
		return &fixed{&arrow.FixedSizeBinaryType{ByteWidth: n.Size}, col}, nil
	}
	return &text{arrow.BinaryTypes.Binary, col}, nil
}

// integer returns the maker of an int or a long.
func (c *compiler) integer(n *shred.Node, col int) maker {
	switch l := n.LogicalType(); {
	case l == column.LogicalDate:
		return &numbers[int32]{arrow.FixedWidthTypes.Date32, col, ints}
	case l.Clock() && c.form&Spark != 0:
	case l == column.LogicalTimeMillis:
		return &numbers[int32]{arrow.FixedWidthTypes.Time32ms, col, ints}
	case l == column.LogicalTimeMicros:
		return &numbers[int64]{arrow.FixedWidthTypes.Time64us, col, longs}
	case l.Local():
		return c.timestamp(arrowUnits[l.Unit()], "", col)
	case l.Unit() > 0:
		return c.timestamp(arrowUnits[l.Unit()], "UTC", col)
	}
	if n.Kind == shred.KindInt {
		return &numbers[int32]{arrow.PrimitiveTypes.Int32, col, ints}
	}
	return &numbers[int64]{arrow.PrimitiveTypes.Int64, col, longs}
}

var arrowUnits = map[time.Duration]arrow.TimeUnit{
	time.Millisecond: arrow.Millisecond, time.Microsecond: arrow.Microsecond, time.Nanosecond: arrow.Nanosecond,
}

// timestamp returns the maker of timestamps, with or without a zone.
func (c *compiler) timestamp(unit arrow.TimeUnit, zone string, col int) maker {
	if c.form&Spark != 0 && unit != arrow.Microsecond {
		return &micros{arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: zone}, unit, col}
	}
	return &numbers[int64]{&arrow.TimestampType{Unit: unit, TimeZone: zone}, col, longs}
}
