package column

import (
	"cmp"
	"fmt"
)

// Type is the type of a column's values.
type Type uint8

// The types, named as Trevni names them.
const (
	Null Type = iota
	Boolean
	Int
	Long
	Fixed32
	Fixed64
	Float
	Double
	String
	Bytes
)

var typeNames = [...]string{"null", "boolean", "int", "long", "fixed32", "fixed64", "float", "double", "string", "bytes"}

// String returns the lower-case name, as in trevni.type.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// ParseType is the inverse of String; ok is false for an unknown name.
func ParseType(name string) (t Type, ok bool) {
	for i, n := range typeNames {
		if n == name {
			return Type(i), true
		}
	}
	return 0, false
}

// Column describes one column of a row group.
type Column struct {
	Name string
	Type Type
	// Array is set if the column stores a length before each sequence of values. It has
	// one sequence for each row, or for each item of Parent.
	Array bool
	// Optional is set on an Array column whose lengths are only 0 and 1, because it is a
	// branch of a union.
	Optional bool
	// Nullable is set on an Optional column if null is the only other branch of the union.
	// Like Logical, it describes the schema.
	Nullable bool
	// Parent is the index of the nearest enclosing Array column, always less than the
	// column's own, or -1 at the top.
	Parent int
	// Def and Rep are the definition and the repetition level of a value of the column, or of
	// an item of an Array column: how many optional or repeated places there are above it,
	// with its own. See the package documentation. They follow from the schema. Only layout
	// Levels needs them.
	Def, Rep uint16

	// Logical and the fields after it are the meaning of the values in the schema. Formats
	// may use the meaning to choose how they store the values, and need not keep it.
	Logical Logical
	// Precision and Scale are set for a decimal.
	Precision, Scale int
	// FixedSize is the size in bytes of each value of a bytes column, or 0 if sizes
	// differ.
	FixedSize int
	// Symbols are the symbols of an enum. The values of its int column are numbers of
	// symbols. They must not be changed.
	Symbols []string
}

// Choose returns columns by their numbers in all, which ascend and have each column's parents.
// The parents have their new numbers.
func Choose(all []Column, numbers []int) []Column {
	chosen, index := make([]Column, len(numbers)), make([]int, len(all))
	for i, number := range numbers {
		c := all[number]
		if c.Parent >= 0 {
			c.Parent = index[c.Parent]
		}
		chosen[i], index[number] = c, i
	}
	return chosen
}

// TypeName returns the type as tables show it, with [] if the column has lengths.
func (c *Column) TypeName() string { return c.listed(c.Type.String()) }

// SchemaType returns the type as the schema names it, also with [].
func (c *Column) SchemaType() string { return c.listed(cmp.Or(c.Meaning(), c.Type.String())) }

func (c *Column) listed(name string) string {
	if c.Array {
		return name + "[]"
	}
	return name
}

// Meaning returns the schema's name for the values if the name says more than their type,
// such as decimal(10,2), date, enum or fixed(16). Otherwise it returns "".
func (c *Column) Meaning() string {
	switch {
	case c.Logical == LogicalDecimal:
		return fmt.Sprintf("%s(%d,%d)", c.Logical, c.Precision, c.Scale)
	case c.Logical != LogicalNone:
		return c.Logical.String()
	case c.Symbols != nil:
		return "enum"
	case c.FixedSize > 0:
		return fmt.Sprintf("fixed(%d)", c.FixedSize)
	}
	return ""
}

// InvalidText is how strings that are not UTF-8 are treated.
type InvalidText uint8

// The ways to treat strings that are not UTF-8.
const (
	KeepInvalid    InvalidText = iota // they stay as they are
	RefuseInvalid                     // the first one is an error
	ReplaceInvalid                    // U+FFFD replaces each run of invalid bytes
)

// Layout is how a Buffer arranges lengths and booleans.
type Layout uint8

// The layouts; the package documentation describes them.
const (
	Interleaved Layout = iota
	Split
	Levels
)

// Block is a finished block before compression: the values of some whole rows of one column.
type Block struct {
	Data     []byte   // values; with Interleaved layout also lengths
	Lengths  []uint32 // Split layout: the lengths, in order; Levels: runs of levels, see LevelRun
	FirstRow int64    // row number in the row group of the first row
	Rows     int64    // top-level rows
}

// Reset empties the block and keeps its memory for the next use.
func (b *Block) Reset() {
	b.Data, b.Lengths = b.Data[:0], b.Lengths[:0]
	b.FirstRow, b.Rows = 0, 0
}
