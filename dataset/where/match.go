package where

import (
	"bytes"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// pattern is searched for in a text.
type pattern struct {
	holds  func([]byte) bool
	lo, hi []byte   // bounds of the texts that match, or nil
	set    [][]byte // all texts that match, or nil
}

// match translates contains, like and the other operators that search text.
func (t *translator) match(n *node, negated bool) (condition, error) {
	left, err := t.single(n.kids[0])
	if err != nil {
		return nil, err
	}
	right, err := t.single(n.kids[1])
	if err != nil {
		return nil, err
	}
	bytesToo := n.text == "contains" || n.text == "startsWith" || n.text == "endsWith"
	switch {
	case left.constant != nil && right.constant != nil:
		return nil, t.constants(n, left, right)
	case left.kind == kindBytes && right.kind == kindText:
		return nil, t.incomparable(left, right)
	case left.kind != kindText && !(left.kind == kindBytes && bytesToo):
		return nil, t.refused(left.node, "%s searches text, and %s is %s", n.text, t.quote(left.node), left.kind)
	case right.kind != left.kind:
		return nil, t.refused(right.node, "%s takes %s, and %s is %s", n.text, left.kind, t.quote(right.node), right.kind)
	case right.constant == nil && !bytesToo:
		return nil, t.refused(right.node, "the pattern of %s must be a constant", n.text)
	case right.constant == nil:
		find := finders[n.text]
		return pairwise{left.operand(), right.operand(), func(a, b *value) bool { return find(a.s, b.s) != negated }}, nil
	}
	p, err := t.pattern(n, right, left.field != nil && left.field.uuid)
	if err != nil {
		return nil, err
	}
	holds := func(b []byte) bool { return p.holds(b) != negated }
	switch {
	case left.constant != nil:
		return constant(holds(left.constant.s)), nil
	case left.field == nil:
		return tested{left.computed, func(v *value) bool { return holds(v.s) }}, nil
	case left.field.typ.Kind == shred.KindEnum:
		return symbolTest(left.field, holds), nil
	case negated || left.field.uuid:
		return text{field: left.field, holds: holds}, nil
	}
	return text{field: left.field, holds: p.holds, lo: p.lo, hi: p.hi, set: p.set}, nil
}

var finders = map[string]func(b, part []byte) bool{
	"contains": bytes.Contains, "startsWith": bytes.HasPrefix, "endsWith": bytes.HasSuffix,
}

// pattern makes the pattern of a constant, in lower case if lower is set, for UUIDs.
func (t *translator) pattern(n *node, c *term, lower bool) (pattern, error) {
	s := c.constant.s
	if lower && n.text != "matches" {
		s = appendLower(nil, s)
	}
	switch n.text {
	case "matches":
		return t.regular(c.node, string(s))
	case "like", "ilike":
		return t.like(n, s)
	case "startsWith":
		return prefixed(s), nil
	}
	find := finders[n.text]
	return pattern{holds: func(b []byte) bool { return find(b, s) }}, nil
}

// regular makes the pattern of a regular expression.
func (t *translator) regular(n *node, expression string) (pattern, error) {
	r, err := regexp.Compile(expression)
	if bad := (*syntax.Error)(nil); errors.As(err, &bad) {
		return pattern{}, t.refused(n, "%s is not a regular expression: %s in %q", t.quote(n), string(bad.Code), bad.Expr)
	} else if err != nil {
		return pattern{}, t.refused(n, "%s is not a regular expression: %v", t.quote(n), err)
	}
	m := newMemo(r.Match)
	return pattern{holds: m.test}, nil
}

// prefixed returns the pattern of texts that begin with s.
func prefixed(s []byte) pattern {
	p := pattern{holds: func(b []byte) bool { return bytes.HasPrefix(b, s) }, lo: s}
	if above := bytes.TrimRight(s, "\xff"); len(above) > 0 {
		p.hi = bytes.Clone(above)
		p.hi[len(above)-1]++
	}
	return p
}

// These are the parts of a like pattern that are not characters.
const (
	likeAny  = -1 // %
	likeOne  = -2 // _
	likeByte = -3 // this and smaller numbers are bytes that are not UTF-8
)

// like makes the pattern of like and ilike, in which % stands for any text, and _ for one
// character.
func (t *translator) like(n *node, s []byte) (pattern, error) {
	escape := rune(0)
	if len(n.kids) == 3 {
		c, err := t.term(n.kids[2])
		if err != nil {
			return pattern{}, err
		}
		if c.constant == nil || c.kind != kindText || utf8.RuneCount(c.constant.s) != 1 {
			return pattern{}, t.refused(n.kids[2], "escape takes a text of one character")
		}
		escape, _ = utf8.DecodeRune(c.constant.s)
	}
	var parts []rune
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRune(s[i:])
		switch {
		case escape != 0 && r == escape && i+size == len(s):
			return pattern{}, t.refused(n.kids[1], "the pattern ends with its escape character; a character must follow it")
		case escape != 0 && r == escape:
			i += size
			r, size = utf8.DecodeRune(s[i:])
		case r == '%':
			r = likeAny
		case r == '_':
			r = likeOne
		}
		if r == utf8.RuneError && size == 1 {
			r = likeByte - rune(s[i])
		}
		parts = append(parts, r)
		i += size
	}
	if n.text == "ilike" {
		return t.regular(n.kids[1], "(?is)"+expression(parts))
	}
	return t.wildcard(n.kids[1], parts)
}

// wildcard finds the simplest test for a like pattern.
func (t *translator) wildcard(n *node, parts []rune) (pattern, error) {
	from, to := 0, len(parts)
	for from < to && parts[from] == likeAny {
		from++
	}
	for to > from && parts[to-1] == likeAny {
		to--
	}
	var literal []byte
	for i, r := range parts[from:to] {
		switch {
		case r == likeAny || r == likeOne:
			p, err := t.regular(n, "(?s)"+expression(parts))
			if from == 0 && i > 0 {
				p.lo, p.hi = prefixed(literal).lo, prefixed(literal).hi
			}
			return p, err
		case r <= likeByte:
			literal = append(literal, byte(likeByte-r))
		default:
			literal = utf8.AppendRune(literal, r)
		}
	}
	switch open, closed := from > 0, to < len(parts); {
	case open && closed, open && len(parts) == from:
		return pattern{holds: func(b []byte) bool { return bytes.Contains(b, literal) }}, nil
	case open:
		return pattern{holds: func(b []byte) bool { return bytes.HasSuffix(b, literal) }}, nil
	case closed:
		return prefixed(literal), nil
	}
	return pattern{holds: func(b []byte) bool { return bytes.Equal(b, literal) }, lo: literal, hi: literal, set: [][]byte{literal}}, nil
}

// expression returns the regular expression of a like pattern.
func expression(parts []rune) string {
	var s strings.Builder
	s.WriteString(`\A(?:`)
	for _, r := range parts {
		switch {
		case r == likeAny:
			s.WriteString(".*")
		case r == likeOne:
			s.WriteString(".")
		case r <= likeByte: // for a regular expression, such a byte is this rune
			s.WriteRune(utf8.RuneError)
		default:
			s.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return s.String() + `)\z`
}
