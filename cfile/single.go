package cfile

import (
	"fmt"
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// loneType is the Avro type of a lone file's values.
type loneType struct {
	column column.Column // Type and FixedSize
	schema string
	branch string // name of the type in a union
}

var loneTypes = func() (all [endOfTypes]loneType) {
	plain := func(name string, to column.Type, types ...Type) {
		for _, t := range types {
			all[t] = loneType{column.Column{Type: to}, `"` + name + `"`, name}
		}
	}
	logical := func(name, logical string, to column.Type, t Type) {
		all[t] = loneType{column.Column{Type: to}, fmt.Sprintf(`{"type":%q,"logicalType":%q}`, name, logical), name}
	}
	plain("boolean", column.Boolean, Bool)
	plain("int", column.Int, Uint8, Int8, Uint16, Int16, Int32, Decimal32)
	plain("long", column.Long, Uint32, Uint64, Int64, Decimal64)
	plain("float", column.Float, Float)
	plain("double", column.Double, Double)
	plain("string", column.String, String, Varchar)
	plain("bytes", column.Bytes, Binary)
	logical("int", "date", column.Int, Date)
	logical("long", "timestamp-micros", column.Long, UnixtimeMicros)
	for _, t := range []Type{Int128, Decimal128} {
		all[t] = loneType{column.Column{Type: column.Bytes, FixedSize: 16}, `{"type":"fixed","name":"int128","size":16}`, "int128"}
	}
	return all
}()

// loneColumn returns the column of a lone file, and the Avro schema of its rows: records with
// one field, value. A decimal is its unscaled value, because the file does not have the scale.
// A decimal of 16 bytes has the most significant byte first.
func loneColumn(f *Footer) (c column.Column, schema string) {
	t := &loneTypes[f.Type]
	c, schema = t.column, t.schema
	c.Name, c.Parent = "value", -1
	if f.Nullable {
		c.Name, c.Array, c.Optional, c.Nullable = "value/"+t.branch, true, true, true
		schema = `["null",` + schema + "]"
	}
	return c, `{"type":"record","name":"row","fields":[{"name":"value","type":` + schema + `}]}`
}

// openLone opens a lone file as a part of one column, a BloomFile as a part without rows, and
// a DeltaFile as a part of whole rows.
func (p *part) openLone(stored format.File) (format.Part, error) {
	f := &partFile{stored: stored}
	file, err := f.open(p)
	if err != nil {
		return nil, err
	}
	footer := file.Footer()
	f.documentFile = documentFile{
		Type: footer.Type, Encoding: footer.Encoding.resolve(footer.Type), Compression: footer.Compression, Nullable: footer.Nullable,
		Sorted: footer.Value != nil && footer.Positional != nil && !footer.Nullable,
	}
	f.rows, p.rows = footer.Values, footer.Values
	c := partColumn{units: p.rows, items: p.rows, valuesFile: f}
	c.Column, p.schema = loneColumn(footer)
	c.shape = shapeOf(&c.Column)
	if p.rows > 0 {
		c.blocks = []partBlock{{rows: p.rows, units: p.rows, items: p.rows, raw: math.MaxInt64, stored: stored.Size()}}
	}
	p.files, p.columns, p.places = []*partFile{f}, []partColumn{c}, make([]place, 1)
	switch {
	case isBloom(footer):
		if b, err := p.openBloom(file); err != nil || b.filters > 0 {
			return b, err
		}
	case isDelta(footer):
		return &deltaPart{p}, nil
	}
	return p, nil
}

// loneBlocks returns the data blocks of a lone file. Their uncompressed sizes are not known
// before they are read.
func (p *part) loneBlocks() ([]format.Block, error) {
	f := p.files[0]
	file, err := f.open(p)
	if err != nil || p.rows == 0 {
		return nil, err
	}
	data, err := file.Blocks()
	if err != nil {
		return nil, err
	}
	if file.Footer().Positional == nil {
		stored := int64(0)
		for _, b := range data {
			stored += int64(b.Size)
		}
		return []format.Block{{Rows: p.rows, RawSize: stored, StoredSize: stored}}, nil
	}
	blocks := make([]format.Block, len(data))
	for i, b := range data {
		end := p.rows
		if i+1 < len(data) {
			end = data[i+1].Ordinal
		}
		//guard: rejects a block without rows
		if end <= b.Ordinal || i == 0 && b.Ordinal != 0 {
			return nil, damage.New(damage.Header, f.stored.Name(), b.Offset, "data block %d holds the rows %d to %d", i, b.Ordinal, end)
		}
		blocks[i] = format.Block{FirstRow: b.Ordinal, Rows: end - b.Ordinal, RawSize: int64(b.Size), StoredSize: int64(b.Size)}
	}
	if f.Sorted {
		return blocks, p.setBounds(blocks, f)
	}
	return blocks, nil
}
