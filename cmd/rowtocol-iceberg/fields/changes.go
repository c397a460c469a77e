package fields

import (
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Change is a change of a table's schema.
type Change struct {
	Path []string
	// Add is the type of a new column; nil if the column is there.
	Add iceberg.Type
	// Promote is the new type of a column; nil if it keeps its type.
	Promote iceberg.Type
	// Optional is whether a required column becomes optional.
	Optional bool
}

// Changes returns how a table with these columns must change so that files with other columns
// can be added. It fails if Iceberg allows no such change.
func Changes(now, files []iceberg.NestedField) ([]Change, error) {
	all, err := Merge(now, files)
	if err != nil {
		return nil, err
	}
	var c changes
	c.fields(nil, now, all)
	return c.all, nil
}

type changes struct{ all []Change }

func (c *changes) fields(path []string, now, then []iceberg.NestedField) {
	for _, f := range then {
		at := append(slices.Clip(path), f.Name)
		if old := find(now, f.Name); old == nil {
			c.all = append(c.all, Change{Path: at, Add: f.Type})
		} else {
			c.field(at, *old, f)
		}
	}
}

func (c *changes) field(path []string, now, then iceberg.NestedField) {
	change := Change{Path: path, Optional: now.Required && !then.Required}
	switch x := now.Type.(type) {
	case *iceberg.StructType:
		c.fields(path, x.FieldList, then.Type.(*iceberg.StructType).FieldList)
	case *iceberg.ListType:
		c.field(append(slices.Clip(path), "element"), x.ElementField(), then.Type.(*iceberg.ListType).ElementField())
	case *iceberg.MapType:
		c.field(append(slices.Clip(path), "value"), x.ValueField(), then.Type.(*iceberg.MapType).ValueField())
	default:
		if !now.Type.Equals(then.Type) {
			change.Promote = then.Type
		}
	}
	if change.Optional || change.Promote != nil {
		c.all = append(c.all, change)
	}
}

// Apply adds changes to an update of the table's schema.
func Apply(u *table.UpdateSchema, all []Change) {
	for _, c := range all {
		if c.Add != nil {
			u.AddColumn(c.Path, Schema([]iceberg.NestedField{{Name: "new", Type: c.Add}}).Field(0).Type, "", false, nil)
			continue
		}
		var update table.ColumnUpdate
		if c.Promote != nil {
			update.FieldType = iceberg.Optional[iceberg.Type]{Val: c.Promote, Valid: true}
		}
		if c.Optional {
			update.Required = iceberg.Optional[bool]{Val: false, Valid: true}
		}
		u.UpdateColumn(c.Path, update)
	}
}
