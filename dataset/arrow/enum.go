package arrow

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
)

// newEnum returns the maker of an enum: a dictionary, in which a symbol that
// the schema has twice is once.
func newEnum(n *shred.Node, col int) maker {
	e := &enum{col: col, node: n, ordinals: make([]int32, len(n.Symbols)), ends: []int32{0}}
	known := make(map[string]int32, len(n.Symbols))
	for i, s := range n.Symbols {
		at, ok := known[s]
		if !ok {
			at = int32(len(known))
			known[s] = at
			e.text = append(e.text, s...)
			e.ends = append(e.ends, int32(len(e.text)))
		}
		e.ordinals[i] = at
	}
	index := arrow.PrimitiveTypes.Int32
	switch {
	case len(known) <= math.MaxInt8+1:
		index = arrow.PrimitiveTypes.Int8
	case len(known) <= math.MaxInt16+1:
		index = arrow.PrimitiveTypes.Int16
	}
	e.dataType = &arrow.DictionaryType{IndexType: index, ValueType: arrow.BinaryTypes.String}
	return e
}

// ordinals returns the n values of an enum's column.
func (b *batch) ordinals(node *shred.Node, col, n int) ([]int32, error) {
	values := b.vector(col).Ints
	if len(values) != n {
		return nil, b.short(col, len(values), n)
	}
	for _, v := range values {
		//guard: an ordinal without a symbol would crash the export
		if uint32(v) >= uint32(len(node.Symbols)) {
			return nil, b.damaged(col, damage.Value, "ordinal %d, but %s has %d symbols", v, node.Name, len(node.Symbols))
		}
	}
	return values, nil
}

// enum makes dictionaries of symbols.
type enum struct {
	dataType *arrow.DictionaryType
	col      int
	node     *shred.Node
	ordinals []int32 // index in the dictionary of each of the schema's symbols
	// The dictionary: each symbol once, all in one text, and where they end
	// behind a 0.
	text []byte
	ends []int32
}

func (m *enum) typ() arrow.DataType { return m.dataType }

func (m *enum) data(b *batch, s slots) (arrow.ArrayData, error) {
	values, err := b.ordinals(m.node, m.col, s.values)
	if err != nil {
		return nil, err
	}
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
	dictionary := m.dictionary(b.mem)
	defer dictionary.Release()
	d := b.newData(m.dataType, s, nil, buffer).(*array.Data)
	d.SetDictionary(dictionary)
	return d, nil
}

// place gives the slots with a value its index, and 0 to the others.
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

// dictionary copies the dictionary: what a batch holds is of its allocator, and
// its own to release.
func (m *enum) dictionary(mem memory.Allocator) *array.Data {
	offsets, text := newBuffer(mem, 4*len(m.ends)), newBuffer(mem, len(m.text))
	copy(arrow.GetData[int32](offsets.Bytes()), m.ends)
	copy(text.Bytes(), m.text)
	d := array.NewData(arrow.BinaryTypes.String, len(m.ends)-1, []*memory.Buffer{nil, offsets, text}, nil, 0, 0)
	offsets.Release()
	text.Release()
	return d
}

// symbols makes strings of an enum.
type symbols struct {
	node *shred.Node
	col  int
}

func (*symbols) typ() arrow.DataType { return arrow.BinaryTypes.String }

func (m *symbols) data(b *batch, s slots) (arrow.ArrayData, error) {
	values, err := b.ordinals(m.node, m.col, s.values)
	if err != nil {
		return nil, err
	}
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
