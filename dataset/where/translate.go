package where

import (
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// translator turns the tree of a condition into tests of columns. A condition is true,
// false or unknown, and its test passes if it is true. A negation becomes negated
// comparisons. The test of a negated comparison passes if the comparison is false. A
// missing value passes neither a comparison nor its negation.
type translator struct {
	text    string
	mapping *shred.Mapping
	scope   *scope
	columns map[int]bool // columns that the condition reads
}

// source returns the text of a node.
func (t *translator) source(n *node) string { return t.text[n.pos:n.end] }

// maxQuoted bounds the text of the condition that a message quotes.
const maxQuoted = 60

// quote returns the text of a node for messages, shortened.
func (t *translator) quote(n *node) string {
	s := []rune(t.source(n))
	if len(s) > maxQuoted {
		return string(s[:maxQuoted]) + "..."
	}
	return string(s)
}

func (t *translator) refused(n *node, reason string, args ...any) error {
	return refused(t.text, n.pos, reason, args...)
}

// condition translates a node that is true or false. If negated is set, the result is true
// for rows for which the node is false.
func (t *translator) condition(n *node, negated bool) (condition, error) {
	switch n.op {
	case opNot:
		return t.condition(n.kids[0], !negated)
	case opAnd, opOr:
		all := make([]condition, len(n.kids))
		for i, k := range n.kids {
			var err error
			if all[i], err = t.condition(k, negated); err != nil {
				return nil, err
			}
		}
		if (n.op == opAnd) != negated {
			return and(all), nil
		}
		return or(all), nil
	case opCompare:
		return t.comparison(n, negated)
	case opMatch:
		return t.match(n, negated)
	case opIn:
		return t.in(n, negated)
	case opRange:
		return t.inRange(n, negated)
	case opHas:
		return t.has(n, negated)
	case opAny:
		return t.any(n.kids[0], negated, func() (condition, error) { return t.condition(n.kids[1], false) })
	}
	return t.boolean(n, negated)
}

// boolean translates a value that is true or false.
func (t *translator) boolean(n *node, negated bool) (condition, error) {
	operand, err := t.term(n)
	if err != nil {
		return nil, err
	}
	switch {
	case operand.constant != nil && operand.kind == kindNull:
		return nil, t.refused(n, "null is not a condition; write x is null")
	case operand.kind == kindText && n.double && t.names(n):
		return nil, t.refused(n, "%s in double quotes is a text and not a condition; write %s or `%[2]s` for the field", t.quote(n), string(operand.constant.s))
	case operand.kind != kindBool:
		return nil, t.refused(n, "%s is %s and not a condition; compare it, as in %s == ...", t.quote(n), operand.kind, t.quote(n))
	case operand.constant != nil:
		return constant((operand.constant.i == 1) != negated), nil
	case operand.field != nil:
		return isTrue{operand.field, negated}, nil
	}
	return tested{operand.computed, func(v *value) bool { return (v.i == 1) != negated }}, nil
}

// names reports whether a text is the name of a field.
func (t *translator) names(n *node) bool {
	if n.op != opConst || n.value.kind != kindText {
		return false
	}
	_, rest, ok := t.mapping.Root().FieldAt(string(n.value.s))
	return ok && rest == ""
}

// term is one side of a comparison. Exactly one of the pointers is set.
type term struct {
	node     *node
	kind     kind
	field    *field
	constant *value
	computed *computed
	unit     time.Duration // time unit of a computed number; 0 for other terms
}

// operand returns the term's values, row by row.
func (t *term) operand() operand {
	switch {
	case t.field != nil:
		return t.field
	case t.constant != nil:
		return t.constant
	}
	return t.computed
}

// countedUnit returns the unit in which the term counts time, or 0 if it does not count time.
func (t *term) countedUnit() time.Duration {
	if t.field != nil {
		return timeUnit(t.field.typ)
	}
	return t.unit
}

// value makes a constant an operand.
func (v *value) value(int) value { return *v }

// term translates an expression. The expression has a value, or is a group: a field that is
// a record, an array or a map.
func (t *translator) term(n *node) (*term, error) {
	switch {
	case n.op == opConst:
		return &term{node: n, kind: n.value.kind, constant: n.value}, nil
	case n.op == opPath:
		f, err := t.field(n)
		if err != nil {
			return nil, err
		}
		return &term{node: n, kind: f.kind, field: f}, nil
	case n.condition():
		return nil, t.refused(n, "this is a condition, but a value is expected; join conditions with and, or, not")
	case n.hasFields():
		return t.computed(n)
	}
	v, err := t.evaluate(n)
	if err != nil {
		return nil, err
	}
	return &term{node: n, kind: v.kind, constant: v}, nil
}

// single translates an expression with at most one value per row.
func (t *translator) single(n *node) (*term, error) {
	x, err := t.term(n)
	if err != nil {
		return nil, err
	}
	return x, t.checkSingle(x)
}

func (t *translator) checkSingle(x *term) error {
	switch {
	case x.kind == kindGroup:
		return t.group(x)
	case x.field != nil && x.kind == kindNull:
		return t.refused(x.node, "the type of %s is null, so that it never has a value; write %[1]s is null", t.quote(x.node))
	}
	return nil
}

// group returns the error for a group where a value is needed.
func (t *translator) group(x *term) error {
	name := t.quote(x.node)
	switch x.field.place.Type().Kind {
	case shred.KindArray:
		if simpleItems(x.field.place) {
			return t.refused(x.node, "%s is an array, and a row can have many of its items; write 'x' in %[1]s, or any(%[1]s, # == 'x')", name)
		}
		return t.refused(x.node, "%s is an array, and a row can have many of its items; write any(%[1]s, ...) with a condition on the fields of an item", name)
	case shred.KindMap:
		return t.refused(x.node, "%s is a map; write %[1]s['key'] for the value of a key, or any(%[1]s, key == ... and value == ...)", name)
	}
	var fields []string
	for _, f := range x.field.place.Type().Fields[:min(3, len(x.field.place.Type().Fields))] {
		fields = append(fields, name+"."+quotedPath(f.Name))
	}
	return t.refused(x.node, "%s is a record; name a field of it, such as %s", name, strings.Join(fields, " or "))
}

// simpleItems reports whether an array has items of a simple type, or null.
func simpleItems(array shred.Place) bool {
	items := array.Items()
	if items.Leaf() || items.Type().Kind != shred.KindUnion {
		return items.Leaf()
	}
	some := 0
	for i, b := range items.Type().Branches {
		if b.Kind == shred.KindNull {
			continue
		}
		if _, below := items.Branch(i); !below.Leaf() {
			return false
		}
		some++
	}
	return some == 1
}

// any translates a condition on the items of an array or a map. The result is true if the
// condition is true for one of the items. If there is no array, neither the result nor its
// negation is true.
func (t *translator) any(array *node, negated bool, items func() (condition, error)) (condition, error) {
	f, err := t.field(array)
	if err != nil {
		return nil, err
	}
	if f.kind != kindGroup || f.place.Type().Kind == shred.KindRecord {
		return nil, t.refused(array, "%s is neither an array nor a map, and has no items", t.quote(array))
	}
	if f.lookup != nil {
		return nil, t.refused(array, "any takes an array or a map as a whole; write any(map, key == 'x' and any(value, ...))")
	}
	keys := -1
	if f.place.Type().Kind == shred.KindMap {
		keys = f.place.Key()
		t.need(keys)
	}
	a := &anyOf{f: f, column: f.place.Column(), items: newScope(f.place.Items(), keys, t.scope), not: negated}
	t.need(a.column)
	t.scope.anys = append(t.scope.anys, a)
	outer := t.scope
	t.scope = a.items
	a.condition, err = items()
	t.scope = outer
	return a, err
}

// has translates 'x' in array.
func (t *translator) has(n *node, negated bool) (condition, error) {
	item, array := n.kids[0], n.kids[1]
	f, err := t.field(array)
	if err != nil {
		return nil, err
	}
	if f.kind == kindGroup && f.place.Type().Kind == shred.KindMap {
		return nil, t.refused(array, "%s is a map; write any(%[1]s, key = %s)", t.quote(array), t.quote(item))
	}
	if f.kind != kindGroup || f.place.Type().Kind != shred.KindArray {
		return nil, t.refused(array, "%s is not an array; in takes a list as in (1, 2), a range as in 1..9, or the name of an array", t.quote(array))
	}
	if item.hasFields() {
		return nil, t.refused(item, "write a constant here: in looks for it among the items of %s", t.quote(array))
	}
	return t.any(array, negated, func() (condition, error) {
		return t.comparison(&node{op: opCompare, text: string(equal), pos: n.pos, end: n.end, kids: []*node{{op: opPath, pos: array.pos, end: array.end}, item}}, false)
	})
}
