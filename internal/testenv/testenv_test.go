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
			t.Errorf("%q: got %v, %v", tt.value, required, err)
		}
	}
}

// recorder is a test that records how it ended.
type recorder struct {
	testing.TB
	how string
}

func (e *recorder) Helper()                   {}
func (e *recorder) Name() string              { return "TestSample" }
func (e *recorder) Skip(...any)               { e.how += "skipped" }
func (e *recorder) Fatal(...any)              { e.how = "failed"; panic(e) }
func (e *recorder) Fatalf(_ string, _ ...any) { e.how = "failed"; panic(e) }

func TestSkip(t *testing.T) {
	for value, want := range map[string]string{"": "skipped", "required": "failed", "yes": "failed"} {
		t.Setenv("ROWTOCOL_E2E", value)
		e := &recorder{}
		func() {
			defer func() { _ = recover() }() // as Fatal ends a test
			Skip(e, "there is no sample")
		}()
		if e.how != want {
			t.Errorf("%q: got %s, want %s", value, e.how, want)
		}
	}
}
