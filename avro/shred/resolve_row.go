package shred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rowtocol/rowtocol/format/damage"
)

// ErrTooLarge is the cause of the error if a row resolves to more bytes than the limit of
// its Resolver. Defaults in items of few bytes can make a row many times larger.
var ErrTooLarge = errors.New("the row is too large")

// ErrRoom is the cause of the error if a row fits the limit of the Resolver, but not its
// memory.
var ErrRoom = errors.New("the row has too little room")

// Resolver turns rows written with one schema into rows of another. It belongs to one
// goroutine and allocates nothing per row.
type Resolver struct {
	root   *action
	walk   Shredder // checks the writer's data
	out    []byte
	from   int   // start of the row in out
	limit  int64 // most bytes of any row
	room   int64 // most bytes of the current row, by the memory for it
	over   bool  // put refused bytes beyond room
	halves bool  // the row and moved share the memory

	strict  bool    // a row with an inexact value is an error
	row     Inexact // counts of the current row
	inexact Inexact // counts of earlier rows, since TakeInexact

	// kept lists the fields of the records that are being reordered, the inner records
	// last. moved holds the bytes of these fields that are not in the writer's datum.
	kept     []keptField
	moved    []byte
	shredded []byte // the row that Shred resolved
}

// Inexact counts values that a resolution, or the format of the columns, could not keep unchanged.
type Inexact struct {
	EnumDefaults int64 `json:"enum_defaults,omitempty"` // symbols that the reader's enum lacks, replaced by its default
	Rounded      int64 `json:"rounded,omitempty"`       // numbers that a float or a double does not hold exactly
	Strings      int64 `json:"strings,omitempty"`       // strings that were not UTF-8: see column.ReplaceInvalid
}

// Values returns the number of all such values.
func (i Inexact) Values() int64 { return i.EnumDefaults + i.Rounded + i.Strings }

