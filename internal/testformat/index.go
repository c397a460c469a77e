package testformat

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// index is what the index file says.
type index struct {
	rows                  int64
	codec, marker, schema string
	columns               []indexColumn
}

// indexColumn is a column in the index, and the sums over its blocks.
type indexColumn struct {
	column.Column
	blocks       []block
	units, items int64
	size         int64 // of the file
}

// block is a block in the index, and what is before it in the column.
type block struct {
	rows, units, items int64
	payload, stored    int64 // bytes
	sum                uint32
	before             uint64 // bits of a double
	min, max           []byte

	firstRow, firstUnit, firstItem, offset int64
}

func (b *block) append(dst []byte) []byte {
	dst = order.AppendUint32(dst, uint32(b.rows))
	dst = order.AppendUint32(dst, uint32(b.units))
	dst = order.AppendUint64(dst, uint64(b.items))
	dst = order.AppendUint32(dst, uint32(b.payload))
	dst = order.AppendUint32(dst, uint32(b.stored))
	dst = order.AppendUint32(dst, b.sum)
	dst = order.AppendUint64(dst, b.before)
	dst = append(append(dst, byte(len(b.min))), b.min...)
	return append(append(dst, byte(len(b.max))), b.max...)
}

const (
	// maxIndex is the most bytes of an index that are read.
	maxIndex = 256 << 20
	// maxItems is the most items of a column.
	maxItems = 1 << 48
)

// decoder reads the fields of an index. The first failure sticks: later calls
// return zero values.
type decoder struct {
	file string
	b    []byte
	at   int
	err  error
	// show is told of each field, if it is set.
	show func(field []byte, label string)
}

// fail makes damage at the byte at which the decoder is its error.
func (d *decoder) fail(kind damage.Kind, reason string, args ...any) {
	if d.err == nil {
		d.err = damage.New(kind, d.file, int64(d.at), reason, args...)
	}
}

