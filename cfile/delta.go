package cfile

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// deltaStats is the metadata key that DeltaFiles have.
const deltaStats = "deltafilestats"

// isDelta reports whether the values of a file are changes of rows.
func isDelta(f *Footer) bool {
	_, ok := f.Get(deltaStats)
	return ok && f.Type == Binary && f.Encoding == Plain && !f.Nullable
}

// deltaPart is a DeltaFile as a part. Each of its rows is a change of a table's row.
type deltaPart struct{ *part }

// deltaSchema is the schema of the changes. Only the table knows the types of values.
const deltaSchema = `{"type":"record","name":"Delta","fields":[` +
	`{"name":"row","type":"long"},{"name":"timestamp","type":"long"},` +
	`{"name":"change","type":{"type":"enum","name":"Change","symbols":["UPDATE","DELETE","REINSERT"]}},` +
	`{"name":"columns","type":{"type":"array","items":{"type":"record","name":"Cell","fields":[` +
	`{"name":"id","type":"int"},{"name":"value","type":["null","bytes"]}]}}}]}`

// Contents implements format.Holder.
func (p *deltaPart) Contents() string { return "changes of the rows of a Kudu rowset" }

func (p *deltaPart) Schema() string { return deltaSchema }

// Read implements format.RowPart.
func (p *deltaPart) Read() (format.RowReader, error) {
	f := p.files[0]
	file, err := f.open(p.part)
	if err != nil {
		return nil, err
	}
	return &deltaReader{part: p.part, values: file.Cursor()}, nil
}

// deltaReader reads deltas as rows. It holds one at a time.
type deltaReader struct {
	part   *part
	values *Cursor
	value  Rows
	datum  []byte
	held   int64 // bytes of value and datum that are accounted for
	last   int64 // row of the previous delta
	err    error
}

