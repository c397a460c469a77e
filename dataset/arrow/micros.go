package arrow

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/rowtocol/rowtocol/format/damage"
)

// micros converts timestamps from milliseconds or nanoseconds to microseconds.
type micros struct {
	dataType arrow.TimestampType
	from     arrow.TimeUnit
	col      int
}

func (m *micros) typ() arrow.DataType { return &m.dataType }

func (m *micros) data(b *batch, s slots) (arrow.ArrayData, error) {
	values := b.Vector(m.col).Longs
	buffer := newBuffer(b.mem, arrow.Int64SizeBytes*s.n)
	stamps := arrow.GetData[int64](buffer.Bytes())
	spread(stamps, values, s.present)
	for i, v := range stamps {
		converted, exact := m.convert(v)
		//guard: refuses to round or overflow timestamps
		if !exact {
			buffer.Release()
			reason := "%d ms is more microseconds than 64 bits hold"
			if m.from == arrow.Nanosecond {
				reason = "%d ns is no whole number of microseconds"
			}
			err := damage.New(damage.Unsupported, "", -1, reason, v)
			err.Column, err.Row = b.columns[m.col].Name, int64(s.row(i))
			return nil, err
		}
		stamps[i] = converted
	}
	return b.newData(&m.dataType, s, nil, buffer), nil
}

// convert returns a timestamp in microseconds, and whether it is exact.
func (m *micros) convert(v int64) (converted int64, exact bool) {
	if m.from == arrow.Nanosecond {
		converted = v / 1000
		return converted, converted*1000 == v
	}
	converted = v * 1000
	return converted, converted/1000 == v
}
