// Package lazyregexp compiles regular expressions at their first use. Compiling many of them
// would dominate the start of a program, and most runs use few.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression. It is safe for concurrent use.
type Regexp func() *regexp.Regexp

// New returns a regular expression that is compiled at its first use. That use panics if text is
// not valid.
func New(text string) Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// MatchString is regexp.Regexp.MatchString.
func (r Regexp) MatchString(s string) bool { return r().MatchString(s) }

// FindString is regexp.Regexp.FindString.
func (r Regexp) FindString(s string) string { return r().FindString(s) }

// FindStringSubmatch is regexp.Regexp.FindStringSubmatch.
func (r Regexp) FindStringSubmatch(s string) []string { return r().FindStringSubmatch(s) }

// FindStringSubmatchIndex is regexp.Regexp.FindStringSubmatchIndex.
func (r Regexp) FindStringSubmatchIndex(s string) []int { return r().FindStringSubmatchIndex(s) }

// FindStringIndex is regexp.Regexp.FindStringIndex.
func (r Regexp) FindStringIndex(s string) []int { return r().FindStringIndex(s) }

// FindSubmatchIndex is regexp.Regexp.FindSubmatchIndex.
func (r Regexp) FindSubmatchIndex(b []byte) []int { return r().FindSubmatchIndex(b) }

// ReplaceAllString is regexp.Regexp.ReplaceAllString.
func (r Regexp) ReplaceAllString(s, with string) string { return r().ReplaceAllString(s, with) }
