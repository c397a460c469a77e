// Package protobuf reads protobuf messages field by field and locates damage in them.
package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Message is a message of a file. After the first failure Next returns false, and End
// returns the error. Fields that are not read are skipped. Errors are *damage.Error.
type Message struct {
	// Number, Wire and Value are the number, wire type and value of the current field. If
	// the field has a length, Value includes the length.
	Number protowire.Number
	Wire   protowire.Type
	Value  []byte
	// At is the offset in the file at which the field begins.
	At int64

	what string        // name of the message in errors
	c    damage.Cursor // stands before the next field
	seen uint64        // bit n is set if field n was read
}

// New returns the message in b, before its first field. what names the message in errors.
// offset is its offset in the file.
func New(what string, b []byte, offset int64) Message {
	return Message{what: what, c: damage.NewCursor("", b, offset)}
}

// Delimited returns the message that follows its length, a varint at b[at:]. The first byte
// of b is at an offset of the file.
func Delimited(what string, b []byte, at int, offset int64) (Message, error) {
	c := damage.NewCursor("", b[at:], offset+int64(at))
	body := c.Bytes(int64(c.Uvarint("length of the "+what)), what)
	return New(what, body, c.Offset()-int64(len(body))), c.Err()
}

// After returns the offset at which the message ends.
func (m *Message) After() int64 { return m.c.Offset() + m.c.Remaining() }

// Read returns how many bytes of the message Next has read.
func (m *Message) Read() int { return len(m.c.Consumed()) }

// Fail sets the message's error to damage of a kind, at an offset of the file. If the message
// already has an error, Fail does nothing.
func (m *Message) Fail(kind damage.Kind, offset int64, reason string, args ...any) {
	m.c.Fail(kind, offset, "%s: %s", m.what, fmt.Sprintf(reason, args...))
}

// Next moves to the next field.
func (m *Message) Next() bool {
	if m.c.Err() != nil || m.c.Remaining() == 0 {
		return false
	}
	m.At = m.c.Offset()
	number, wire, head := protowire.ConsumeTag(m.c.Rest())
	n := 0
	if head >= 0 {
		n = protowire.ConsumeFieldValue(number, wire, m.c.Rest()[head:])
	}
	//guard: rejects a field whose head is cut short
	if head < 0 || n < 0 {
		m.Fail(damage.Header, m.At, "no protobuf field: %v", protowire.ParseError(min(head, n)))
		return false
	}
	m.Number, m.Wire, m.Value = number, wire, m.c.Bytes(int64(head+n), m.what)[head:]
	if number < 64 {
		m.seen |= 1 << number
	}
	return true
}

// Varint returns the field's value. A value above limit is an error.
func (m *Message) Varint(limit uint64) uint64 {
	if !m.is(protowire.VarintType) {
		return 0
	}
	v, _ := protowire.ConsumeVarint(m.Value)
	//guard: rejects a number beyond the limit
	if v > limit {
		m.Fail(damage.Value, m.At, "field %d is %d, at most %d", m.Number, int64(v), limit)
		return 0
	}
	return v
}

// Bytes returns the field's value, which is a part of the message.
func (m *Message) Bytes() []byte {
	if !m.is(protowire.BytesType) {
		return nil
	}
	v, _ := protowire.ConsumeBytes(m.Value)
	return v
}

// is checks the field's wire type.
func (m *Message) is(wire protowire.Type) bool {
	//guard: rejects a field of another wire type
	if m.Wire != wire {
		m.Fail(damage.Header, m.At, "field %d has the wire type %d, expected %d", m.Number, m.Wire, wire)
		return false
	}
	return true
}

// Inner returns the message in the field. Call EndInner at the end of that message.
func (m *Message) Inner() Message {
	b := m.Bytes()
	inner := New(m.what, b, m.c.Offset()-int64(len(b)))
	inner.c.Stop(m.c.Err())
	return inner
}

// EndInner ends a message that Inner returned. The error that End of the inner message
// returns becomes the error of m.
func (m *Message) EndInner(inner *Message, required ...protowire.Number) {
	m.c.Stop(inner.End(required...))
}

// End returns the error of the message. It is an error if a required field is missing.
func (m *Message) End(required ...protowire.Number) error {
	for _, n := range required {
		//guard: rejects a message without a required field
		if m.seen&(1<<n) == 0 {
			m.Fail(damage.Header, m.c.Offset()-int64(m.Read()), "field %d is missing", n)
		}
	}
	return m.c.Err()
}

// AppendVarint appends a field with a number.
func AppendVarint(dst []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, n, protowire.VarintType), v)
}

// AppendBytes appends a field of bytes or a message.
func AppendBytes[T string | []byte](dst []byte, n protowire.Number, v T) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(v))), v...)
}
