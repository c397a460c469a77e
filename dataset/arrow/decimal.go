package arrow

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"github.com/rowtocol/rowtocol/format/damage"
)

// decimals makes decimals of 128 or 256 bits from Avro's, which are big-endian two's
// complement numbers of any length.
type decimals struct {
	dataType  arrow.DecimalType
	col       int
	precision int32
}

func (m *decimals) typ() arrow.DataType { return m.dataType }

func (m *decimals) data(b *batch, s slots) (arrow.ArrayData, error) {
	v := b.Vector(m.col)
	width := m.dataType.BitWidth() / 8
	buffer := newBuffer(b.mem, width*s.n)
	clear(buffer.Bytes())
	j := 0
	for i := range s.n {
		if s.present != nil && s.present[i] == 0 {
			continue
		}
		value := v.Data[v.Offsets[j]:v.Offsets[j+1]]
		j++
		if !m.put(buffer.Bytes()[i*width:(i+1)*width], value) {
			buffer.Release()
			return nil, b.damaged(m.col, damage.Value, "a decimal of more than the %d digits of its type", m.precision)
		}
	}
	return b.newData(m.dataType, s, nil, buffer), nil
}

// put writes one number in the machine's byte order, and reports whether it fits the
// digits of its type.
func (m *decimals) put(dst, value []byte) bool {
	var words [4]uint64 // least significant first
	sign := byte(0)
	if len(value) > 0 && value[0]&0x80 != 0 {
		sign = 0xff
	}
	for len(value) > len(dst) {
		//guard: rejects a decimal that loses digits
		if value[0] != sign {
			return false
		}
		value = value[1:]
	}
	var whole [32]byte
	for i := range whole[:32-len(value)] {
		whole[i] = sign
	}
	copy(whole[32-len(value):], value)
	//guard: rejects a decimal that changes its sign
	if whole[32-len(dst)]^sign >= 0x80 {
		return false // the sign is cut off
	}
	for i := range words {
		words[i] = binary.BigEndian.Uint64(whole[24-8*i:])
	}
	if len(dst) == arrow.Decimal128SizeBytes {
		n := decimal128.New(int64(words[1]), words[0])
		arrow.GetData[decimal128.Num](dst)[0] = n
		return n.FitsInPrecision(m.precision)
	}
	n := decimal256.New(words[3], words[2], words[1], words[0])
	arrow.GetData[decimal256.Num](dst)[0] = n
	return n.FitsInPrecision(m.precision)
}
