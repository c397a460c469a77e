package budget

import (
	"runtime"
	"testing"
)

func TestPeakResident(t *testing.T) {
	b := make([]byte, 64<<20)
	for i := 0; i < len(b); i += 4 << 10 {
		b[i] = 1
	}
	if peak := PeakResident(); peak < int64(len(b)) || peak > 1<<40 {
		t.Errorf("got %d bytes with %d in use", peak, len(b))
	}
	runtime.KeepAlive(b)
	for status, want := range map[string]int64{
		"Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t 1 kB\n": 2 << 20, "": 0, "Name:\tVmHWM: 3 kB\n": 0, "a\nVmHWM:\tmany kB\n": 0,
	} {
		if got := parsePeak([]byte(status)); got != want {
			t.Errorf("%q: got %d, want %d", status, got, want)
		}
	}
}
