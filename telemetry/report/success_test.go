package report

import "testing"

func TestSucceeded(t *testing.T) {
	for status, want := range map[string]bool{
		"done": true, "nothing": true, "losses": true,
		"usage": false, "defect": false, "input": false, "storage": false, "locked": false, "different": false,
		"refused": false, "conflict": false, "interrupted": false, "detached": false, "": false,
	} {
		if got := (&Run{Status: status}).Succeeded(); got != want {
			t.Errorf("%q: got %v, want %v", status, got, want)
		}
	}
}
