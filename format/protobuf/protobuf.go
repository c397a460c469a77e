// Package protobuf reads protobuf messages field by field, and says where they are damaged.
package protobuf

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
)

// Message is a message of a file. The first failure sticks: Next is false then, and End says
// what is wrong. Fields that nobody asks for are passed over. Errors are *damage.Error.
type Message struct {
	// Number, Wire and Value are those of the field: Value has its length before it if it has one.
	Number protowire.Number
	Wire   protowire.Type
	Value  []byte
	// At is the offset at which the field begins.
	At int64

	what string
	c    damage.Cursor // at the next field
	seen uint64
}

// New returns the message in b, before its first field. what names it in errors; it begins at
// an offset of its file.
func New(what string, b []byte, offset int64) Message {
	return Message{what: what, c: damage.NewCursor("", b, offset)}
}

// Delimited returns the message whose length is at a place in b, as a varint before it. The
// first byte of b is at an offset.
func Delimited(what string, b []byte, at int, offset int64) (Message, error) {
	c := damage.NewCursor("", b[at:], offset+int64(at))
	body := c.Bytes(int64(c.Uvarint("length of the "+what)), what)
	return New(what, body, c.Offset()-int64(len(body))), c.Err()
}

// After is the offset at which the message ends.
func (m *Message) After() int64 { return m.c.Offset() + m.c.Remaining() }

// Read is the number of its bytes that Next has passed.
func (m *Message) Read() int { return len(m.c.Passed()) }

// Fail makes damage of a kind, at an offset of the file, the message's error if it has none.
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

// Varint is the field's value, which is at most limit.
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

// Bytes is the field's value, a part of the message.
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

// Inner reads the message that the field is. Its end is EndInner.
func (m *Message) Inner() Message {
	b := m.Bytes()
	inner := New(m.what, b, m.c.Offset()-int64(len(b)))
	inner.c.Stop(m.c.Err())
	return inner
}

// EndInner makes what was wrong with the message of Inner the message's error, as End says it.
func (m *Message) EndInner(inner *Message, required ...protowire.Number) {
	m.c.Stop(inner.End(required...))
}

// End returns what was wrong with the message, or that one of the fields is missing that it
// has to have.
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

// AppendBytes appends a field of bytes, or one that is a message.
func AppendBytes[T string | []byte](dst []byte, n protowire.Number, v T) []byte {
	dst = protowire.AppendTag(dst, n, protowire.BytesType)
	return append(protowire.AppendVarint(dst, uint64(len(v))), v...)
}
