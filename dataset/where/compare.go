package where

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
)

// comparison translates an operator between two values.
func (t *translator) comparison(n *node, negated bool) (condition, error) {
	o := operator(n.text)
	for i, k := range n.kids {
		if k.condition() {
			return t.truth(n, k, n.kids[1-i], o, negated)
		}
	}
	if c, err := t.unionTest(n, o, negated); c != nil || err != nil {
		return c, err
	}
	left, err := t.term(n.kids[0])
	if err != nil {
		return nil, err
	}
	right, err := t.term(n.kids[1])
	if err != nil {
		return nil, err
	}
	switch {
	case left.constant != nil && right.constant != nil:
		return nil, t.constants(n, left, right)
	case left.constant != nil:
		left, right, o = right, left, mirrored[o]
	}
	if right.constant != nil && right.kind == kindNull {
		return t.nullTest(right.node, left, o, negated)
	}
	for _, x := range []*term{left, right} {
		if err := t.checkSingle(x); err != nil {
			return nil, err
		}
	}
	if right.constant == nil {
		return t.pair(n, left, right, o, negated)
	}
	return t.test(left, o, right, negated)
}

// truth translates the comparison of a condition with true or false.
func (t *translator) truth(n, c, with *node, o operator, negated bool) (condition, error) {
	if with.op != opConst || with.value.kind != kindBool || o != equal && o != unequal {
		return nil, t.refused(n, "a condition is only compared with true and false; join conditions with and, or, not")
	}
	return t.condition(c, negated != ((with.value.i == 1) != (o == equal)))
}

// constants returns the error for a comparison without a field.
func (t *translator) constants(n *node, left, right *term) error {
	for _, x := range []*term{left, right} {
		if x.node.double && t.names(x.node) {
			return t.quotedName(x)
		}
	}
	return t.refused(n, "%s compares two constants, which is the same for all rows; name a field", t.quote(n))
}

// noField returns the error for a constant that is searched for in a list or a range.
func (t *translator) noField(x *term) error {
	if x.node.double && t.names(x.node) {
		return t.quotedName(x)
	}
	return t.refused(x.node, "write a field here, not a constant")
}

// quotedName returns the error for a field in SQL's double quotes.
func (t *translator) quotedName(x *term) error {
	return t.refused(x.node, "%s in double quotes is a text; for the field write %s", t.quote(x.node), quotedPath(string(x.constant.s)))
}

// nullTest translates a comparison with the literal null.
func (t *translator) nullTest(null *node, x *term, o operator, negated bool) (condition, error) {
	if o != equal && o != unequal {
		return nil, t.refused(null, "nothing is less or greater than null; write %s is null, or is not null", t.quote(x.node))
	}
	not := negated != (o == unequal)
	if x.field != nil {
		return isNull{x.field, not}, nil
	}
	return missing{x.computed, not}, nil
}

// incomparable returns the error for two values that cannot be compared.
func (t *translator) incomparable(left, right *term) error {
	if right.node.double && right.constant != nil && t.names(right.node) {
		return t.quotedName(right)
	}
	return t.refused(right.node, "%s is %s and cannot be compared with %s%s", t.quote(left.node), left.kind, right.kind, t.hint(left, right))
}

// hint returns what to write instead.
func (t *translator) hint(left, right *term) string {
	switch {
	case left.kind == kindMoment && local(left.field.typ):
		return "; write '2025-01-31' or '2025-01-31 12:00:00'"
	case left.kind == kindMoment:
		return "; write '2025-01-31' or '2025-01-31T12:00:00Z'"
	case left.kind == kindClock:
		return "; write '12:30:00'"
	case left.field != nil && isDuration(left.field):
		return "; write = 'P1M2DT3.004S' or <> 'P1M2DT3.004S'"
	case left.kind == kindBytes:
		return "; write x'0aff'"
	case left.field != nil && left.field.typ.Kind == shred.KindEnum:
		return "; its symbols are " + strings.Join(left.field.typ.Symbols, ", ")
	case left.kind == kindText && right.constant != nil && right.kind.number():
		return fmt.Sprintf("; write '%s'", t.quote(right.node))
	case (left.kind.number() || left.kind == kindDecimal) && right.constant != nil && right.kind == kindText:
		if _, ok := new(big.Rat).SetString(string(right.constant.s)); ok {
			return "; write " + string(right.constant.s) + " without quotes"
		}
		if s := constantAlternative(strings.ToLower(string(right.constant.s))); s != "" && left.kind == kindFloat {
			return "; " + s
		}
		return "; write a number"
	case left.kind == kindInt && right.kind == kindMoment && right.constant != nil:
		return fmt.Sprintf("; its type says nothing of times, so compare it with a number, such as %d of milliseconds since 1970", right.constant.t.UnixMilli())
	case left.kind == kindBool:
		return "; write true or false"
	}
	return ""
}

