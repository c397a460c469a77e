package where

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
)

// maxText bounds a condition's text, in bytes.
const maxText = 1 << 20

// parser makes a tree of tokens, looking one token ahead. The operators, from the loosest
// to the tightest, are:
//
//	or  ||
//	and  &&
//	not
//	== != < <= > >= in between like is contains startsWith endsWith matches
//	+ -
//	* / %
//	- + !  before a value
//	** ^
type parser struct {
	lexer
	token token
	depth int
}

// parseTree reads a condition.
func parseTree(text string) (*node, error) {
	//guard: bounds the text of a condition
	if len(text) > maxText {
		return nil, refused(text, 0, "a condition of %d bytes, at most %d are read", len(text), maxText)
	}
	p := &parser{lexer: lexer{text: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	if p.token.form != formEnd {
		if n.op == opPath && n.pos == 0 && len(n.parts) > 0 && strings.EqualFold(n.parts[0].text, "where") {
			return nil, p.refused(0, "a condition stands alone; leave %s out", n.parts[0].text)
		}
		return nil, p.unexpected("and, or, or the end of the condition")
	}
	return n, nil
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// take consumes the token if it is the sign or word s.
func (p *parser) take(s string) (bool, error) {
	if !p.token.is(s) {
		return false, nil
	}
	return true, p.advance()
}

// expect consumes the token, which must be the sign or word s.
func (p *parser) expect(s string) error {
	if ok, err := p.take(s); ok || err != nil {
		return err
	}
	return p.unexpected(s)
}

// unexpected returns the error for the current token.
func (p *parser) unexpected(wanted string) error {
	switch p.token.form {
	case formEnd:
		return p.refused(p.token.pos, "the condition ends here, and %s is missing", wanted)
	case formQuoted, formName:
		return p.refused(p.token.pos, "the name %s is not expected here, but %s", p.token.text, wanted)
	case formText, formDouble, formHex:
		return p.refused(p.token.pos, "a text is not expected here, but %s", wanted)
	case formNumber:
		return p.refused(p.token.pos, "the number %s is not expected here, but %s", p.token.text, wanted)
	}
	return p.refused(p.token.pos, "%s is not expected here, but %s", p.token.text, wanted)
}

// joined makes a node of kids, from pos to the end of the last one.
func (p *parser) joined(o op, text string, pos int, kids ...*node) (*node, error) {
	return p.bounded(&node{op: o, text: text, kids: kids, pos: pos, end: kids[len(kids)-1].end})
}

// bounded measures and bounds a node's height.
func (p *parser) bounded(n *node) (*node, error) {
	for _, k := range n.kids {
		n.height = max(n.height, k.height+1)
	}
	//guard: bounds the height of a condition
	if n.height > maxHeight {
		return nil, p.tooDeep(n.pos)
	}
	return n, nil
}

func (p *parser) tooDeep(pos int) error {
	return p.refused(pos, "the condition nests deeper than %d levels", maxHeight)
}

// enter counts one more level of nesting.
func (p *parser) enter() error {
	p.depth++
	//guard: bounds how deep parentheses nest
	if p.depth > maxHeight {
		return p.tooDeep(p.token.pos)
	}
	return nil
}

func (p *parser) disjunction() (*node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	return p.logic(opOr, "or", "||", p.conjunction)
}

func (p *parser) conjunction() (*node, error) { return p.logic(opAnd, "and", "&&", p.negation) }

// logic reads operands that are joined by a word or sign, such as and or &&.
func (p *parser) logic(o op, word, sign string, operand func() (*node, error)) (*node, error) {
	first, err := operand()
	if err != nil || !p.token.is(word) && !p.token.is(sign) {
		return first, err
	}
	all := []*node{first}
	for p.token.is(word) || p.token.is(sign) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := operand()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return p.joined(o, word, first.pos, all...)
}

func (p *parser) negation() (*node, error) {
	if !p.token.is("not") {
		return p.comparison()
	}
	pos := p.token.pos
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.negation()
	if err != nil {
		return nil, err
	}
	return p.joined(opNot, "not", pos, n)
}

// operand reads a value of a calculation, or a condition in parentheses.
func (p *parser) operand() (*node, error) { return p.sum() }

func (p *parser) sum() (*node, error) { return p.arithmetic(p.product, "+", "-") }

func (p *parser) product() (*node, error) { return p.arithmetic(p.unary, "*", "/", "%") }

func (p *parser) arithmetic(operand func() (*node, error), signs ...string) (*node, error) {
	left, err := operand()
	for err == nil {
		sign := ""
		for _, s := range signs {
			if p.token.is(s) {
				sign = s
			}
		}
		if sign == "" {
			return left, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if left, err = p.joined(opBinary, sign, left.pos, left, right); err != nil {
			return nil, err
		}
	}
	return nil, err
}

func (p *parser) unary() (*node, error) {
	sign, pos := p.token.text, p.token.pos
	if p.token.form != formSign || sign != "-" && sign != "+" && sign != "!" {
		return p.power()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.unary()
	switch {
	case err != nil:
		return nil, err
	case sign == "!":
		return p.joined(opNot, sign, pos, n)
	case sign == "-" && n.op == opConst && n.value.kind.number():
		return &node{op: opConst, value: n.value.negative(), pos: pos, end: n.end}, nil
	}
	return p.joined(opUnary, sign, pos, n)
}

func (p *parser) power() (*node, error) {
	left, err := p.primary()
	if err != nil || !p.token.is("**") && !p.token.is("^") {
		return left, err
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := p.unary()
	if err != nil {
		return nil, err
	}
	return p.joined(opBinary, "**", left.pos, left, right)
}

// primary reads a constant, a field, a function, or an expression in parentheses.
func (p *parser) primary() (*node, error) {
	t := p.token
	switch t.form {
	case formNumber, formHex, formText, formDouble:
		v, err := p.constant(t)
		if err != nil {
			return nil, err
		}
		return &node{op: opConst, value: v, double: t.form == formDouble, pos: t.pos, end: t.end}, p.advance()
	case formName:
		return p.named(t)
	case formQuoted:
		return p.path()
	}
	switch {
	case t.is("("):
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		n.pos, n.end = t.pos, p.token.end
		return n, p.expect(")")
	case t.is("#"):
		return p.path()
	}
	return nil, p.unexpected("a field or a value")
}

// words are the names that need back quotes to be fields.
var words = map[string]bool{"and": true, "or": true, "not": true, "in": true, "null": true, "nil": true, "true": true, "false": true}

// named reads an expression that begins with a name.
func (p *parser) named(t token) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	word := strings.ToLower(t.text)
	switch {
	case word == "null" || t.text == "nil":
		return &node{op: opConst, value: &value{}, pos: t.pos, end: t.end}, nil
	case word == "true" || word == "false":
		return &node{op: opConst, value: boolean(word == "true"), pos: t.pos, end: t.end}, nil
	case (word == "date" || word == "timestamp") && p.token.form == formText:
		v, err := p.moment(word, p.token)
		if err != nil {
			return nil, err
		}
		n := &node{op: opConst, value: v, pos: t.pos, end: p.token.end}
		return n, p.advance()
	case word == "time" && p.token.form == formText:
		return nil, p.refused(t.pos, "a time of day is its text alone; leave %s out", t.text)
	case words[word]:
		return nil, p.refused(t.pos, "%s is a keyword and not allowed here; write `%s` for a field of that name", t.text, t.text)
	case p.token.is("("):
		return p.call(t)
	}
	p.lexer.pos, p.token = t.end, t // the parser returns to the name
	return p.path()
}

// call reads the arguments of a function.
func (p *parser) call(t token) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	word := strings.ToLower(t.text)
	if hint := alternative(word); hint != "" {
		return nil, p.refused(t.pos, "there is no function %s; %s", t.text, hint)
	}
	n := &node{op: opCall, text: t.text, pos: t.pos}
	if word == "any" {
		return p.any(n)
	}
	for !p.token.is(")") {
		if len(n.kids) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		k, err := p.disjunction()
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, k)
	}
	n.end = p.token.end
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.bounded(n)
}

// any reads the array and the condition of any(array, condition).
func (p *parser) any(n *node) (*node, error) {
	array, err := p.operand()
	if err != nil {
		return nil, err
	}
	if array.op != opPath {
		return nil, p.refused(array.pos, "any takes the name of an array and a condition on its items, as in any(received, host == 'x')")
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	c, err := p.disjunction()
	if err != nil {
		return nil, err
	}
	n.op, n.kids, n.end = opAny, []*node{array, c}, p.token.end
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return p.bounded(n)
}

// environment introduces a field in brackets.
const environment = "$env"

// path reads the names and keys that lead to a field; # alone leads to the item.
func (p *parser) path() (*node, error) {
	n := &node{op: opPath, pos: p.token.pos, end: p.token.end}
	whole := p.token.form == formName && p.token.text == environment
	if !p.token.is("#") && !whole {
		n.parts = append(n.parts, part{text: p.token.text})
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if whole && !p.token.is("[") {
		return nil, p.unexpected(`the name of a field in brackets, as in $env["odd name"]`)
	}
	for {
		switch {
		case p.token.is("."), p.token.is("?."):
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.token.form != formName && p.token.form != formQuoted {
				return nil, p.unexpected("the name of a field")
			}
			n.parts = append(n.parts, part{text: p.token.text})
			n.end = p.token.end
			if err := p.advance(); err != nil {
				return nil, err
			}
		case p.token.is("["):
			if err := p.advance(); err != nil {
				return nil, err
			}
			if p.token.form != formText && p.token.form != formDouble {
				return nil, p.unexpected(`a key in quotes; of an array, write any(...)`)
			}
			n.parts = append(n.parts, part{p.token.text, !whole})
			whole = false
			if err := p.advance(); err != nil {
				return nil, err
			}
			n.end = p.token.end
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		default:
			return n, nil
		}
	}
}

// maxNumber bounds the characters and the exponent of a number.
const maxNumber = 1024

// constant makes the value of a token.
func (p *parser) constant(t token) (*value, error) {
	switch t.form {
	case formText, formDouble:
		return &value{kind: kindText, s: []byte(t.text)}, nil
	case formHex:
		b, err := hex.DecodeString(t.text)
		if err != nil {
			return nil, p.refused(t.pos, "x'...' takes pairs of hexadecimal digits, as in x'0aff'")
		}
		return &value{kind: kindBytes, s: b}, nil
	}
	//guard: bounds the digits of a number
	if len(t.text) > maxNumber {
		return nil, p.refused(t.pos, "a number of %d characters, at most %d are read", len(t.text), maxNumber)
	}
	if len(t.text) > 1 && t.text[0] == '0' && strings.ContainsRune("xXoObB", rune(t.text[1])) {
		i, err := strconv.ParseInt(t.text, 0, 64)
		if err != nil {
			return nil, p.refused(t.pos, "%s is not a number of 64 bits", t.text)
		}
		return &value{kind: kindInt, i: i}, nil
	}
	text := strings.ReplaceAll(t.text, "_", "")
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok {
		e, _ := strconv.Atoi(exponent) // the nearest int if out of range, 0 after other errors
		//guard: bounds the exponent of a number
		if e > maxNumber || e < -maxNumber {
			return nil, p.refused(t.pos, "the exponent of a number is from -%d to %d", maxNumber, maxNumber)
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "pP") {
		return nil, p.refused(t.pos, "%s is not a number", t.text)
	}
	if r.IsInt() && r.Num().IsInt64() && !strings.ContainsAny(text, ".eE") {
		return &value{kind: kindInt, i: r.Num().Int64()}, nil
	}
	return &value{kind: kindNumber, r: r}, nil
}
