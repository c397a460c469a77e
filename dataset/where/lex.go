package where

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// form is the form of a token.
type form uint8

const (
	formEnd    form = iota
	formName        // an identifier, or a word of the language
	formQuoted      // a field in back quotes
	formText        // a text in single quotes
	formDouble      // a text in double quotes
	formNumber
	formHex // x'0aff'
	formSign
)

// token is the smallest part of a condition.
type token struct {
	form     form
	text     string // the token as written, but without quotes
	pos, end int
}

// is reports whether the token is the sign s, or the word s in upper or lower case.
func (t *token) is(s string) bool {
	return t.form == formSign && t.text == s || t.form == formName && strings.EqualFold(t.text, s)
}

// signs are the signs of the language. If a sign begins with another sign, it comes first.
var signs = []string{
	"==", "!=", "<>", "<=", ">=", "&&", "||", "**", "..", "?.", "=", "<", ">", "!", "+", "-", "*", "/", "%", "^",
	"(", ")", "[", "]", ",", ".", "#",
}

// lexer reads tokens.
type lexer struct {
	text string
	pos  int
}

func (l *lexer) refused(pos int, reason string, args ...any) error {
	return refused(l.text, pos, reason, args...)
}

// next reads the next token.
func (l *lexer) next() (token, error) {
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !unicode.IsSpace(r) {
			break
		}
		l.pos += size
	}
	t := token{pos: l.pos, end: l.pos}
	rest := l.text[l.pos:]
	if rest == "" {
		return t, nil
	}
	r, _ := utf8.DecodeRuneInString(rest)
	var err error
	switch {
	case (r == 'x' || r == 'X') && strings.HasPrefix(rest[1:], "'"):
		l.pos++
		t.form = formHex
		t.text, err = l.quoted("'")
	case r == '\'':
		t.form = formText
		t.text, err = l.quoted("'")
	case r == '`':
		t.form = formQuoted
		t.text, err = l.quoted("`")
	case r == '"':
		t.form = formDouble
		t.text, err = l.escaped()
	case r >= '0' && r <= '9' || r == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		t.form, t.text = formNumber, number(rest)
		l.pos += len(t.text)
	case r == '_' || r == '$' || unicode.IsLetter(r):
		t.form, t.text = formName, name(rest)
		l.pos += len(t.text)
	default:
		t.form = formSign
		t.text, err = l.sign(r)
	}
	t.end = l.pos
	return t, err
}

func (l *lexer) sign(r rune) (string, error) {
	for _, c := range []string{"--", "/*", "//"} {
		//guard: skips comments as SQL does
		if strings.HasPrefix(l.text[l.pos:], c) {
			return "", l.refused(l.pos, "a condition has no comments; leave out the text from %s on, or put a space between signs", c)
		}
	}
	for _, s := range signs {
		if strings.HasPrefix(l.text[l.pos:], s) {
			l.pos += len(s)
			return s, nil
		}
	}
	switch r {
	case ';':
		return "", l.refused(l.pos, "a condition has no semicolon; leave it out")
	case ':':
		return "", l.refused(l.pos, "a condition changes no types; leave the cast out")
	case '~':
		return "", l.refused(l.pos, "~ is not an operator; write matches")
	case '&', '|':
		return "", l.refused(l.pos, "%c is not an operator; write and, or, && or ||", r)
	}
	return "", l.refused(l.pos, "%q is not part of the language; write text in single quotes, an unusual field name in back quotes", r)
}

// quoted reads text between quotes. Two quotes in the text mean one.
func (l *lexer) quoted(quote string) (string, error) {
	start := l.pos
	var s strings.Builder
	for {
		l.pos++
		part, rest, ok := strings.Cut(l.text[l.pos:], quote)
		if !ok {
			return "", l.refused(start, "the closing %s is missing", quote)
		}
		s.WriteString(part)
		l.pos += len(part) + 1
		if !strings.HasPrefix(rest, quote) {
			return s.String(), nil
		}
		s.WriteString(quote)
	}
}

// escaped reads text between double quotes, with the escapes of Go and C.
func (l *lexer) escaped() (string, error) {
	start := l.pos
	var s []byte
	for rest := l.text[l.pos+1:]; rest != ""; {
		if rest[0] == '"' {
			l.pos = len(l.text) - len(rest) + 1
			return string(s), nil
		}
		if rest[0] == '\\' && len(rest) > 1 && rest[1] == '\'' {
			s, rest = append(s, '\''), rest[2:]
			continue
		}
		if rest[0] != '\\' {
			s, rest = append(s, rest[0]), rest[1:]
			continue
		}
		r, multibyte, tail, err := strconv.UnquoteChar(rest, '"')
		if err != nil {
			return "", l.refused(len(l.text)-len(rest), `this escape is unknown; write \\ for a backslash, or put the text in single quotes`)
		}
		if rest = tail; multibyte {
			s = utf8.AppendRune(s, r)
		} else {
			s = append(s, byte(r))
		}
	}
	return "", l.refused(start, `the closing " is missing`)
}

// name returns the identifier that the text begins with.
func name(s string) string {
	for i, r := range s {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return s[:i]
		}
	}
	return s
}

// number returns the start of the text that looks like a number. The conversion checks
// whether it is a number.
func number(s string) string {
	if len(s) > 1 && s[0] == '0' && strings.ContainsRune("xXoObB", rune(s[1])) {
		return name(s)
	}
	i := digits(s, 0)
	if i < len(s) && s[i] == '.' && !strings.HasPrefix(s[i:], "..") {
		i = digits(s, i+1)
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e := i + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if end := digits(s, e); end > e {
			i = end
		}
	}
	return s[:i+len(name(s[i:]))]
}

func digits(s string, i int) int {
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '_') {
		i++
	}
	return i
}
