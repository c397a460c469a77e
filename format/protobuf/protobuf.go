// Package protobuf reads protobuf messages field by field, and says where they are damaged.
package protobuf

import (
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
	base int64 // offset at which the message begins
	buf  []byte
	pos  int // of the next field
	seen uint64
	err  error
}

// New returns the message in b, before its first field. what names it in errors; it begins at
// an offset of its file.
func New(what string, b []byte, offset int64) Message {
	return Message{what: what, buf: b, base: offset}
}

// Delimited returns the message whose length is at a place in b, as a varint before it. The
// first byte of b is at an offset.
func Delimited(what string, b []byte, at int, offset int64) (Message, error) {
	length, n := protowire.ConsumeVarint(b[at:])
	//guard: a message would be read beyond what there is
	if n < 0 || length > uint64(len(b)-at-n) {
		return Message{}, damage.New(damage.Header, "", offset+int64(at), "%s: its length does not fit", what)
	}
	start := at + n
	return New(what, b[start:start+int(length)], offset+int64(start)), nil
}

// After is the offset at which the message ends.
func (m *Message) After() int64 { return m.base + int64(len(m.buf)) }

// Read is the number of its bytes that Next has passed.
func (m *Message) Read() int { return m.pos }

// Fail makes damage of a kind, at an offset of the file, the message's error if it has none.
func (m *Message) Fail(kind damage.Kind, offset int64, reason string, args ...any) {
	if m.err == nil {
		e := damage.New(kind, "", offset, reason, args...)
		e.Reason = m.what + ": " + e.Reason
		m.err = e
	}
}

// Next moves to the next field.
func (m *Message) Next() bool {
	if m.err != nil || m.pos == len(m.buf) {
		return false
	}
	m.At = m.base + int64(m.pos)
	number, wire, head := protowire.ConsumeTag(m.buf[m.pos:])
	n := 0
	if head >= 0 {
		n = protowire.ConsumeFieldValue(number, wire, m.buf[m.pos+head:])
	}
	//guard: a field would be read beyond the message
	if head < 0 || n < 0 {
		m.Fail(damage.Header, m.At, "no protobuf field: %v", protowire.ParseError(min(head, n)))
		return false
	}
	m.Number, m.Wire, m.Value = number, wire, m.buf[m.pos+head:m.pos+head+n]
	m.pos += head + n
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
	//guard: a number would be cut, or become negative
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
	//guard: a value would be read of what is none
	if m.Wire != wire {
		m.Fail(damage.Header, m.At, "field %d has the wire type %d, expected %d", m.Number, m.Wire, wire)
		return false
	}
	return true
}

// Inner reads the message that the field is. Its end is EndInner.
func (m *Message) Inner() Message {
	b := m.Bytes()
	return Message{what: m.what, base: m.base + int64(m.pos-len(b)), buf: b, err: m.err}
}

// EndInner makes what was wrong with the message of Inner the message's error, as End says it.
func (m *Message) EndInner(inner *Message, required ...protowire.Number) {
	m.err = inner.End(required...)
}

// End returns what was wrong with the message, or that one of the fields is missing that it
// has to have.
func (m *Message) End(required ...protowire.Number) error {
	for _, n := range required {
		//guard: a value would be made up
		if m.seen&(1<<n) == 0 {
			m.Fail(damage.Header, m.base, "field %d is missing", n)
		}
	}
	return m.err
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
