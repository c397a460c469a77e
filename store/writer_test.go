package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
)

// uploaded is an Upload that records its calls and fails one of them.
type uploaded struct {
	calls []string
	fails string // the call that fails
}

func (u *uploaded) call(name, text string) error {
	u.calls = append(u.calls, name+text)
	if name == u.fails {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (u *uploaded) Write(p []byte) (int, error) { return len(p), u.call("write ", string(p)) }

func (u *uploaded) Finish(_ context.Context, n int64) error { return u.call("finish ", fmt.Sprint(n)) }

func (u *uploaded) Abandon() error { return u.call("abandon", "") }

// TestWriter writes parts, commits, writes and commits again, and aborts twice.
func TestWriter(t *testing.T) {
	for name, tt := range map[string]struct {
		size   int64
		parts  []string
		fails  string
		cancel bool
		calls  string
		is     error // error of the first commit; nil is any
		sound  bool
	}{
		"sound":               {5, []string{"hel", "", "lo"}, "", false, "[write hel write lo finish 5]", nil, true},
		"of any size":         {-1, []string{"hello"}, "", false, "[write hello finish 5]", nil, true},
		"empty":               {0, []string{""}, "", false, "[finish 0]", nil, true},
		"too few bytes":       {5, []string{"hell"}, "", false, "[write hell abandon]", nil, false},
		"too many bytes":      {5, []string{"hello!"}, "", false, "[abandon]", nil, false},
		"too many, then fits": {5, []string{"hell", "oo", "o"}, "", false, "[write hell abandon]", nil, false},
		"a write fails":       {5, []string{"hello", "again"}, "write ", false, "[write hello abandon]", io.ErrUnexpectedEOF, false},
		"finish fails":        {5, []string{"hello"}, "finish ", false, "[write hello finish 5 abandon]", io.ErrUnexpectedEOF, false},
		"interrupted":         {5, []string{"hello"}, "", true, "[abandon]", context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			u := &uploaded{fails: tt.fails}
			w := NewWriter(ctx, "f", tt.size, u)
			if tt.cancel {
				cancel()
			}
			for _, part := range tt.parts {
				_, _ = io.WriteString(w, part) // Commit fails too
			}
			err := w.Commit(t.Context())
			if (err == nil) != tt.sound || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("commit: %v", err)
			}
			var pe *fs.PathError
			if err != nil && (!errors.As(err, &pe) || pe.Path != "f") {
				t.Errorf("%v has no path", err)
			}
			if again := w.Commit(t.Context()); again == nil || err != nil && again != err {
				t.Errorf("second commit: %v", again)
			}
			if _, again := w.Write([]byte("x")); again == nil || err != nil && again != err {
				t.Errorf("write after commit: %v", again)
			}
			_ = w.Abort() // has no effect after a commit
			if err := w.Abort(); err != nil || fmt.Sprint(u.calls) != tt.calls {
				t.Errorf("the calls are %v, %v; want %s", u.calls, err, tt.calls)
			}
		})
	}
	if err := NewWriter(t.Context(), "f", -1, &uploaded{fails: "abandon"}).Abort(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("abort: %v", err)
	}
}
