package arrow

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// dictionary is the dictionary of an enum type. All fields of the type and all batches share
// it. It has each symbol once, even if the schema repeats the symbol.
type dictionary struct {
	values   *array.Data
	ordinals []int32 // index in values of each symbol of the schema
	dataType *arrow.DictionaryType
}

// symbolMemory is the measured memory of a dictionary besides its text, in bytes per symbol.
const symbolMemory = 128

// enum returns the maker of an enum, and reserves memory for its dictionary.
func (c *compiler) enum(n *shred.Node, col int) (maker, error) {
	d := c.dictionaries[n]
	if d == nil {
		size, symbols := textSize(n), int64(len(n.Symbols))
		//guard: reserves memory for dictionaries
		if err := c.reserve(size + symbols*symbolMemory); err != nil {
			return nil, fmt.Errorf("enum %s of %d symbols: %w", n.Name, symbols, err)
		}
		d = newDictionary(n, size)
		c.dictionaries[n] = d
	}
	return &enum{d, col}, nil
}

// textSize returns the bytes of an enum's symbols.
func textSize(n *shred.Node) (size int64) {
	for _, s := range n.Symbols {
		size += int64(len(s))
	}
	return size
}

// newDictionary makes the dictionary of symbols with size bytes of text.
func newDictionary(n *shred.Node, size int64) *dictionary {
	d := &dictionary{ordinals: make([]int32, len(n.Symbols))}
	text, ends := make([]byte, 0, size), make([]int32, 1, len(n.Symbols)+1)
	known := make(map[string]int32, len(n.Symbols))
	for i, s := range n.Symbols {
		at, ok := known[s]
		if !ok {
			at = int32(len(known))
			known[s] = at
			text = append(text, s...)
			ends = append(ends, int32(len(text)))
		}
		d.ordinals[i] = at
	}
	index := arrow.PrimitiveTypes.Int32
	switch {
	case len(known) <= math.MaxInt8+1:
		index = arrow.PrimitiveTypes.Int8
	case len(known) <= math.MaxInt16+1:
		index = arrow.PrimitiveTypes.Int16
	}
	d.dataType = &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(arrow.GetBytes(ends)), memory.NewBufferBytes(text)}
	d.values = array.NewData(arrow.BinaryTypes.String, len(known), buffers, nil, 0, 0)
	return d
}

// enum makes dictionaries of symbols.
type enum struct {
	*dictionary
	col int
}

func (m *enum) typ() arrow.DataType { return m.dataType }

func (m *enum) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := b.Vector(m.col).Ints
	width := m.dataType.IndexType.(arrow.FixedWidthDataType).Bytes()
	buffer := newBuffer(b.mem, width*s.n)
	switch width {
	case 1:
		place(arrow.GetData[int8](buffer.Bytes()), m.ordinals, values, s.present)
	case 2:
		place(arrow.GetData[int16](buffer.Bytes()), m.ordinals, values, s.present)
	default:
		place(arrow.GetData[int32](buffer.Bytes()), m.ordinals, values, s.present)
	}
	d := b.newData(m.dataType, s, nil, buffer).(*array.Data)
	d.SetDictionary(m.values)
	return d, nil
}

// place sets dst to the indexes of slots with a value, and to 0 for other slots.
func place[T int8 | int16 | int32](dst []T, ordinals, values, present []int32) {
	j := 0
	for i := range dst {
		dst[i] = 0
		if present == nil || present[i] != 0 {
			dst[i] = T(ordinals[values[j]])
			j++
		}
	}
}

// symbols makes strings of an enum.
type symbols struct {
	node *shred.Node
	col  int
}

func (*symbols) typ() arrow.DataType { return arrow.BinaryTypes.String }

func (m *symbols) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := b.Vector(m.col).Ints
	size := 0
	for _, v := range values {
		size += len(m.node.Symbols[v])
	}
	if err := b.bounded(m.col, size, 1); err != nil {
		return nil, err
	}
	offsets, text := newBuffer(b.mem, 4*(s.n+1)), newBuffer(b.mem, size)
	end, at, j := arrow.GetData[int32](offsets.Bytes()), 0, 0
	end[0] = 0
	for i := range s.n {
		if s.present == nil || s.present[i] != 0 {
			at += copy(text.Bytes()[at:], m.node.Symbols[values[j]])
			j++
		}
		end[i+1] = int32(at)
	}
	return b.newData(m.typ(), s, nil, offsets, text), nil
}
