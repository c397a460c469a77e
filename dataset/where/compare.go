package where

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/expr-lang/expr/ast"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/shred"
)

// terms translates both sides of an operator.
func (t *translator) terms(n *ast.BinaryNode) (left, right *term, err error) {
	if left, err = t.term(n.Left); err != nil {
		return nil, nil, err
	}
	right, err = t.term(n.Right)
	return left, right, err
}

func (t *translator) comparison(n *ast.BinaryNode) (condition, error) {
	left, right, err := t.terms(n)
	if err != nil {
		return nil, err
	}
	o := operator(n.Operator)
	if left.constant != nil && right.constant == nil {
		left, right, o = right, left, mirrored[o]
	}
	if right.constant != nil && right.kind == kindNull {
		return nullTest(left, o), nil
	}
	if right.kind == kindTime && left.field != nil {
		return timeTest(n, left.field, o, right.constant.t)
	}
	if !left.kind.comparable(right.kind) || left.kind == kindTime {
		return nil, refused(n, "%s is not compared with %s%s", left.kind, right.kind, hint(left))
	}
	if (left.kind == kindBool || right.kind == kindBool) && o != equal && o != unequal {
		return nil, refused(n, "booleans are only equal or unequal")
	}
	if right.constant == nil {
		return pairwise{left.operand(), right.operand(), func(a, b *value) bool { return o.holds(compare(a, b)) }}, nil
	}
	return left.test(o, right.constant), nil
}

// hint tells of a field of numbers that are times.
func hint(t *term) string {
	if t.field == nil || timeUnit(t.field.leaf.Type) == 0 {
		return ""
	}
	return fmt.Sprintf(`; %s holds times, write date("2025-01-31") or date("2025-01-31T12:00:00Z")`, t.field.path)
}

// nullTest compares with the literal null.
func nullTest(t *term, o operator) condition {
	var c condition
	switch {
	case o != equal && o != unequal:
		return constant(false)
	case t.field != nil:
		c = isNull{t.field}
	case t.constant != nil:
		c = constant(t.kind == kindNull)
	default:
		c = missing{t.computed}
	}
	if o == unequal {
		return not{c}
	}
	return c
}

// test compares with a constant of a comparable kind.
func (t *term) test(o operator, c *value) condition {
	holds := func(v *value) bool { return o.holds(compare(v, c)) }
	switch {
	case t.constant != nil:
		return constant(t.kind != kindNull && holds(t.constant))
	case t.field == nil:
		return tested{t.computed, holds}
	}
	switch f := t.field; {
	case f.kind == kindInt && c.kind == kindInt:
		return ints{f, intBounds(o, c.i, true)}
	case f.kind == kindInt:
		return ints{f, intBoundsOf(o, c.f)}
	case f.kind == kindFloat && c.kind == kindInt:
		return floats{f, floatBoundsOf(o, c.i)}
	case f.kind == kindFloat:
		return floats{f, floatBounds(o, c.f)}
	case f.kind == kindText:
		return f.textTest(func(b []byte) bool { return o.holds(bytes.Compare(b, c.s), true) }, o.low(c.s), o.high(c.s))
	case (o == equal) == (c.i == 1):
		return isTrue{f}
	}
	return tested{t.field, holds}
}

// low and high bound what the operator allows, where it does.
func (o operator) low(s []byte) []byte {
	if o == equal || o == greater || o == greaterEqual {
		return s
	}
	return nil
}

func (o operator) high(s []byte) []byte {
	if o == equal || o == less || o == lessEqual {
		return s
	}
	return nil
}

// textTest tests the field's text; an enum's once for all.
func (f *field) textTest(holds func([]byte) bool, lo, hi []byte) condition {
	if f.leaf.Type.Kind != shred.KindEnum {
		return text{f, holds, lo, hi}
	}
	c := symbols{f, make([]bool, len(f.leaf.Type.Symbols))}
	for i, s := range f.leaf.Type.Symbols {
		c.holds[i] = holds([]byte(s))
	}
	return c
}

// search translates contains and its like.
func (t *translator) search(n *ast.BinaryNode) (condition, error) {
	left, right, err := t.terms(n)
	if err != nil {
		return nil, err
	}
	if left.kind != kindText || right.kind != kindText {
		return nil, refused(n, "%s takes two texts, not %s and %s", n.Operator, left.kind, right.kind)
	}
	var find func(b, part []byte) bool
	var lo []byte
	switch n.Operator {
	case "contains":
		find = bytes.Contains
	case "startsWith":
		find = bytes.HasPrefix
		if right.constant != nil {
			lo = right.constant.s
		}
	case "endsWith":
		find = bytes.HasSuffix
	default:
		if right.constant == nil {
			return nil, refused(n, "the pattern must be a constant")
		}
		pattern, err := regexp.Compile(string(right.constant.s))
		if err != nil {
			return nil, refused(n, "%v", err)
		}
		find = func(b, _ []byte) bool { return pattern.Match(b) }
	}
	if right.constant == nil {
		return pairwise{left.operand(), right.operand(), func(a, b *value) bool { return find(a.s, b.s) }}, nil
	}
	part := right.constant.s
	switch {
	case left.constant != nil:
		return constant(find(left.constant.s, part)), nil
	case left.field != nil:
		return left.field.textTest(func(b []byte) bool { return find(b, part) }, lo, nil), nil
	}
	return tested{left.computed, func(v *value) bool { return find(v.s, part) }}, nil
}