func (d *decoder) take(n int64) []byte {
	//guard: a text would reach beyond the index
	if rest := int64(len(d.b) - d.at); n > rest {
		d.fail(damage.Truncated, "%d bytes are wanted, %d remain", n, rest)
	}
	if d.err != nil {
		return make([]byte, min(n, 8))
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

func (d *decoder) tell(start int, label string, value any) {
	if d.show != nil && d.err == nil {
		d.show(d.b[start:d.at], fmt.Sprintf("%s: %v", label, value))
	}
}

// number reads a number of so many bytes.
func (d *decoder) number(size int, label string) uint64 {
	start, v := d.at, uint64(0)
	for i, b := range d.take(int64(size)) {
		v |= uint64(b) << (8 * i)
	}
	d.tell(start, label, v)
	return v
}

// text reads a length of so many bytes and what it is the length of.
func (d *decoder) text(size int, label string) []byte {
	start, n := d.at, int64(0)
	for i, b := range d.take(int64(size)) {
		n |= int64(b) << (8 * i)
	}
	text := d.take(n)
	d.tell(start, label, fmt.Sprintf("%.60q", text))
	return text
}

// decode reads an index whose CRC is its last bytes.
func (d *decoder) decode() (*index, error) {
	x := new(index)
	if head := d.take(int64(len(magic))); d.err == nil && string(head) != magic {
		d.at = 0
		d.fail(damage.Magic, "the index begins with % x", head)
	}
	d.tell(0, "magic", magic)
	if v := d.number(1, "version"); v != version {
		d.fail(damage.Unsupported, "version %d of the format", v)
	}
	d.checkSum()
	x.rows = int64(d.number(8, "rows"))
	x.codec = string(d.text(4, "codec"))
	x.marker, x.schema = string(d.text(4, "marker")), string(d.text(4, "schema"))
	//guard: rows could be fewer than none
	if x.rows < 0 {
		d.fail(damage.Count, "%d rows", x.rows)
	}
	//guard: blocks of another codec would be read as they are
	if !slices.Contains(codecs, x.codec) {
		d.fail(damage.Codec, "codec %.60q", x.codec)
	}
	for n := d.number(4, "columns"); n > 0 && d.err == nil; n-- {
		x.columns = append(x.columns, indexColumn{})
		d.column(x)
	}
	if d.err == nil && d.at != len(d.b)-crc32.Size {
		d.fail(damage.Trailing, "%d bytes belong to nothing", len(d.b)-crc32.Size-d.at)
	}
	d.number(crc32.Size, "CRC-32C")
	return x, d.err
}

// checkSum compares the CRC of the index before anything in it is believed.
func (d *decoder) checkSum() {
	end := len(d.b) - crc32.Size
	if d.err != nil || end < d.at {
		d.take(int64(len(d.b))) // fails, as is right
		return
	}
	//guard: a damaged index would be believed
	if got, want := crc32.Checksum(d.b[:end], castagnoli), order.Uint32(d.b[end:]); got != want {
		d.err = damage.New(damage.Checksum, d.file, int64(end), "the stored CRC-32C of the index is %08x, its own is %08x", want, got)
	}
}

// column reads the last of the columns.
func (d *decoder) column(x *index) {
	number := len(x.columns) - 1
	c := &x.columns[number]
	c.Name = string(d.text(4, fmt.Sprintf("column %d", number)))
	c.Type, c.Array = column.Type(d.number(1, "type")), d.number(1, "array") != 0
	c.Parent = int(d.number(4, "parent + 1")) - 1
	//guard: a column of no type would be read
	if c.Type > column.Bytes {
		d.fail(damage.Header, "type %d", uint8(c.Type))
	}
	//guard: a column could be its own parent, or have one without lengths
	if c.Parent >= number || c.Parent >= 0 && !x.columns[c.Parent].Array {
		d.fail(damage.Header, "column %d is the child of column %d", number, c.Parent)
		return
	}
	rows := int64(0)
	for n := d.number(4, "blocks"); n > 0 && d.err == nil; n-- {
		b := block{firstRow: rows, firstUnit: c.units, firstItem: c.items, offset: c.size}
		d.block(c, &b)
		//guard: memory would be taken for stored bytes that no payload has
		if b.stored > int64(maxCompressed(x.codec, int(b.payload))) {
			d.fail(damage.Size, "%d stored bytes of %d", b.stored, b.payload)
		}
		c.blocks = append(c.blocks, b)
		rows, c.units, c.items, c.size = rows+b.rows, c.units+b.units, c.items+b.items, c.size+sums+b.stored
	}
	units := x.rows
	if c.Parent >= 0 {
		units = x.columns[c.Parent].items
	}
	if c.uncounted() {
		c.units, c.items = units, units
	}
	//guard: a column could have other rows than the part
	if rows != x.rows || c.units != units {
		d.fail(damage.Count, "column %d has %d rows and %d units, expected %d and %d", number, rows, c.units, x.rows, units)
	}
}

// uncounted reports whether the column has neither lengths nor values.
func (c *indexColumn) uncounted() bool { return c.Type == column.Null && !c.Array }

func (d *decoder) block(c *indexColumn, b *block) {
	b.rows, b.units, b.items = int64(d.number(4, "block: rows")), int64(d.number(4, "  units")), int64(d.number(8, "  items"))
	b.payload, b.stored = int64(d.number(4, "  payload bytes")), int64(d.number(4, "  stored bytes"))
	b.sum, b.before = uint32(d.number(4, "  sum")), d.number(8, "  double before")
	b.min, b.max = d.bound(c, "  min"), d.bound(c, "  max")
	//guard: a seek would not find the block of a row
	if b.rows == 0 || c.Parent < 0 && !c.uncounted() && b.units != b.rows {
		d.fail(damage.Count, "a block of %d rows and %d units", b.rows, b.units)
	}
	//guard: the items of a column would be less than none
	if uint64(b.items) > uint64(maxItems-c.items) || !c.Array && b.items != b.units {
		d.fail(damage.Count, "%d items of %d units", uint64(b.items), b.units)
	}
}

// bound reads a bound, which is nil if it has no bytes.
func (d *decoder) bound(c *indexColumn, label string) []byte {
	v := d.text(1, label)
	if d.err != nil || len(v) == 0 {
		return nil
	}
	//guard: who compares bounds would read beyond their end
	if n, _ := column.ValueSize(c.Type, v); n != len(v) {
		d.fail(damage.Value, "a bound that is no %v", c.Type)
	}
	return v
}
