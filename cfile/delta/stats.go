package delta

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
)

// statsKey is the metadata key of the statistics.
const statsKey = "deltafilestats"

// Stats are what the footer of a file says of its deltas.
type Stats struct {
	Deletes      int64
	Reinserts    int64
	MinTimestamp uint64
	MaxTimestamp uint64
	Columns      []ColumnStats // of the columns with cells, ascending
}

// ColumnStats are about a column.
type ColumnStats struct {
	Column  uint32 // its ID
	Updates int64  // its cells, those of REINSERTs included
}

// add counts a delta.
func (s *Stats) add(at uint64, c *Change) {
	s.MinTimestamp, s.MaxTimestamp = min(s.MinTimestamp, at), max(s.MaxTimestamp, at)
	switch c.Kind {
	case Delete:
		s.Deletes++
	case Reinsert:
		s.Reinserts++
	}
	for i := range c.Cells {
		id := c.Cells[i].Column
		at, found := slices.BinarySearchFunc(s.Columns, id, func(c ColumnStats, id uint32) int { return cmp.Compare(c.Column, id) })
		if !found {
			s.Columns = slices.Insert(s.Columns, at, ColumnStats{Column: id})
		}
		s.Columns[at].Updates++
	}
}

// noStats are those of no deltas.
func noStats() Stats { return Stats{MinTimestamp: math.MaxUint64} }

// Tags of DeltaStatsPB and its ColumnStats: number and wire type of a field.
const (
	tagDeletes      = 1<<3 | uint64(protowire.VarintType)
	tagMinTimestamp = 3<<3 | uint64(protowire.Fixed64Type)
	tagMaxTimestamp = 4<<3 | uint64(protowire.Fixed64Type)
	tagColumn       = 5<<3 | uint64(protowire.BytesType)
	tagReinserts    = 6<<3 | uint64(protowire.VarintType)

	tagColumnID = 1<<3 | uint64(protowire.VarintType)
	tagUpdates  = 2<<3 | uint64(protowire.VarintType)
)

func appendVarintField(dst []byte, tag uint64, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendVarint(dst, tag), uint64(n))
}

func appendFixedField(dst []byte, tag, n uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendVarint(dst, tag), n)
}

// append appends a DeltaStatsPB.
func (s *Stats) append(dst []byte) []byte {
	dst = appendVarintField(dst, tagDeletes, s.Deletes)
	dst = appendFixedField(dst, tagMinTimestamp, s.MinTimestamp)
	dst = appendFixedField(dst, tagMaxTimestamp, s.MaxTimestamp)
	for _, c := range s.Columns {
		column := appendVarintField(appendVarintField(nil, tagColumnID, int64(c.Column)), tagUpdates, c.Updates)
		dst = protowire.AppendBytes(protowire.AppendVarint(dst, tagColumn), column)
	}
	return appendVarintField(dst, tagReinserts, s.Reinserts)
}

// parseStats parses a DeltaStatsPB. Errors are *damage.Error without a place.
func parseStats(b []byte) (s Stats, err error) {
	var deletes, least, most bool // whether they are there
	err = fields(b, func(tag, n uint64, bytes []byte) (err error) {
		switch tag {
		case tagDeletes:
			s.Deletes, deletes = int64(n), true
		case tagMinTimestamp:
			s.MinTimestamp, least = n, true
		case tagMaxTimestamp:
			s.MaxTimestamp, most = n, true
		case tagReinserts:
			s.Reinserts = int64(n)
		case tagColumn:
			var c ColumnStats
			c, err = parseColumnStats(bytes)
			s.Columns = append(s.Columns, c)
		}
		return err
	})
	if err != nil {
		return s, err
	}
	//guard: statistics that are cut would tell of no deletes
	if !deletes || !least || !most {
		return s, damage.New(damage.Header, "", -1, "%s lacks a field", statsKey)
	}
	slices.SortFunc(s.Columns, func(a, b ColumnStats) int { return cmp.Compare(a.Column, b.Column) })
	return s, nil
}

func parseColumnStats(b []byte) (c ColumnStats, err error) {
	err = fields(b, func(tag, n uint64, _ []byte) error {
		switch tag {
		case tagColumnID:
			//guard: the statistics would be those of another column
			if n > math.MaxInt32 {
				return damage.New(damage.Value, "", -1, "%s: column ID %d is more than 2³¹-1", statsKey, n)
			}
			c.Column = uint32(n)
		case tagUpdates:
			c.Updates = int64(n)
		}
		return nil
	})
	return c, err
}

// fields calls fn for the fields of a message, with the number of a field that is one,
// and the bytes of one that has a length.
func fields(b []byte, fn func(tag, n uint64, bytes []byte) error) error {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		var n uint64
		var bytes []byte
		if size >= 0 {
			b = b[size:]
			switch kind {
			case protowire.VarintType:
				n, size = protowire.ConsumeVarint(b)
			case protowire.Fixed64Type:
				n, size = protowire.ConsumeFixed64(b)
			case protowire.BytesType:
				bytes, size = protowire.ConsumeBytes(b)
			default:
				size = protowire.ConsumeFieldValue(number, kind, b)
			}
		}
		//guard: a field that is cut would crash the program
		if size < 0 {
			return damage.New(damage.Header, "", -1, "%s: %v", statsKey, protowire.ParseError(size))
		}
		b = b[size:]
		if err := fn(protowire.EncodeTag(number, kind), n, bytes); err != nil {
			return err
		}
	}
	return nil
}
