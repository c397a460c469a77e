package export

import (
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// form is a type, prepared for writing its values as text.
type form struct {
	kind     shred.Kind
	logical  column.Logical
	scale    int
	size     int      // size of a fixed type in bytes
	fields   []field  // fields of a record
	items    *form    // form of the items of an array, or of the values of a map
	branches []*form  // branches of a union
	tags     [][]byte // for each branch of a union `{"name":`, or nil for null
	symbols  [][]byte // symbols of an enum, quoted
	plain    []string // symbols of an enum, without quotes
}

// field is a field of a record.
type field struct {
	key []byte // `{"name":` for the first field of a record, and `,"name":` for others
	*form
}

// forms prepares each type once, even if the type contains itself.
type forms struct {
	known   map[*shred.Node]*form
	logical bool // render logical types
}

func (fs *forms) of(n *shred.Node) *form {
	if f := fs.known[n]; f != nil {
		return f
	}
	f := &form{kind: n.Kind, size: n.Size, scale: n.Scale, plain: n.Symbols}
	fs.known[n] = f
	if l := n.LogicalType(); fs.logical && (l != column.LogicalDecimal || n.Scale <= column.MaxTextScale) {
		f.logical = l
	}
	for _, s := range n.Symbols {
		f.symbols = append(f.symbols, appendString(nil, []byte(s)))
	}
	before := byte('{')
	for _, in := range n.Fields {
		f.fields = append(f.fields, field{append(appendString([]byte{before}, []byte(in.Name)), ':'), fs.of(in.Type)})
		before = ','
	}
	if n.Items != nil {
		f.items = fs.of(n.Items)
	}
	for _, b := range n.Branches {
		f.branches = append(f.branches, fs.of(b))
		var tag []byte
		if b.Kind != shred.KindNull {
			tag = append(appendString([]byte{'{'}, []byte(b.FullName())), ':')
		}
		f.tags = append(f.tags, tag)
	}
	return f
}
