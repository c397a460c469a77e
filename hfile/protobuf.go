package hfile

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/damage"
)

// message reads a protobuf message field by field. The first failure sticks: next is false
// then, and err says what is wrong. Fields that nobody asks for are passed over.
type message struct {
	what string // for damage
	base int64  // where the message begins, for damage
	buf  []byte
	pos  int   // of the next field
	at   int64 // where the field begins, for damage
	seen uint64
	err  error

	number protowire.Number
	wire   protowire.Type
	value  []byte
}

// delimited returns the message whose length is at a place in b, as a varint before it.
// The first byte of b is at an offset.
func delimited(what string, b []byte, at int, offset int64) (message, error) {
	length, n := protowire.ConsumeVarint(b[at:])
	//guard: a message would be read beyond its block
	if n < 0 || length > uint64(len(b)-at-n) {
		return message{}, damage.New(damage.Header, "", offset+int64(at), "%s: its length does not fit", what)
	}
	start := at + n
	return message{what: what, base: offset + int64(start), buf: b[start : start+int(length)]}, nil
}

// size is the length of the message.
func (m *message) size() int { return len(m.buf) }

func (m *message) fail(offset int64, reason string, args ...any) {
	if m.err == nil {
		e := damage.New(damage.Header, "", offset, reason, args...)
		e.Reason = m.what + ": " + e.Reason
		m.err = e
	}
}

// next moves to the next field, whose number is in m.number.
func (m *message) next() bool {
	if m.err != nil || m.pos == len(m.buf) {
		return false
	}
	m.at = m.base + int64(m.pos)
	number, wire, head := protowire.ConsumeTag(m.buf[m.pos:])
	n := 0
	if head >= 0 {
		n = protowire.ConsumeFieldValue(number, wire, m.buf[m.pos+head:])
	}
	//guard: a field would be read beyond the message
	if head < 0 || n < 0 {
		m.fail(m.at, "no protobuf field: %v", protowire.ParseError(min(head, n)))
		return false
	}
	m.number, m.wire, m.value = number, wire, m.buf[m.pos+head:m.pos+head+n]
	m.pos += head + n
	if number < 64 {
		m.seen |= 1 << number
	}
	return true
}

// is checks the field's wire type.
func (m *message) is(wire protowire.Type) bool {
	//guard: a value would be read of what is none
	if m.wire != wire {
		m.fail(m.at, "field %d has the wire type %d, expected %d", m.number, m.wire, wire)
		return false
	}
	return true
}

// varint is the field's value.
func (m *message) varint() uint64 {
	if !m.is(protowire.VarintType) {
		return 0
	}
	v, _ := protowire.ConsumeVarint(m.value)
	return v
}

// bytes is the field's value. It is a part of the message.
func (m *message) bytes() []byte {
	if !m.is(protowire.BytesType) {
		return nil
	}
	v, _ := protowire.ConsumeBytes(m.value)
	return v
}

// inner reads the message that the field is.
func (m *message) inner() message {
	b := m.bytes()
	return message{what: m.what, base: m.base + int64(m.pos-len(b)), buf: b, err: m.err}
}

// end returns what was wrong with the message, or that one of the fields is missing that it
// has to have.
func (m *message) end(required ...protowire.Number) error {
	for _, n := range required {
		//guard: a value would be made up
		if m.seen&(1<<n) == 0 {
			m.fail(m.base, "field %d is missing", n)
		}
	}
	return m.err
}

// appendVarintField appends a field with a number.
func appendVarintField(dst []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

// appendBytesField appends a field of bytes, or one that is a message.
func appendBytesField[T string | []byte](dst []byte, n protowire.Number, v T) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(v))), v...)
}
