package export

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// errDatum is returned for bytes that are not a datum of the schema. Rows that were
// assembled from columns never cause it.
var errDatum = errors.New("the row does not match its schema")

const (
	// maxDepth bounds how deep values nest.
	maxDepth = 4000
	// maxEmpty bounds the items without bytes that one count can announce.
	maxEmpty = 1 << 20
	// maxText bounds the text of a row. Names of fields, types and symbols are repeated
	// for each item, even if the item has no bytes.
	maxText = 1 << 30
)

var errText = fmt.Errorf("the row is of more than %d bytes of text", maxText)

// datum reads the values of a row one by one. After the first error, the rest is empty, and
// reads return zero.
type datum struct {
	row   []byte
	at    int // number of bytes that were read
	depth int
	err   error
}

func (d *datum) fail(err error) {
	d.row, d.at, d.err = nil, 0, err
}

// end returns the first error, or an error if bytes are left.
func (d *datum) end() error {
	//guard: rejects bytes after the row
	if d.err == nil && d.at < len(d.row) {
		return errDatum
	}
	return d.err
}

// long reads an int, a long, an index or a count. Most of them have one byte.
func (d *datum) long() int64 {
	if d.at < len(d.row) && d.row[d.at] < 0x80 {
		b := d.row[d.at]
		d.at++
		return int64(b>>1) ^ -int64(b&1)
	}
	return d.varint()
}

func (d *datum) varint() int64 {
	v, n := binary.Varint(d.row[d.at:])
	if n <= 0 {
		d.fail(errDatum)
		return 0
	}
	d.at += n
	return v
}

// take reads n bytes.
func (d *datum) take(n int64) []byte {
	//guard: rejects a value that reaches beyond its row
	if n < 0 || n > int64(len(d.row)-d.at) {
		d.fail(errDatum)
		return nil
	}
	from := d.at
	d.at += int(n)
	return d.row[from:d.at:d.at]
}

// sized reads a length and as many bytes.
func (d *datum) sized() []byte { return d.take(d.long()) }

func (d *datum) boolean() bool {
	b := d.take(1)
	return len(b) == 1 && b[0] != 0
}

func (d *datum) word32() uint32 {
	b := d.take(4)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func (d *datum) word64() uint64 {
	b := d.take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// index reads a number below n. It returns -1 for another number, and 0 after an error.
func (d *datum) index(n int) int {
	i := d.long()
	//guard: rejects an index without a branch
	if i < 0 || i >= int64(n) {
		d.fail(errDatum)
		return -1
	}
	return int(i)
}

// count reads the number of items in the next block of an array or a map. It returns 0 after
// the last block.
func (d *datum) count() int64 {
	n := d.long()
	if n < 0 {
		n = -n
		d.long() // the block's size
	}
	//guard: bounds the items without bytes
	if n < 0 || n > int64(len(d.row)-d.at)+maxEmpty {
		d.fail(errDatum)
		return 0
	}
	return n
}

// enter moves one level down, and reports whether that is allowed.
func (d *datum) enter() bool {
	//guard: bounds how deep a row nests
	if d.depth++; d.depth > maxDepth {
		d.fail(errDatum)
	}
	return d.err == nil
}

func (d *datum) leave() { d.depth-- }
