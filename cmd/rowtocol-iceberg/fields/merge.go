package fields

import (
	"slices"

	"github.com/apache/iceberg-go"

	"github.com/rowtocol/rowtocol/job/failure"
)

// Merge returns the columns of a table that has files with the columns a and files with the
// columns b. A column that only some files have is optional.
func Merge(a, b []iceberg.NestedField) ([]iceberg.NestedField, error) { return merge("", a, b) }

func merge(below string, a, b []iceberg.NestedField) ([]iceberg.NestedField, error) {
	all := make([]iceberg.NestedField, 0, len(a))
	for _, f := range a {
		other := find(b, f.Name)
		if other == nil {
			f.Required = false
			all = append(all, f)
			continue
		}
		var err error
		f.Required = f.Required && other.Required
		if f.Type, err = join(below+f.Name, f.Type, other.Type); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	for _, f := range b {
		if find(a, f.Name) == nil {
			f.Required = false
			all = append(all, f)
		}
	}
	return all, nil
}

func find(all []iceberg.NestedField, name string) *iceberg.NestedField {
	i := slices.IndexFunc(all, func(f iceberg.NestedField) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// join returns the type to which values of two types are promoted.
func join(path string, a, b iceberg.Type) (iceberg.Type, error) {
	switch x := a.(type) {
	case *iceberg.StructType:
		if y, ok := b.(*iceberg.StructType); ok {
			all, err := merge(path+".", x.FieldList, y.FieldList)
			return &iceberg.StructType{FieldList: all}, err
		}
	case *iceberg.ListType:
		if y, ok := b.(*iceberg.ListType); ok {
			list := *x
			list.ElementRequired = x.ElementRequired && y.ElementRequired
			var err error
			list.Element, err = join(path+".element", x.Element, y.Element)
			return &list, err
		}
	case *iceberg.MapType:
		if y, ok := b.(*iceberg.MapType); ok {
			return joinMaps(path, x, y)
		}
	default:
		if t := promoted(a, b); t != nil {
			return t, nil
		}
	}
	return nil, failure.New(failure.Input, "column %s: a table cannot have %s and %s in one column", path, a, b)
}

func joinMaps(path string, x, y *iceberg.MapType) (iceberg.Type, error) {
	m := *x
	m.ValueRequired = x.ValueRequired && y.ValueRequired
	//guard: refuses other keys, which Iceberg does not promote
	if !x.KeyType.Equals(y.KeyType) {
		return nil, failure.New(failure.Input, "column %s.key: a table cannot have %s and %s in one column", path, x.KeyType, y.KeyType)
	}
	var err error
	m.ValueType, err = join(path+".value", x.ValueType, y.ValueType)
	return &m, err
}

// promoted returns the wider of two primitive types, or nil if Iceberg promotes neither.
func promoted(a, b iceberg.Type) iceberg.Type {
	if a.Equals(b) {
		return a
	}
	for _, pair := range [][2]iceberg.Type{{a, b}, {b, a}} {
		narrow, wide := pair[0], pair[1]
		switch n := narrow.(type) {
		case iceberg.Int32Type:
			if wide.Equals(iceberg.PrimitiveTypes.Int64) {
				return wide
			}
		case iceberg.Float32Type:
			if wide.Equals(iceberg.PrimitiveTypes.Float64) {
				return wide
			}
		case iceberg.DecimalType:
			if w, ok := wide.(iceberg.DecimalType); ok && w.Scale() == n.Scale() && w.Precision() > n.Precision() {
				return wide
			}
		}
	}
	return nil
}
