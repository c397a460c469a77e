package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// errReaderGone is the error of a write to a pipe without a reader.
var errReaderGone = errors.New("the reader of standard output is gone")

// Screen is standard output. On a terminal, it escapes control and invisible characters.
// Elsewhere, it writes bytes unchanged.
type Screen struct {
	File     *os.File
	Terminal bool
	escaper  escaper
}

func newScreen(f *os.File) *Screen {
	return &Screen{File: f, Terminal: term.IsTerminal(int(f.Fd()))}
}

func (s *Screen) Write(p []byte) (n int, err error) {
	if !s.Terminal {
		n, err = s.File.Write(p)
	} else if _, err = s.File.Write(s.escaper.escape(p)); err == nil {
		n = len(p)
	}
	if errors.Is(err, syscall.EPIPE) {
		return n, errReaderGone
	}
	if err != nil {
		return n, fmt.Errorf("standard output: %w", err)
	}
	return n, nil
}

// escaper escapes text that is written in pieces.
type escaper struct {
	rest []byte // start of a character at the end of the last piece
}

// escape escapes all characters except line feeds, tabs and visible characters. If p ends
// within a character, escape keeps the start of that character for the next piece.
func (e *escaper) escape(p []byte) []byte {
	p = append(e.rest, p...)
	shown := make([]byte, 0, len(p))
	for utf8.FullRune(p) {
		r, n := utf8.DecodeRune(p)
		if r == '\n' || r == '\t' {
			shown = append(shown, p[0])
		} else {
			shown = appendVisible(shown, r, p[:n])
		}
		p = p[n:]
	}
	e.rest = bytes.Clone(p)
	return shown
}

// appendVisible appends the character r, which b encodes, or an escape if it is not visible:
// a control of 7 or 8 bits, a mark of writing direction, another character without a shape,
// a line separator, or a byte that is not UTF-8. In JSON text the escapes are JSON's own.
func appendVisible(dst []byte, r rune, b []byte) []byte {
	switch {
	case r == utf8.RuneError && len(b) == 1:
		return fmt.Appendf(dst, `\x%02x`, b[0])
	case unicode.IsGraphic(r):
		return append(dst, b...)
	case r == '\n':
		return append(dst, `\n`...)
	case r == '\r':
		return append(dst, `\r`...)
	case r == '\t':
		return append(dst, `\t`...)
	case r < ' ':
		return fmt.Appendf(dst, `\x%02x`, r)
	}
	for _, unit := range utf16.AppendRune(nil, r) {
		dst = fmt.Appendf(dst, `\u%04x`, unit)
	}
	return dst
}

// Printable returns text of unknown origin, such as a name from a file or the message of a
// server, as one line that is safe to print.
func Printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var shown []byte
	for rest := []byte(s); len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		shown = appendVisible(shown, r, rest[:n])
		rest = rest[n:]
	}
	return string(shown)
}

// TextWidth returns the number of terminal columns of printable text.
func TextWidth(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0 // the terminal draws it over the previous character
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