// in translates x in [a, b] and x in a..b.
func (t *translator) in(n *ast.BinaryNode) (condition, error) {
	left, err := t.term(n.Left)
	if err != nil {
		return nil, err
	}
	if left.constant != nil {
		return nil, refused(n, "a field is asked for, not a constant")
	}
	if r, ok := n.Right.(*ast.BinaryNode); ok && r.Operator == ".." {
		return t.inRange(n, left, r)
	}
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok {
		return nil, refused(n, "a list of constants is asked for, as in [1, 2], or a range as in 1..2")
	}
	values := make([]*value, len(list.Nodes))
	for i, item := range list.Nodes {
		c, err := t.term(item)
		if err != nil {
			return nil, err
		}
		if c.constant == nil || c.kind == kindNull || c.kind == kindTime || !left.kind.comparable(c.kind) {
			return nil, refused(n, "%s is no constant that is compared with %s", item, left.kind)
		}
		values[i] = c.constant
	}
	return left.oneOf(values), nil
}

func (t *translator) inRange(n *ast.BinaryNode, left *term, r *ast.BinaryNode) (condition, error) {
	from, to, err := t.terms(r)
	if err != nil {
		return nil, err
	}
	if from.constant == nil || to.constant == nil || from.kind != kindInt || to.kind != kindInt || !left.kind.number() {
		return nil, refused(n, "a range has two constant integers, and a number may be in it")
	}
	// 1..3 is the integers from 1 to 3.
	if left.kind == kindInt && left.field != nil {
		return ints{left.field, bounds[int64]{lo: from.constant.i, hi: to.constant.i}}, nil
	}
	return tested{left.operand(), func(v *value) bool {
		f, _ := compare(v, from.constant)
		l, ordered := compare(v, to.constant)
		return ordered && f >= 0 && l <= 0 && (v.kind == kindInt || v.f == math.Floor(v.f))
	}}, nil
}

// oneOf tests for being equal to one of several constants.
func (t *term) oneOf(values []*value) condition {
	if len(values) == 0 {
		return constant(false)
	}
	switch {
	case t.field != nil && t.kind == kindInt:
		return setTest(values, func(c *value) bounds[int64] {
			if c.kind == kindInt {
				return intBounds(equal, c.i, true)
			}
			return intBoundsOf(equal, c.f)
		}, func(set []int64) condition { return ints{t.field, bounds[int64]{set: set}} })
	case t.field != nil && t.kind == kindFloat:
		return setTest(values, func(c *value) bounds[float64] {
			if c.kind == kindInt {
				return floatBoundsOf(equal, c.i)
			}
			return floatBounds(equal, c.f)
		}, func(set []float64) condition { return floats{t.field, bounds[float64]{set: set}} })
	case t.field != nil && t.kind == kindText:
		set := map[string]bool{}
		for _, v := range values {
			set[string(v.s)] = true
		}
		least := slices.MinFunc(values, func(a, b *value) int { return bytes.Compare(a.s, b.s) })
		most := slices.MaxFunc(values, func(a, b *value) int { return bytes.Compare(a.s, b.s) })
		return t.field.textTest(func(b []byte) bool { return set[string(b)] }, least.s, most.s)
	}
	return tested{t.operand(), func(v *value) bool {
		return slices.ContainsFunc(values, func(c *value) bool { return equal.holds(compare(v, c)) })
	}}
}

// setTest makes the ascending set of the numbers that are equal to values.
func setTest[T int64 | float64](values []*value, equal func(*value) bounds[T], test func([]T) condition) condition {
	var set []T
	for _, v := range values {
		if b := equal(v); b.lo == b.hi {
			set = append(set, b.lo)
		}
	}
	if len(set) == 0 {
		return constant(false)
	}
	slices.Sort(set)
	return test(slices.Compact(set))
}

// timeUnit is the unit of a type that counts time from 1970 on, 0 of others.
func timeUnit(n *shred.Node) time.Duration {
	switch n.LogicalType() {
	case column.LogicalDate:
		return 24 * time.Hour
	case column.LogicalTimestampMillis, column.LogicalLocalMillis:
		return time.Millisecond
	case column.LogicalTimestampMicros, column.LogicalLocalMicros:
		return time.Microsecond
	case column.LogicalTimestampNanos, column.LogicalLocalNanos:
		return time.Nanosecond
	}
	return 0
}

// timeTest compares a field of times with a constant.
func timeTest(n ast.Node, f *field, o operator, c time.Time) (condition, error) {
	unit := timeUnit(f.leaf.Type)
	if unit == 0 {
		return nil, refused(n, "%s does not hold times; compare it with a number, such as %d", f.path, c.UnixMilli())
	}
	if c.Year() < 1678 || c.Year() > 2261 {
		return nil, refused(n, "a time from 1678 to 2261 is asked for")
	}
	nanos := c.UnixNano()
	floor := nanos / int64(unit)
	if nanos%int64(unit) < 0 {
		floor--
	}
	return ints{f, intBounds(o, floor, nanos%int64(unit) == 0)}, nil
}