// String describes how the values changed.
func (i Inexact) String() string {
	var changes []string
	add := func(n int64, one, many string) {
		switch {
		case n == 1:
			changes = append(changes, "1 "+one)
		case n > 1:
			changes = append(changes, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(i.EnumDefaults, "enum symbol became the schema's default", "enum symbols became the schema's default")
	add(i.Rounded, "number was rounded", "numbers were rounded")
	add(i.Strings, "string was not UTF-8 and got U+FFFD", "strings were not UTF-8 and got U+FFFD")
	return strings.Join(changes, ", ")
}

// Plus returns the sum of two counts.
func (i Inexact) Plus(other Inexact) Inexact {
	return Inexact{i.EnumDefaults + other.EnumDefaults, i.Rounded + other.Rounded, i.Strings + other.Strings}
}

// TakeInexact returns the counts since its last call. They are zero for a nil Resolver.
func (r *Resolver) TakeInexact() Inexact {
	if r == nil {
		return Inexact{}
	}
	taken := r.inexact
	r.inexact = Inexact{}
	return taken
}

// keptField is the position of a field's data: in the writer's datum, or, if it was
// resolved, in the bytes that the record has added to the row.
type keptField struct {
	start, end int
	resolved   bool
}

// NewResolver returns a Resolver that makes rows of at most limit bytes, or nil if the
// resolution is nil.
func NewResolver(by *Resolution, limit int64) *Resolver {
	if by == nil {
		return nil
	}
	return &Resolver{root: by.root, strict: by.rules == KeepMeaning, limit: limit, room: limit, halves: by.reorders}
}

// SetMemory sets the memory for Shred. For a row that takes more, the error is ErrRoom.
// If records are reordered, a row has half of the memory.
func (r *Resolver) SetMemory(memory []byte) {
	room := len(memory)
	if r.halves {
		room /= 2
		r.moved = memory[room:room]
	}
	r.shredded = memory[:0:room]
	r.Limit(room)
}

// Room returns the bytes of memory that SetMemory needs for any row within the limit.
func (r *Resolver) Room() int {
	room := int(r.limit) + resolverSlack
	if r.halves {
		room *= 2
	}
	return room
}

// Limit makes Row append at most room bytes. It keeps some of them as slack. For a row
// that takes more, the error is ErrRoom.
func (r *Resolver) Limit(room int) { r.room = max(min(int64(room-resolverSlack), r.limit), 0) }

// resolverSlack is the most bytes by which a row can exceed its limit before full is
// called.
const resolverSlack = 64

// Row resolves the datum at the start of the slice datum, appends the result to dst, and
// returns the datum's size in the slice. Data that needs no resolution is copied. Other
// data is encoded in the plainest form. The error is a *damage.Error that names the
// field's path, in the writer's terms, and the offset in the slice. Its cause is
// ErrTooLarge or ErrRoom for a row of too many bytes. After an error, Row returns dst
// unchanged.
func (r *Resolver) Row(dst, datum []byte) (out []byte, n int, err error) {
	r.walk.b, r.walk.empty = datum, 0
	r.out, r.from, r.over, r.kept, r.row = dst, len(dst), false, r.kept[:0], Inexact{}
	p := r.run(r.root, 0, 0)
	//guard: stops a row that resolves to more than the limit
	if p >= 0 && r.full() {
		p = r.tooLarge(0)
	}
	out, r.out, r.walk.b = r.out, nil, nil
	if p < 0 {
		failure := r.walk.err
		r.walk.err = nil
		return dst, 0, failure
	}
	r.inexact = r.inexact.Plus(r.row)
	return out, p, nil
}

// Shred resolves the datum at the start of rows and shreds the result. It returns the
// result, which is valid until the next call, and the datum's size in rows. A nil
// Resolver shreds the datum as it is. Errors are those of Row and of the shredder.
func (r *Resolver) Shred(s *Shredder, rows []byte) (datum []byte, n int, err error) {
	if r == nil {
		n, err = s.Row(rows)
		return rows[:n], n, err
	}
	if r.shredded, n, err = r.Row(r.shredded[:0], rows); err == nil {
		_, err = s.Row(r.shredded)
	}
	return r.shredded, n, err
}

// full reports whether the row exceeds its limit, or would exceed it with the bytes that
// put refused. run calls full before each type.
func (r *Resolver) full() bool { return r.over || int64(len(r.out)-r.from) > r.room }

// put appends bytes of any length to the row.
func (r *Resolver) put(b []byte) {
	//guard: refuses a row that is too large before it gets memory
	if int64(len(r.out)-r.from)+int64(len(b)) > r.room {
		r.over = true
		return
	}
	r.out = append(r.out, b...)
}

func (r *Resolver) tooLarge(p int) int {
	r.walk.fail(damage.Unsupported, p, "it resolves to more than %d bytes", r.room)
	if r.walk.err.Err = ErrTooLarge; r.room < r.limit {
		r.walk.err.Err = ErrRoom
	}
	return -1
}

// run resolves the datum at p and returns the position after it, or -1 with the error
// set.
func (r *Resolver) run(a *action, p, depth int) int {
	if r.full() {
		return r.tooLarge(p)
	}
	//guard: bounds how deep data nests
	if depth > maxDepth {
		return r.walk.fail(damage.Unsupported, p, "data nested more than %d levels deep", maxDepth)
	}
	switch a.code {
	case resolveCopy:
		q := r.walk.skip(a.writer, p, depth)
		if q >= 0 {
			r.put(r.walk.b[p:q])
		}
		return q
	case resolveFloat, resolveDouble, resolveUnit:
		return r.number(a, p)
	case resolveEnum:
		return r.enum(a, p)
	case resolveInOrder:
		return r.inOrder(a, p, depth)
	case resolveReorder:
		return r.reorder(a, p, depth)
	case resolveItems:
		return r.items(a, p, depth)
	case resolveBranch:
		i, q := r.walk.index(p, len(a.branches), "union index %d of %d branches")
		if q < 0 {
			return q
		}
		if m := a.branches[i].mismatch; m != nil {
			return r.walk.fail(damage.Value, p, "branch %d of the union: %s", i, m)
		}
		return r.run(a.branches[i], q, depth)
	case resolveIndex:
		r.put(a.literal)
		return r.run(a.sub, p, depth)
	}
	return r.walk.fail(damage.Value, p, "%s", a.mismatch)
}

// number converts a number to float or double, as Java's casts do: to the nearest value,
// and to the even one of two equally near values. It also converts a time to a finer
// unit.
func (r *Resolver) number(a *action, p int) int {
	if a.writer.Kind == KindFloat {
		q := r.walk.skipBytes(p, 4)
		if q >= 0 {
			v := float64(math.Float32frombits(binary.LittleEndian.Uint32(r.walk.b[p:q])))
			r.out = binary.LittleEndian.AppendUint64(r.out, math.Float64bits(v))
		}
		return q
	}
	width := maxLong
	if a.writer.Kind == KindInt {
		width = maxInt
	}
	q := r.walk.varintEnd(p, width)
	if q < 0 {
		return q
	}
	n, _ := binary.Varint(r.walk.b[p:q])
	switch a.code {
	case resolveUnit:
		//guard: rejects a time that overflows in the new unit
		if n > math.MaxInt64/a.factor || n < math.MinInt64/a.factor {
			return r.walk.fail(damage.Value, p, "the %s %d is too large for the reader's finer unit", a.writer.LogicalType(), n)
		}
		r.out = binary.AppendVarint(r.out, n*a.factor)
		return q
	case resolveFloat:
		v := float32(n)
		r.out = binary.LittleEndian.AppendUint32(r.out, math.Float32bits(v))
		return r.rounded(p, q, n, float64(v), "float")
	}
	r.out = binary.LittleEndian.AppendUint64(r.out, math.Float64bits(float64(n)))
	return r.rounded(p, q, n, float64(n), "double")
}

// rounded counts an integer that v does not hold exactly, or rejects it. It returns q,
// the position after the integer.
func (r *Resolver) rounded(p, q int, n int64, v float64, kind string) int {
	if v < 1<<63 && int64(v) == n {
		return q
	}
	//guard: refuses a rounded number unless a schema was asked for
	if r.strict {
		return r.walk.fail(damage.Value, p, "the reader's %s does not hold %d exactly, and only --schema allows to round it", kind, n)
	}
	r.row.Rounded++
	return q
}

func (r *Resolver) enum(a *action, p int) int {
	i, q := r.walk.index(p, len(a.ordinals), "enum ordinal %d of %d symbols")
	if q < 0 {
		return q
	}
	to := a.ordinals[i]
	//guard: rejects a symbol that the reader lacks
	if to == -1 {
		return r.walk.fail(damage.Value, p, "the reader's enum has neither the symbol %s nor a default", quote(a.writer.Symbols[i]))
	}
	if to == readerDefault {
		//guard: refuses the default symbol unless a schema was asked for
		if r.strict {
			return r.walk.fail(damage.Value, p, "the reader's enum lacks the symbol %s, and only --schema allows its default", quote(a.writer.Symbols[i]))
		}
		r.row.EnumDefaults++
		to = a.fallback
	}
	r.out = binary.AppendVarint(r.out, int64(to))
	return q
}

// inOrder resolves a record in one pass. Adjacent copied fields are copied together.
func (r *Resolver) inOrder(a *action, p, depth int) int {
	start := p // start of the bytes not yet copied
	for i := range a.fields {
		f := &a.fields[i]
		same := f.sub != nil && f.sub.code == resolveCopy
		if !same || len(f.literal) > 0 {
			r.put(r.walk.b[start:p])
			r.put(f.literal)
			start = p
		}
		if same || f.sub == nil {
			p = r.walk.skip(f.node, p, depth+1)
		} else {
			p = r.run(f.sub, p, depth+1)
		}
		if p < 0 {
			r.walk.at(f.name)
			return p
		}
		if !same {
			start = p
		}
	}
	r.put(r.walk.b[start:p])
	r.put(a.literal)
	return p
}

// reorder resolves a record's fields in the writer's order, and then puts them into the
// reader's order.
func (r *Resolver) reorder(a *action, p, depth int) int {
	base, start := len(r.kept), len(r.out)
	for i := range a.fields {
		f := &a.fields[i]
		field := keptField{start: p, resolved: f.sub != nil && f.sub.code != resolveCopy}
		if field.resolved {
			field.start = len(r.out) - start
			p = r.run(f.sub, p, depth+1)
			field.end = len(r.out) - start
		} else {
			p = r.walk.skip(f.node, p, depth+1)
			field.end = p
		}
		if p < 0 {
			r.walk.at(f.name)
			return p
		}
		if f.sub != nil {
			r.kept = append(r.kept, field)
		}
	}
	r.moved = append(r.moved[:0], r.out[start:]...)
	r.out = r.out[:start]
	for _, o := range a.order {
		if o.nth < 0 {
			r.put(o.literal)
			continue
		}
		from := r.walk.b
		field := r.kept[base+o.nth]
		if field.resolved {
			from = r.moved
		}
		r.put(from[field.start:field.end])
	}
	r.kept = r.kept[:base]
	return p
}

// items resolves an array or a map, block by block.
func (r *Resolver) items(a *action, p, depth int) int {
	isMap := a.writer.Kind == KindMap
	minSize := a.writer.Items.least
	if isMap {
		minSize++
	}
	for {
		n, end, q := r.walk.blockCount(minSize, p)
		if q < 0 {
			return q
		}
		r.out = binary.AppendVarint(r.out, int64(n))
		for range n {
			if q = r.item(a, q, depth, isMap); q < 0 {
				r.walk.at(itemPath(a.writer))
				return q
			}
		}
		if end >= 0 && q != end {
			return r.walk.fail(damage.Size, p, "items end %d bytes off their block's stated size", q-end)
		}
		if n == 0 {
			return q
		}
		p = q
	}
}

func (r *Resolver) item(a *action, p, depth int, keyed bool) int {
	if keyed {
		q := r.walk.skipSized(p)
		if q < 0 {
			return q
		}
		r.put(r.walk.b[p:q])
		p = q
	}
	return r.run(a.sub, p, depth+1)
}
