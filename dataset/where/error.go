package where

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a condition, with its place.
type Error struct {
	Text   string // the condition
	Offset int    // offset of the mistake in Text, in bytes
	Reason string // what is wrong, and what to write
}

// Error returns the place and the reason, without control characters.
func (e *Error) Error() string {
	line, at := e.Line()
	place := fmt.Sprintf("character %d", utf8.RuneCountInString(line[:at])+1)
	if strings.Contains(e.Text, "\n") {
		place = fmt.Sprintf("line %d, %s", 1+strings.Count(e.Text[:e.Offset], "\n"), place)
	}
	return "condition, " + place + ": " + strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, e.Reason)
}

// Line returns the line of the condition that has the mistake, and the offset of the mistake
// in that line, in bytes.
func (e *Error) Line() (line string, at int) {
	start := strings.LastIndexByte(e.Text[:e.Offset], '\n') + 1
	line, _, _ = strings.Cut(e.Text[start:], "\n")
	return line, e.Offset - start
}

// refused returns the error at a place of the text.
func refused(text string, offset int, reason string, args ...any) error {
	return &Error{Text: text, Offset: offset, Reason: fmt.Sprintf(reason, args...)}
}
