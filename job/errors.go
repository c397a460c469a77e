package job

import (
	"context"
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/store"
)

// The kinds of failure that callers tell apart with errors.Is or KindOf; each
// is an exit code of the command line.
var (
	ErrUsage    = errors.New("usage or configuration")
	ErrInput    = errors.New("input is missing, damaged or not convertible")
	ErrStorage  = errors.New("storage failed; a retry may help")
	ErrConflict = errors.New("the destination is locked or holds something else")
	ErrDiffer   = errors.New("a difference was found")
	ErrFinal    = errors.New("storage refuses for good")
	ErrLosses   = errors.New("committed with losses")
)

var kinds = []error{ErrUsage, ErrInput, ErrStorage, ErrConflict, ErrDiffer, ErrFinal, ErrLosses}

// failure is an error with its kind, which its message does not repeat.
type failure struct {
	kind, err error
}

func (f *failure) Error() string   { return f.err.Error() }
func (f *failure) Unwrap() []error { return []error{f.kind, f.err} }

// wrap gives err a kind, unless it is nil or has one.
func wrap(kind, err error) error {
	if err == nil {
		return nil
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return err
		}
	}
	return &failure{kind, err}
}

func failf(kind error, message string, args ...any) error {
	return &failure{kind, fmt.Errorf(message, args...)}
}

// inFile names the input whose schema err is about.
func inFile(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("input %s: %w", name, err)
}

// judged gives err the kind that KindOf finds.
func judged(err error) error {
	if kind := KindOf(err); kind != nil {
		return wrap(kind, err)
	}
	return err
}

// KindOf returns the kind of an error of this package or of those below it:
// one of the Err values, or nil for an interruption and for what must be a
// defect of the program.
func KindOf(err error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k
		}
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return nil
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		return ErrInput
	}
	switch store.Classify(err) {
	case store.NotFound, store.Retryable:
		return ErrStorage
	case store.Exists:
		return ErrConflict
	case store.Final:
		return ErrFinal
	case store.Unsupported:
		return ErrUsage
	default:
		return nil
	}
}
