package manifest

import (
	"math"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestKept checks that the document of a kept output is read as it was written, and refused if
// its time or its output cannot be.
func TestKept(t *testing.T) {
	s := NewSuccess(samplePlan(t), output, []*TaskResult{sampleResult(), lastResult()})
	k := &Kept{Success: s, KeepSeconds: SecondsToKeep(time.Minute + 1)}
	b, err := k.Encode()
	testenv.Must(t, err)
	got, err := DecodeKept(b)
	if err != nil || got.ID != output || got.For() != 61*time.Second || len(got.Files()) != len(s.Files()) {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, change := range map[string]func(k *Kept){
		"a negative time": func(k *Kept) { k.KeepSeconds = -1 },
		"no duration":     func(k *Kept) { k.KeepSeconds = math.MaxInt64/int64(time.Second) + 1 },
		"no ID":           func(k *Kept) { k.ID = "" },
	} {
		k, err := DecodeKept(b)
		testenv.Must(t, err)
		change(k)
		changed, err := k.Encode()
		testenv.Must(t, err)
		if _, err := DecodeKept(changed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := (&Kept{KeepSeconds: SecondsToKeep(math.MaxInt64)}).For(); got < math.MaxInt64-time.Second {
		t.Errorf("the longest time becomes %v", got)
	}
}
