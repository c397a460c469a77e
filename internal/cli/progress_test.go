package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestBar(t *testing.T) {
	for share, want := range map[float64]string{0: "", 1: "████", 0.5: "██", 1.0 / 32: "▏", 31.0 / 32: "███▉"} {
		if got := Bar(share, 4); got != want {
			t.Errorf("bar(%v) = %q, want %q", share, got, want)
		}
	}
}

func TestProgressText(t *testing.T) {
	for _, c := range []struct {
		rows, bytes, done, total int64
		columns                  int
		want                     string
	}{
		{300, 10 << 20, 10 << 20, 40 << 20, 80, "███████▌░░░░░░░░░░░░░░░░░░░░░░   25%  1.00 MiB/s  30s left  300 rows  10.0 MiB"},
		{300, 10 << 20, 10 << 20, 40 << 20, 40, "██▊░░░░░░░░   25%  1.00 MiB/s  30s left"},
		{300, 10 << 20, 10 << 20, 40 << 20, 30, "▎   25%  1.00 MiB/s  30s left"},
		{300, 900 << 30, 1, 100_000, 40, "░░░░    0%  90.0 GiB/s  277h46m30s left"},
		{300, 10 << 20, 50, 100, 200, strings.Repeat("█", 15) + strings.Repeat("░", 15) + "   50%  1.00 MiB/s  10s left  300 rows  10.0 MiB"},
		{300, 10 << 20, 120, 100, 80, strings.Repeat("█", 30) + "  100%  1.00 MiB/s  0s left  300 rows  10.0 MiB"},
		{300, 0, 0, 100, 80, strings.Repeat("░", 30) + "    0%  0 B/s  300 rows  0 B"},
		{300, 10 << 20, 0, 0, 80, "1.00 MiB/s  300 rows  10.0 MiB"},
		{300, 10 << 20, 10 << 20, 40 << 20, 20, "▊░░   25%  30s left"},
		{300, 10 << 20, 10 << 20, 40 << 20, 10, " 2…s left"},
		{300, 10 << 20, 0, 0, 24, "1.00 MiB/s  300 rows"},
		{0, 10 << 20, 10 << 20, 40 << 20, 80, "███████▌░░░░░░░░░░░░░░░░░░░░░░   25%  1.00 MiB/s  30s left  10.0 MiB"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &Progress{start: time.Now()}
			if got := p.text(time.Now(), 80); got != "" {
				t.Errorf("at the start: %q", got)
			}
			p.SetOf(0, 0, 0, c.total)
			time.Sleep(10 * time.Second)
			p.SetOf(c.rows, c.bytes, c.done, c.total)
			if got := p.text(time.Now(), c.columns); got != c.want || TextWidth(got) >= c.columns {
				t.Errorf("%+v: got %q", c, got)
			}
		})
	}
}

// TestProgressLeft checks that the time left is estimated from the work of this run, without
// that of an earlier run or a wait before it.
func TestProgressLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Progress{start: time.Now()}
		time.Sleep(time.Hour) // in a queue
		p.Set(0, 50, 100)
		if got := p.text(time.Now(), 200); strings.Contains(got, "left") {
			t.Errorf("after work of an earlier run only: %q", got)
		}
		time.Sleep(10 * time.Second)
		p.Set(0, 75, 100)
		if got := p.text(time.Now(), 200); !strings.Contains(got, "  10s left") {
			t.Errorf("with half of the rest done: %q", got)
		}
	})
}

// newLogged returns an App that writes to a file, and the text in the file.
func newLogged(t *testing.T) (a *App, text func() []byte) {
	f, err := os.Create(t.TempDir() + "/log")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return NewApp(&Program{Name: "rowtocol"}, nil, f, f), func() []byte {
		text, err := os.ReadFile(f.Name())
		testenv.Must(t, err)
		return text
	}
}

// TestProgressEvery checks that a flag sets the time between lines about progress.
func TestProgressEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, text := newLogged(t)
		testenv.Must(t, a.RootCommand().PersistentFlags().Set("progress-every", "2s"))
		a.LogStart()
		time.Sleep(7 * time.Second)
		a.endRun(0, "done")
		a.end(nil)
		if n := bytes.Count(text(), []byte(`"progress"`)); n != 3 {
			t.Errorf("%d lines\n%s", n, text())
		}
	})
}

// TestProgressLines checks that without a terminal a line about progress comes every minute.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, text := newLogged(t)
		a.Command = "convert"
		a.LogStart("dest", "out")
		time.Sleep(time.Minute + time.Second) // for example, reading the inputs' headers
		p, stop := a.StartProgress(t.Context())
		p.SetTasks(0, 5)
		p.SetWaiting("YARN")
		time.Sleep(time.Minute)
		p.SetWaiting("")
		p.Set(0, 0, 6000)
		time.Sleep(time.Minute)
		p.Set(10, 1200, 6000)
		p.SetTasks(1, 5)
		time.Sleep(2 * time.Minute)
		stop()
		a.endRun(0, "done")
		a.end(nil)
		time.Sleep(2 * time.Minute)
		var lines []map[string]any
		for line := range bytes.Lines(text()) {
			var l map[string]any
			testenv.Must(t, json.Unmarshal(line, &l))
			lines = append(lines, l)
		}
		if len(lines) != 7 {
			t.Fatalf("%v", lines)
		}
		for i, want := range []map[string]any{
			1: {"msg": "progress", "rows": 0., "seconds": 60., "seconds_without_progress": 60.},
			2: {"msg": "waiting", "for": "YARN", "tasks": 5., "seconds": 120., "seconds_without_progress": nil},
			3: {"msg": "progress", "rows": 0., "seconds": 180., "seconds_without_progress": 60., "percent": 0.},
			4: {"msg": "progress", "rows": 10., "bytes_read": 1200., "seconds": 240., "percent": 20., "tasks_done": 1., "tasks": 5., "bytes_per_second": 20., "seconds_left": 476.},
			5: {"msg": "progress", "rows": 10., "seconds": 300., "bytes_per_second": 0., "seconds_without_progress": 60., "seconds_left": 716.},
		} {
			for name, v := range want {
				if lines[i][name] != v {
					t.Errorf("%s of the line %v, want %v", name, lines[i], v)
				}
			}
		}
		if lines[4]["seconds_without_progress"] != nil {
			t.Errorf("%v", lines[4])
		}
	})
}
