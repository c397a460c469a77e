// Package failuretest holds errors to the kinds of package failure, in tests.
package failuretest

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
)

// Want requires an error of a kind, with all texts in its message.
func Want(t testing.TB, err, kind error, texts ...string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind {
		t.Errorf("got error %v of kind %v, want kind %v", err, failure.KindOf(err), kind)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got error %v, want %q in it", err, text)
		}
	}
}

// Must ends the test if one of some calls failed.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
