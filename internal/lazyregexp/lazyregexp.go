// Package lazyregexp compiles regular expressions when they are first used: many take longer
// to compile than all else that the start of a program does, and most runs use few.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression. It is safe for concurrent use.
type Regexp func() *regexp.Regexp

// New returns a regular expression that is compiled by its first use, which panics if it is
// none.
func New(text string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// MatchString is that of regexp.Regexp.
func (r Regexp) MatchString(s string) bool { return r().MatchString(s) }

// FindString is that of regexp.Regexp.
func (r Regexp) FindString(s string) string { return r().FindString(s) }

// FindStringSubmatch is that of regexp.Regexp.
func (r Regexp) FindStringSubmatch(s string) []string { return r().FindStringSubmatch(s) }