// test translates the comparison of a term with a constant.
func (t *translator) test(x *term, o operator, c *term, negated bool) (condition, error) {
	if x.field == nil {
		return t.computedTest(x, o, c, negated)
	}
	f := x.field
	switch {
	case f.kind.integer():
		b, err := t.intTest(x, o, c)
		if negated {
			b = inverted(b)
		}
		return ints{f, b}, err
	case f.kind == kindFloat && c.kind.number():
		b, ok := floatBoundsOfNumber(o, c.constant, f.typ.Kind == shred.KindFloat)
		if !ok {
			return nil, t.refused(c.node, "%s is beyond the numbers of 64 bits", t.quote(c.node))
		}
		b.not = b.not != negated
		return floats{f, b}, nil
	case f.kind == kindDecimal && c.kind.number():
		r := c.constant.rational()
		if r == nil {
			return nil, t.refused(c.node, "%s is not a finite number", t.quote(c.node))
		}
		return decimalTest(f, o, r, negated), nil
	case f.kind == kindText && c.kind == kindText:
		return t.textCompare(x, o, c, negated)
	case f.kind == kindBytes && c.kind == kindBytes:
		return byteTest(f, o, c.constant.s, negated), nil
	case isDuration(f) && c.kind == kindText && (o == equal || o == unequal):
		d, ok := column.ParseDuration(string(c.constant.s))
		if !ok {
			return nil, t.incomparable(x, c)
		}
		return byteTest(f, o, d, negated), nil
	case f.kind == kindBool && c.kind == kindBool:
		if err := t.onlyEqual(c.node, o); err != nil {
			return nil, err
		}
		return isTrue{f, ((o == equal) != (c.constant.i == 1)) != negated}, nil
	}
	return nil, t.incomparable(x, c)
}

// onlyEqual refuses operators that need an order, which booleans do not have.
func (t *translator) onlyEqual(n *node, o operator) error {
	if o != equal && o != unequal {
		return t.refused(n, "booleans are only equal or unequal")
	}
	return nil
}

// intTest returns the test of an integer field, whose values may be times.
func (t *translator) intTest(x *term, o operator, c *term) (b bounds[int64], err error) {
	f := x.field
	unit := timeUnit(f.typ)
	switch {
	case c.kind.number() && unit == day && dateOfDigits(c.constant) != "":
		return b, t.refused(c.node, "%s counts days since 1970; write '%s'", t.quote(x.node), dateOfDigits(c.constant))
	case f.kind == kindMoment && bareMonth.MatchString(t.source(c.node)):
		return b, t.subtraction(c.node, t.source(c.node)+"-01")
	case c.kind.number():
		return intBoundsOfNumber(o, c.constant), nil
	case f.kind == kindClock && c.kind == kindText:
		d, ok := parseClock(string(c.constant.s))
		if !ok {
			return b, t.refused(c.node, "%s is a time of day; %s is not, write '12:30:00'", t.quote(x.node), t.quote(c.node))
		}
		return intBoundsOfRational(o, big.NewRat(int64(d), int64(unit))), nil
	case f.kind == kindMoment && (c.kind == kindText || c.kind == kindMoment):
		at, zoned, ok := c.constant.t, c.constant.zoned, true
		if c.kind == kindText {
			at, zoned, ok = parseMoment(string(c.constant.s))
		}
		if !ok && c.node.double && t.names(c.node) {
			return b, t.quotedName(c)
		}
		if !ok {
			return b, t.refused(c.node, "%s holds times; %s is not a date%s", t.quote(x.node), t.quote(c.node), t.hint(x, c))
		}
		if zoned && local(f.typ) {
			return b, t.refused(c.node, "%s has no time zone; write the time without one", t.quote(x.node))
		}
		return intBoundsOfRational(o, column.Units(at, unit)), nil
	}
	return b, t.incomparable(x, c)
}

// computedTest tests a computed value.
func (t *translator) computedTest(x *term, o operator, c *term, negated bool) (condition, error) {
	var holds func(*value) bool
	switch {
	case x.kind == kindInt && c.kind.number():
		b := intBoundsOfNumber(o, c.constant)
		holds = func(v *value) bool { return b.holds(v.i) }
	case x.kind == kindFloat && c.kind.number():
		b, ok := floatBoundsOfNumber(o, c.constant, false)
		if !ok {
			return nil, t.refused(c.node, "%s is beyond the numbers of 64 bits", t.quote(c.node))
		}
		holds = func(v *value) bool { return b.holds(v.f) }
	case x.kind == kindText && c.kind == kindText:
		s := c.constant.s
		holds = func(v *value) bool { return o.holds(bytes.Compare(v.s, s), true) }
	case x.kind == kindBool && c.kind == kindBool:
		if err := t.onlyEqual(c.node, o); err != nil {
			return nil, err
		}
		holds = func(v *value) bool { return (v.i == c.constant.i) == (o == equal) }
	default:
		return nil, t.incomparable(x, c)
	}
	return tested{x.computed, func(v *value) bool { return holds(v) != negated }}, nil
}

