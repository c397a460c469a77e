package shred

import "github.com/rowtocol/rowtocol/format/column"

// largeRow is the size in bytes from which the memory of rows is reserved.
const largeRow = 1 << 20

// grower makes room for rows.
type grower struct {
	memory column.Account
	held   int64 // number of reserved bytes
	err    error // why memory was refused
}

// reserve reserves memory for other data than the row. It reports whether it was granted.
func (g *grower) reserve(n int64) bool {
	if err := g.memory.Reserve(n); err != nil {
		g.err = err
		return false
	}
	return true
}

// begin makes room for the next row, which is appended to dst.
func (g *grower) begin(dst []byte) []byte {
	if g.held > 0 && int64(cap(dst)) < g.held { // the caller no longer uses the last row's memory
		g.memory.Release(g.held)
		g.held = 0
	}
	return g.room(dst)
}

// room returns dst with room for a short value.
func (g *grower) room(dst []byte) []byte {
	if cap(dst)-len(dst) < room {
		dst, _ = g.grow(dst, room)
	}
	return dst
}

// put appends bytes.
func (g *grower) put(dst, b []byte) []byte {
	if cap(dst)-len(dst) < len(b)+room {
		var ok bool
		if dst, ok = g.grow(dst, len(b)); !ok {
			return dst
		}
	}
	return append(dst, b...)
}

// grow returns dst with room for n more bytes and a short value. If memory is refused, it
// returns dst empty and false, and the row is lost.
func (g *grower) grow(dst []byte, n int) ([]byte, bool) {
	if g.err != nil {
		return dst[:0], false
	}
	size := int64(len(dst)) + int64(n) + room
	size += size / 8
	if size >= largeRow {
		if err := g.memory.Reserve(size); err != nil {
			g.err = err
			return dst[:0], false
		}
		defer g.memory.Release(g.held)
		g.held = size
	}
	grown := make([]byte, len(dst), size)
	copy(grown, dst)
	return grown, true
}
