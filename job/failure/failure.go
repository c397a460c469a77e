// Package failure defines the kinds of failure that users distinguish. Each kind has an
// exit code of the command line. Code that knows what an error means to the user gives
// the error a kind. KindOf judges other errors by their origin in a store or a decoder.
package failure

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/format/damage"
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

// kinds are all kinds in the order in which given looks for them, each with its name in
// documents and its weight. The failure with the least weight says most about what went
// wrong. The weight of a defect is 0.
var kinds = []struct {
	kind   error
	name   string
	weight int
}{
	{Usage, "usage", 1},
	{Input, "input", 2},
	{Storage, "storage", 5},
	{Locked, "locked", 6},
	{Different, "different", 8},
	{Refused, "refused", 4},
	{Losses, "losses", 7},
	{Foreign, "conflict", 3},
}

// Defect is the name of a failure without a kind.
const Defect = "defect"

// Name returns the name of a kind in documents and final JSON objects; Defect if kind
// is nil.
func Name(kind error) string {
	for _, k := range kinds {
		if k.kind == kind {
			return k.name
		}
	}
	return Defect
}

// Named returns the kind with this name; nil if there is none.
func Named(name string) error {
	for _, k := range kinds {
		if k.name == name {
			return k.kind
		}
	}
	return nil
}

// Compare orders kinds, the most informative first. nil, a defect, comes before all.
func Compare(a, b error) int { return cmp.Compare(weight(a), weight(b)) }

func weight(kind error) int {
	for _, k := range kinds {
		if k.kind == kind {
			return k.weight
		}
	}
	return 0
}

// failure is an error with a kind, which its message does not repeat.
type failure struct {
	kind, err error
}

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.kind, f.err} }

// As gives err a kind, unless err is nil or already has a kind.
func As(kind, err error) error {
	//guard: keeps the kind that an error has
	if err == nil || HasKind(err) {
		return err
	}
	return &failure{kind, err}
}

// New returns an error of a kind. The message is formatted as fmt.Errorf does.
func New(kind error, message string, args ...any) error {
	return &failure{kind, fmt.Errorf(message, args...)}
}

// HasKind reports whether err was given a kind.
func HasKind(err error) bool { return given(err) != nil }

func given(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k.kind) {
			return k.kind
		}
	}
	return nil
}

// KindOf returns the kind that an error was given. If the error was given none, KindOf
// returns the kind that follows from the store or the decoder that the error comes from. It
// returns nil for an interruption and for a defect of the program.
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
