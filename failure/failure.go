// Package failure holds the kinds of failure that a user tells apart, each of
// which is an exit code of the command line. Whoever knows what a failure means
// to the user gives it its kind; what nobody did is judged by what storage and
// decoders say.
package failure

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/store"
)

// The kinds, for errors.Is and KindOf.
var (
	Usage     = errors.New("usage or configuration")
	Input     = errors.New("input is missing, damaged or not convertible")
	Storage   = errors.New("storage failed; a retry may help")
	Locked    = errors.New("another run holds the destination; a retry may help")
	Different = errors.New("a difference was found")
	Refused   = errors.New("storage refuses for good")
	Losses    = errors.New("committed with losses")
	Foreign   = errors.New("the destination holds something else")
)

var kinds = []error{Usage, Input, Storage, Locked, Different, Refused, Losses, Foreign}

// failure is an error with its kind, which its message does not repeat.
type failure struct {
	kind, err error
}

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.kind, f.err} }

// As gives err a kind, unless it is nil or has one.
func As(kind, err error) error {
	//guard: what went well would fail, or what was said outright would be overruled
	if err == nil || Given(err) {
		return err
	}
	return &failure{kind, err}
}

// New returns an error of a kind. The message is formatted as fmt.Errorf does.
func New(kind error, message string, args ...any) error {
	return &failure{kind, fmt.Errorf(message, args...)}
}

// Given reports whether err was given a kind.
func Given(err error) bool { return given(err) != nil }

func given(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	return nil
}

// KindOf returns the kind of an error: the one that it was given, or else what
// follows from the store or the decoder that it comes from. It is nil for an
// interruption and for what must be a defect of the program.
func KindOf(err error) error {
	if kind := given(err); kind != nil {
		return kind
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		return Input
	}
	switch store.Classify(err) {
	case store.NotFound, store.Retryable:
		return Storage
	case store.Exists:
		return Foreign
	case store.Final:
		return Refused
	case store.Unsupported:
		return Usage
	default:
		return nil
	}
}

// Judge gives err the kind that KindOf finds.
func Judge(err error) error {
	if kind := KindOf(err); kind != nil {
		return As(kind, err)
	}
	return err
}
