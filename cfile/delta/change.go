package delta

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Kind is what happens to a row.
type Kind uint8

// The kinds of changes, by their bytes.
const (
	Update   Kind = 1 // some columns get other values
	Delete   Kind = 2
	Reinsert Kind = 3 // a row that was deleted comes back; its cells are those of no key column
)

// String returns Kudu's name: "UPDATE".
func (k Kind) String() string {
	switch k {
	case Update:
		return "UPDATE"
	case Delete:
		return "DELETE"
	case Reinsert:
		return "REINSERT"
	default:
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
}

// Cell is what a column gets.
type Cell struct {
	Column uint32 // its ID, less than 2³¹
	Null   bool
	Value  []byte // if not Null: little-endian, or the bytes of a BINARY value
}

// Change is a RowChangeList: what happens to one row at one time.
type Change struct {
	Kind  Kind
	Cells []Cell // at least one of an Update, none of a Delete
}

// Append appends the encoded change to dst.
func (c *Change) Append(dst []byte) ([]byte, error) {
	switch {
	case c.Kind < Update || c.Kind > Reinsert:
		return nil, fmt.Errorf("there is no change of %v", c.Kind)
	case c.Kind == Delete && len(c.Cells) > 0:
		return nil, fmt.Errorf("a DELETE cannot change %d columns", len(c.Cells))
	case c.Kind == Update && len(c.Cells) == 0:
		return nil, fmt.Errorf("an UPDATE must change a column")
	}
	dst = append(dst, byte(c.Kind))
	for i := range c.Cells {
		cell := &c.Cells[i]
		if cell.Column > math.MaxInt32 {
			return nil, fmt.Errorf("column ID %d is more than 2³¹-1", cell.Column)
		}
		dst = binary.AppendUvarint(dst, uint64(cell.Column))
		if cell.Null {
			dst = append(dst, 0)
			continue
		}
		dst = binary.AppendUvarint(dst, uint64(len(cell.Value))+1)
		dst = append(dst, cell.Value...)
	}
	return dst, nil
}

// Parse makes c the change that is encoded in b. Its values are parts of b, and its cells
// are in the memory of those that it had. Errors are *damage.Error without a place.
func (c *Change) Parse(b []byte) error {
	c.Cells = c.Cells[:0]
	//guard: a delta that ends behind its key would crash the program
	if len(b) == 0 {
		return damage.New(damage.Truncated, "", -1, "the change of a row has no kind")
	}
	c.Kind = Kind(b[0])
	b = b[1:]
	switch {
	//guard: a row would be changed in a way that nobody knows
	case c.Kind < Update || c.Kind > Reinsert:
		return damage.New(damage.Value, "", -1, "the change of a row is of kind %d, not 1 to 3", c.Kind)
	//guard: what follows would be lost
	case c.Kind == Delete && len(b) > 0:
		return damage.New(damage.Trailing, "", -1, "%d bytes follow the DELETE of a row", len(b))
	//guard: an update that was cut would change nothing
	case c.Kind == Update && len(b) == 0:
		return damage.New(damage.Truncated, "", -1, "the UPDATE of a row changes no column")
	}
	for len(b) > 0 {
		var cell Cell
		var err error
		if cell, b, err = parseCell(b); err != nil {
			return err
		}
		c.Cells = append(c.Cells, cell)
	}
	return nil
}

// parseCell takes a cell off b.
func parseCell(b []byte) (cell Cell, rest []byte, err error) {
	column, n := binary.Uvarint(b)
	//guard: the number of a column that is cut would crash the program, and a large one name another
	if n <= 0 || column > math.MaxInt32 {
		return cell, nil, damage.New(damage.Value, "", -1, "the change of a row has no column ID, %d bytes before its end", len(b))
	}
	cell.Column, b = uint32(column), b[n:]
	size, n := binary.Uvarint(b)
	//guard: a value whose size is cut would crash the program
	if n <= 0 {
		return cell, nil, damage.New(damage.Truncated, "", -1, "the change of column %d has no size", column)
	}
	b = b[n:]
	if size == 0 {
		cell.Null = true
		return cell, b, nil
	}
	//guard: a value that is longer than the change would crash the program
	if size-1 > uint64(len(b)) {
		return cell, nil, damage.New(damage.Size, "", -1, "the change of column %d has a value of %d bytes, and %d follow", column, size-1, len(b))
	}
	cell.Value = b[: size-1 : size-1]
	return cell, b[size-1:], nil
}