// textCompare compares a field of text with a constant.
func (t *translator) textCompare(x *term, o operator, c *term, negated bool) (condition, error) {
	f, s := x.field, c.constant.s
	if f.uuid && !isUUID(s) {
		return nil, t.refused(c.node, "%s is a UUID; %s is not, write '123e4567-e89b-12d3-a456-426614174000'", t.quote(x.node), t.quote(c.node))
	}
	if f.typ.Kind != shred.KindEnum {
		return byteTest(f, o, s, negated), nil
	}
	if all := f.typ.Symbols; (o == equal || o == unequal) && !slices.Contains(all, string(s)) {
		if c.node.double && t.names(c.node) {
			return nil, t.quotedName(c)
		}
		near := column.Nearest(string(s), all)
		if len(near) > 0 {
			return nil, t.refused(c.node, "%s has no symbol %s; did you mean '%s'?", t.quote(x.node), t.quote(c.node), strings.Join(near, "' or '"))
		}
		return nil, t.refused(c.node, "%s has no symbol %s; its symbols are %s", t.quote(x.node), t.quote(c.node), strings.Join(all, ", "))
	}
	return symbolTest(f, func(b []byte) bool { return o.holds(bytes.Compare(b, s), true) != negated }), nil
}

// byteTest compares the bytes of a field with a constant.
func byteTest(f *field, o operator, s []byte, negated bool) condition {
	if negated {
		o = inverse[o]
	}
	lo, hi := s, s
	if f.uuid { // upper case would sort before lower case
		s = appendLower(nil, s)
		lo, hi = s, s
		if f.typ.Kind != shred.KindFixed {
			lo = bytes.ToUpper(s)
		}
	}
	c := text{field: f, holds: func(b []byte) bool { return o.holds(bytes.Compare(b, s), true) }}
	if o == equal || o.above() {
		c.lo = lo
	}
	if o == equal || o == less || o == lessEqual {
		c.hi = hi
	}
	//guard: looks for no UUID, which may be stored in upper case
	if o == equal && !f.uuid {
		c.set = [][]byte{s}
	}
	return c
}

// symbolTest evaluates a test for each symbol of an enum.
func symbolTest(f *field, holds func([]byte) bool) symbols {
	c := symbols{f, make([]bool, len(f.typ.Symbols))}
	for i, s := range f.typ.Symbols {
		c.holds[i] = holds([]byte(s))
	}
	return c
}

// pair translates the comparison of two values that differ from row to row.
func (t *translator) pair(n *node, left, right *term, o operator, negated bool) (condition, error) {
	lu, ru := left.countedUnit(), right.countedUnit()
	//guard: refuses to compare days with milliseconds
	if (left.field == nil || right.field == nil) && lu != 0 && ru != 0 && lu != ru {
		return nil, t.otherUnit(left.node, right.node, lu, ru)
	}
	order, err := t.order(left, right)
	if err != nil {
		return nil, err
	}
	if left.kind == kindBool {
		if err := t.onlyEqual(n, o); err != nil {
			return nil, err
		}
	}
	return pairwise{left.operand(), right.operand(), func(a, b *value) bool { return o.holds(order(a, b)) != negated }}, nil
}

// order returns the function that compares the values of two terms.
func (t *translator) order(left, right *term) (func(a, b *value) (int, bool), error) {
	a, b := left.kind, right.kind
	number := func(k kind) bool { return k.integer() || k.number() }
	switch {
	case a == b && (a == kindText || a == kindBytes):
		return func(a, b *value) (int, bool) { return bytes.Compare(a.s, b.s), true }, nil
	case a == kindBool && b == kindBool:
		return compare, nil
	case a == b && (a == kindMoment || a == kindClock):
		if x, y := left.field.typ, right.field.typ; timeUnit(x) != day && timeUnit(y) != day && local(x) != local(y) {
			return nil, t.refused(right.node, "%s and %s cannot be compared: only one of them has a time zone", t.quote(left.node), t.quote(right.node))
		}
		aUnit, bUnit := timeUnit(left.field.typ), timeUnit(right.field.typ)
		return func(a, b *value) (int, bool) { return compareTimes(a.i, b.i, aUnit, bUnit), true }, nil
	case number(a) && number(b) && (a == b || !a.integer() || !b.integer() || a == kindInt || b == kindInt):
		return compare, nil
	case (a == kindDecimal || b == kindDecimal) && (a == kindDecimal || number(a)) && (b == kindDecimal || number(b)):
		return new(exact).compare, nil
	}
	return nil, t.incomparable(left, right)
}
