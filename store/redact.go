package store

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

// Concealed is what stands in a text in the place of a secret.
const Concealed = "(hidden)"

// named is how secrets are known by their names: as a parameter of a location
// (also one that was escaped, once or more), as a header, and before the @ of a
// host. A directory of a partition may be called token=1, which is none.
var named = regexp.MustCompile(`(?i)((?:^|[^/\w]|%[0-9a-f]{2})[\w.-]*(?:delegation|token|password|secret|signature)["']?\s*(?:=|:|%(?:25)*3d)\s*["']?)[^\s"'&<>(){}\[\],;]+` +
	`|((?:negotiate|basic|bearer)\s+)[\w+/=.~-]{16,}` +
	`|(://)[^\s/@]+:[^\s/@]*(@)`)

// Redact replaces what a text calls a secret. Who knows the secrets themselves
// replaces them first.
func Redact(text string) string {
	return named.ReplaceAllString(text, "${1}${2}${3}"+Concealed+"${4}")
}

// Shown is a location that a user named as it may be shown before it is known to be
// one: that of remote storage without what it calls a secret, a local one as it is.
func Shown(location string) string {
	if scheme, _ := Scheme(location); scheme == "" {
		return location
	}
	return Redact(location)
}

// WithRedaction returns st with errors that show no secrets: redact replaces
// them in a text. Whatever a server says, or makes others say, passes here. That
// a file has a secret for a name is an error too, for names go everywhere.
func WithRedaction(st Store, redact func(text string) string) Store {
	return Intercept(st, func(c *Call) error {
		if err := c.Do(); err != nil {
			return conceal(err, redact)
		}
		for _, info := range c.Infos {
			//guard: hides a token in the name of a file
			if shown := redact(info.Name); shown != info.Name && shown != Redact(info.Name) {
				return &fs.PathError{Op: "list", Path: c.Path, Err: fmt.Errorf("a name in it is a secret: %w", ErrUnavailable)}
			}
		}
		return nil
	})
}

// Conceal returns an error without what it calls a secret.
func Conceal(err error) error { return conceal(err, Redact) }

// redacted is an error with another text.
type redacted struct {
	error
	text string
}

func (e *redacted) Error() string { return e.text }

func (e *redacted) Unwrap() error { return e.error }

// conceal returns an error without secrets. The paths of an error are those that
// we named.
func conceal(err error, redact func(string) string) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: e.Path, Err: conceal(e.Err, redact)}
	case *os.LinkError:
		return &os.LinkError{Op: e.Op, Old: e.Old, New: e.New, Err: conceal(e.Err, redact)}
	}
	text := err.Error()
	if shown := redact(text); shown != text {
		return &redacted{err, shown}
	}
	return err
}
