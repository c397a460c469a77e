package index

import (
	"fmt"
	"strings"
)

// dirName is the name of the directory of an index: its fields, with bytes other than letters,
// digits, dots, hyphens and underlines as =XX.
func dirName(fields string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(fields) {
		switch c := fields[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', i > 0 && (c == '.' || c == '_'):
			b.WriteByte(c)
		default:
			b.Write([]byte{'=', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}

// fieldsOf is the reverse of dirName. ok is false for names that it does not make.
func fieldsOf(dir string) (fields string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(dir); i++ {
		c := dir[i]
		if c == '=' {
			var n int
			if i+2 >= len(dir) {
				return "", false
			}
			if _, err := fmt.Sscanf(dir[i+1:i+3], "%02X", &n); err != nil {
				return "", false
			}
			c, i = byte(n), i+2
		}
		b.WriteByte(c)
	}
	return b.String(), dirName(b.String()) == dir
}

// fileName is the name of a file of an index, by its number.
func fileName(n int) string { return fmt.Sprintf("%05d%s", n, suffix) }

// suffix ends the names of files of an index and of runs.
const suffix = ".hfile"