func (r *deltaReader) Next() ([]byte, error) {
	if r.err == nil {
		r.err = r.next()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.datum, nil
}

func (r *deltaReader) next() error {
	r.value.Reset()
	at := r.values.Ordinal()
	if _, err := r.values.Read(&r.value, 1); err != nil {
		return err
	}
	var row int64
	var err error
	r.datum, row, err = appendDelta(r.datum[:0], r.value.Binary(0))
	//guard: rejects deltas whose rows do not ascend
	if err == nil && row < r.last {
		err = damage.New(damage.Value, "", -1, "the delta of row %d follows that of row %d", row, r.last)
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		d.File, d.Row = r.part.files[0].stored.Name(), at
	}
	if err != nil {
		return err
	}
	r.last = row
	if n := int64(cap(r.value.Data) + cap(r.datum)); n > r.held {
		//guard: counts the largest delta as memory in use
		if err := r.part.memory.Reserve(n - r.held); err != nil {
			return err
		}
		r.held = n
	}
	return nil
}

func (r *deltaReader) Close() {
	r.values.Close()
	r.part.memory.Release(r.held)
	*r = deltaReader{err: io.EOF, values: r.values, part: r.part}
}

// appendDelta appends a delta as Avro data of deltaSchema, and returns its row.
func appendDelta(dst, delta []byte) (_ []byte, row int64, err error) {
	number, rest, err := sortedVarint(delta)
	if err != nil {
		return dst, 0, err
	}
	//guard: rejects rows that a rowset cannot have
	if number > math.MaxUint32 {
		return dst, 0, damage.New(damage.Value, "", -1, "the delta is of row %d, more than 2³²-1", number)
	}
	timestamp, rest, err := sortedVarint(rest)
	if err != nil {
		return dst, 0, err
	}
	//guard: rejects timestamps that would become negative
	if timestamp > math.MaxInt64 {
		return dst, 0, damage.New(damage.Unsupported, "", -1, "the timestamp %d is more than a long holds", timestamp)
	}
	dst = binary.AppendVarint(binary.AppendVarint(dst, int64(number)), int64(timestamp))
	dst, err = appendChange(dst, rest)
	return dst, int64(number), err
}

// The kinds of changes.
const (
	updateRow   = 1
	deleteRow   = 2
	reinsertRow = 3
)

// appendChange appends a RowChangeList as Avro data. It writes the kind, and the columns as array
// blocks of one item.
func appendChange(dst, change []byte) ([]byte, error) {
	//guard: rejects a delta that ends after its timestamp
	if len(change) == 0 {
		return dst, damage.New(damage.Truncated, "", -1, "the delta has no kind")
	}
	kind, cells := change[0], change[1:]
	switch {
	//guard: rejects unknown kinds of changes
	case kind < updateRow || kind > reinsertRow:
		return dst, damage.New(damage.Value, "", -1, "the delta is of kind %d, not 1 to 3", kind)
	//guard: rejects bytes after a DELETE
	case kind == deleteRow && len(cells) > 0:
		return dst, damage.New(damage.Trailing, "", -1, "%d bytes follow the DELETE of a row", len(cells))
	//guard: rejects an UPDATE of nothing
	case kind == updateRow && len(cells) == 0:
		return dst, damage.New(damage.Truncated, "", -1, "the UPDATE of a row changes no column")
	}
	dst = binary.AppendVarint(dst, int64(kind-updateRow))
	for len(cells) > 0 {
		var err error
		if dst, cells, err = appendCell(binary.AppendVarint(dst, 1), cells); err != nil {
			return dst, err
		}
	}
	return append(dst, 0), nil
}

// appendCell appends the first of the cells, and returns the cells after it.
func appendCell(dst, cells []byte) (_, rest []byte, err error) {
	column, n := binary.Uvarint(cells)
	//guard: rejects a column ID that is cut off, or would become another
	if n <= 0 || column > math.MaxInt32 {
		return dst, nil, damage.New(damage.Value, "", -1, "the delta has no column ID %d bytes before its end", len(cells))
	}
	dst, cells = binary.AppendVarint(dst, int64(column)), cells[n:]
	size, n := binary.Uvarint(cells)
	//guard: rejects a size that is cut off
	if n <= 0 {
		return dst, nil, damage.New(damage.Truncated, "", -1, "the value of column %d has no size", column)
	}
	cells = cells[n:]
	if size == 0 {
		return append(dst, 0), cells, nil
	}
	size--
	//guard: rejects a value that is longer than its delta
	if size > uint64(len(cells)) {
		return dst, nil, damage.New(damage.Size, "", -1, "the value of column %d has %d bytes, and %d follow", column, size, len(cells))
	}
	dst = binary.AppendVarint(append(dst, 2), int64(size))
	return append(dst, cells[:size]...), cells[size:], nil
}

// The least numbers that take 2, 3 and more bytes as a sorted varint, and the first bytes of
// the first two.
const (
	least2, first2 = 241, 241
	least3, first3 = 2288, 249
	least4         = 67824
)

// sortedVarint reads a sorted varint from b, and returns the bytes after it.
func sortedVarint(b []byte) (n uint64, rest []byte, err error) {
	//guard: rejects a delta that ends before its timestamp
	if len(b) == 0 {
		return 0, nil, damage.New(damage.Truncated, "", -1, "the delta ends before its row and timestamp")
	}
	size := 1
	switch {
	case b[0] >= first3:
		size = 3 + int(b[0]-first3)
	case b[0] >= first2:
		size = 2
	}
	//guard: rejects a number that is cut off
	if len(b) < size {
		return 0, nil, damage.New(damage.Truncated, "", -1, "a number of the delta has %d bytes, expected %d", len(b), size)
	}
	for _, next := range b[1:size] {
		n = n<<8 | uint64(next)
	}
	least := uint64(0)
	switch size {
	case 1:
		n = uint64(b[0])
	case 2:
		least = least2
		n += uint64(b[0]-first2)<<8 + least2 - 1
	case 3:
		least = least3
		n += least3
	default:
		least = max(least4, uint64(1)<<(8*(size-2)))
	}
	//guard: rejects a number that does not sort as it should
	if n < least {
		return 0, nil, damage.New(damage.Value, "", -1, "a number of the delta, %d, has %d bytes, more than it needs", n, size)
	}
	return n, b[size:], nil
}
