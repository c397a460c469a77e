package parquet

import (
	"fmt"
	"math/bits"

	pq "github.com/parquet-go/parquet-go/format"
)

// encodingSet is a set of encodings, with a bit for each number.
type encodingSet uint32

func (s *encodingSet) add(e pq.Encoding) { *s |= 1 << uint32(e) }

// names returns the names of the specification.
func (s encodingSet) names() (names []string) {
	for left := uint32(s); left != 0; left &= left - 1 {
		names = append(names, pq.Encoding(bits.TrailingZeros32(left)).String())
	}
	return names
}

// typeText returns the physical type and the annotation of a leaf, as other programs show them.
func (c *partColumn) typeText() string {
	text := c.leaf.physical.String()
	if c.leaf.size > 0 {
		text = fmt.Sprintf("%s(%d)", text, c.leaf.size)
	}
	switch t := c.annotation.Value.(type) {
	case nil:
		return text
	case *pq.TimeType:
		return fmt.Sprintf("%s TIME(%v,%v)", text, t.Unit.String(), t.IsAdjustedToUTC)
	case *pq.TimestampType:
		return fmt.Sprintf("%s TIMESTAMP(%v,%v)", text, t.Unit.String(), t.IsAdjustedToUTC)
	default:
		return text + " " + t.String()
	}
}
