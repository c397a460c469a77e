package where

// comparisons maps signs to their operators.
var comparisons = map[string]operator{
	"==": equal, "=": equal, "!=": unequal, "<>": unequal, "<": less, "<=": lessEqual, ">": greater, ">=": greaterEqual,
}

// matches are the words that search text, as they are written.
var matches = []string{"contains", "startsWith", "endsWith", "matches", "like", "ilike"}

// comparison reads an operand and the comparison after it.
func (p *parser) comparison() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	o, ok := comparisons[p.token.text]
	if p.token.form == formSign && ok {
		return p.chain(left, o)
	}
	pos := p.token.pos
	negated, err := p.take("not")
	if err != nil {
		return nil, err
	}
	n, err := p.predicate(left)
	switch {
	case err != nil:
		return nil, err
	case n == nil && negated:
		return nil, p.unexpected("in, between, like or contains")
	case n == nil:
		return left, nil
	case comparisons[p.token.text] != "" && p.token.form == formSign:
		return nil, p.refused(p.token.pos, "put one of the two comparisons in parentheses")
	case negated:
		return p.joined(opNot, "not", pos, n)
	}
	return n, nil
}

// chain reads the right side of an operator, and further ones as in 1 < x < 5.
func (p *parser) chain(left *node, o operator) (*node, error) {
	var all []*node
	for {
		pos := p.token.pos
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		n, err := p.joined(opCompare, string(o), left.pos, left, right)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		next, more := comparisons[p.token.text]
		if p.token.form != formSign || !more {
			break
		}
		if o == equal || o == unequal || next == equal || next == unequal {
			return nil, p.refused(pos, "compare two values at a time, with and between")
		}
		left, o = right, next
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return p.joined(opAnd, "and", all[0].pos, all...)
}

// predicate reads a comparison by words, and returns nil if there is none.
func (p *parser) predicate(left *node) (*node, error) {
	for _, m := range matches {
		if p.token.is(m) {
			return p.match(left, m)
		}
	}
	for word, read := range map[string]func(*node) (*node, error){"in": p.in, "between": p.between, "is": p.is} {
		if p.token.is(word) {
			if err := p.advance(); err != nil {
				return nil, err
			}
			return read(left)
		}
	}
	return nil, nil
}

func (p *parser) match(left *node, word string) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	pattern, err := p.operand()
	if err != nil {
		return nil, err
	}
	kids := []*node{left, pattern}
	if word == "like" || word == "ilike" {
		if ok, err := p.take("escape"); err != nil {
			return nil, err
		} else if ok {
			escape, err := p.operand()
			if err != nil {
				return nil, err
			}
			kids = append(kids, escape)
		}
	}
	return p.joined(opMatch, word, left.pos, kids...)
}

// is reads the rest of is null, is not true and the like.
func (p *parser) is(left *node) (*node, error) {
	o := equal
	not, err := p.take("not")
	if err != nil {
		return nil, err
	}
	if not {
		o = unequal
	}
	if p.token.is("true") || p.token.is("false") {
		return p.isTruth(left, not)
	}
	null := &node{op: opConst, value: &value{}, pos: p.token.pos, end: p.token.end}
	if !p.token.is("null") && !p.token.is("nil") {
		return nil, p.unexpected("null, true or false")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return p.joined(opCompare, string(o), left.pos, left, null)
}

// isTruth reads the true or false of is and is not. A missing value is neither.
func (p *parser) isTruth(left *node, not bool) (*node, error) {
	truth, err := p.primary()
	if err != nil {
		return nil, err
	}
	equals, err := p.joined(opCompare, string(equal), left.pos, left, truth)
	if err != nil {
		return nil, err
	}
	there, err := p.joined(opCompare, string(unequal), left.pos, left, &node{op: opConst, value: &value{}, pos: truth.pos, end: truth.end})
	if err != nil {
		return nil, err
	}
	n, err := p.joined(opAnd, "and", left.pos, equals, there)
	if err != nil || !not {
		return n, err
	}
	return p.joined(opNot, "not", left.pos, n)
}

// between reads a AND b.
func (p *parser) between(left *node) (*node, error) {
	from, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.expect("and"); err != nil {
		return nil, err
	}
	to, err := p.operand()
	if err != nil {
		return nil, err
	}
	low, err := p.joined(opCompare, string(greaterEqual), left.pos, left, from)
	if err != nil {
		return nil, err
	}
	high, err := p.joined(opCompare, string(lessEqual), left.pos, left, to)
	if err != nil {
		return nil, err
	}
	return p.joined(opAnd, "and", left.pos, low, high)
}

// in reads a list, a range or the name of an array.
func (p *parser) in(left *node) (*node, error) {
	closing := ""
	for open, c := range map[string]string{"(": ")", "[": "]"} {
		if p.token.is(open) {
			closing = c
		}
	}
	if closing == "" {
		from, err := p.operand()
		if err != nil {
			return nil, err
		}
		if from.op == opPath && !p.token.is("..") {
			return p.joined(opHas, "in", left.pos, left, from)
		}
		return p.span(left, from)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	kids := []*node{left}
	for !p.token.is(closing) {
		if len(kids) > 1 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		k, err := p.operand()
		if err != nil {
			return nil, err
		}
		kids = append(kids, k)
	}
	end := p.token.end
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.joined(opIn, "in", left.pos, kids...)
	if err == nil {
		n.end = end
	}
	return n, err
}

// span reads the rest of from..to.
func (p *parser) span(left, from *node) (*node, error) {
	if !p.token.is("..") {
		return nil, p.refused(from.pos, "in takes a list as in (1, 2), a range as in 1..9, or the name of an array")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	to, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.joined(opRange, "..", left.pos, left, from, to)
}
