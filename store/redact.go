package store

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Concealed replaces a secret in a text.
const Concealed = "(hidden)"

// namedSecret matches a secret that follows its name: a parameter of a location, even if it is
// escaped several times, or a header. It also matches a user and password before @ and a
// host. It does not match a path element that begins with such a name, as the partition
// directory /token=1 does. But it does match token=1 at the start of a text, and /my-token=1.
var namedSecret = lazyregexp.New(`(?i)((?:^|[^/\w]|%[0-9a-f]{2})[\w.-]*(?:delegation|token|password|secret|signature)["']?\s*(?:=|:|%(?:25)*3d)\s*["']?)[^\s"'&<>(){}\[\],;]+` +
	`|((?:negotiate|basic|bearer)\s+)[\w+/=.~-]{16,}` +
	`|(://)[^\s/@]+:[^\s/@]*(@)`)

// Redact replaces secrets in a text: each value that follows the name of a secret, such as
// token=, and the user and password of a URL. A caller that knows the text of a secret must
// replace it before it calls Redact.
func Redact(text string) string {
	// Most texts lack all that can separate a secret from its name.
	if !strings.ContainsAny(text, "=:% \t\n\f\r") {
		return text
	}
	return namedSecret.ReplaceAllString(text, "${1}${2}${3}"+Concealed+"${4}")
}

// Showable returns a form of a user's location that may be shown before it is validated. A
// remote location is shown without secrets, and a local one unchanged.
func Showable(location string) string {
	if scheme, _ := Scheme(location); scheme == "" {
		return location
	}
	return Redact(location)
}

// WithRedaction returns a store like st whose errors show no secrets. redact replaces the
// secrets in a text, and every text from a server passes through it. If the name of a file in
// a listing contains a secret, the listing is an error, because names are shown everywhere.
func WithRedaction(st Store, redact func(text string) string) Store {
	return Intercept(st, func(c *Call) error {
		if err := c.Do(); err != nil {
			return conceal(err, redact)
		}
		for _, info := range c.Infos {
			//guard: hides a token in the name of a file
			if shown := redact(info.Name); shown != info.Name && shown != Redact(info.Name) {
				return &fs.PathError{Op: "list", Path: c.Path, Err: fmt.Errorf("the name of a file in the directory contains a secret: %w", ErrUnavailable)}
			}
		}
		return nil
	})
}

// RedactError returns an error without the secrets that Redact replaces.
func RedactError(err error) error { return conceal(err, Redact) }

// redacted is an error with another text.
type redacted struct {
	error
	text string
}

func (e *redacted) Error() string { return e.text }

func (e *redacted) Unwrap() error { return e.error }

// conceal returns an error without secrets. It does not change the paths of an outermost
// PathError or LinkError, because they come from the caller.
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
