// Package failuretest checks the kinds of errors in tests.
package failuretest

import (
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
)

// Want reports a test failure unless err has a kind and its message has all texts.
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
