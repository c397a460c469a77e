package testenv

import "testing"

func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		value    string
		required bool
		refused  bool
	}{
		{"", false, false},
		{"required", true, false},
		{"1", false, true},
		{"Required", false, true},
	} {
		t.Setenv("ROWTOCOL_E2E", tt.value)
		required, err := Required()
		if required != tt.required || (err != nil) != tt.refused {
			t.Errorf("%q: %v, %v", tt.value, required, err)
		}
	}
}

// ended is a test that takes note of how it ended.
type ended struct {
	testing.TB
	how string
}

func (e *ended) Helper()                   {}
func (e *ended) Name() string              { return "TestSample" }
func (e *ended) Skip(...any)               { e.how += "skipped" }
func (e *ended) Fatal(...any)              { e.how = "failed"; panic(e) }
func (e *ended) Fatalf(_ string, _ ...any) { e.how = "failed"; panic(e) }

func TestSkip(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", "required": "failed", "yes": "failed"} {
		t.Setenv("ROWTOCOL_E2E", value)
		e := &ended{}
		func() {
			defer func() { _ = recover() }() // as Fatal ends a test
			Skip(e, "there is no sample")
		}()
		if e.how != want {
			t.Errorf("%q: %s, want %s", value, e.how, want)
		}
	}
}
