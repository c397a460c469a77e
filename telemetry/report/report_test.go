package report

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		run  Run
		want float64
	}{
		{Run{}, 0},
		{Run{Began: began, Ended: began, InputBytes: 10, Files: 1}, 0},
		{Run{Began: began, Ended: began.Add(4 * time.Second), InputBytes: 10}, 0},
		{Run{Began: began, Ended: began.Add(4 * time.Second), InputBytes: 10, Bytes: 4, Files: 1}, 2.5},
		{Run{Began: began, Ended: began.Add(4 * time.Second), InputBytes: 10, ResumedBytes: 8, Bytes: 4, Files: 1}, 0.5},
		{Run{Began: began, Ended: began.Add(4 * time.Second), InputBytes: 10, ResumedBytes: 10, Bytes: 4, Files: 1}, 0},
		{Run{Began: began, Ended: began.Add(4 * time.Second), Bytes: 4, Files: 1}, 1},
	} {
		if got := c.run.Rate(); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.run, got, c.want)
		}
	}
}
