package hadoop

import (
	"strings"
	"testing"
)

func TestEarlier(t *testing.T) {
	for _, tt := range []struct {
		attempt string
		most    int
		want    string
	}{
		{"a_0", 4, ""},
		{"a_2", 4, "a_0 a_1"},
		{"a_9", 4, "a_0 a_1 a_2 a_3"},
		{"a_1001", 2, "a_0 a_1 a_1000"},
		{"a_x", 4, ""},
		{"", 4, ""},
	} {
		if got := strings.Join(earlierAttempts(tt.attempt, tt.most), " "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.attempt, got, tt.want)
		}
	}
	if n := len(earlierAttempts("a_999999999", 1<<30)); n != maxAttempts*maxAttempts {
		t.Errorf("got %d earlier attempts, want %d", n, maxAttempts*maxAttempts)
	}
}

func TestApplication(t *testing.T) {
	if id, ok := application("attempt_1700000000000_0003_m_000001_2"); !ok || id != "application_1700000000000_0003" {
		t.Errorf("got %s, %v", id, ok)
	}
	for _, id := range []string{"", "attempt_1_2_r_3_4", "attempt_1_2_m_3", "../attempt_1_2_m_3_4", "attempt_1_2_m_3_4/../x"} {
		if got, ok := application(id); ok {
			t.Errorf("%q: got %s, want none", id, got)
		}
	}
}
