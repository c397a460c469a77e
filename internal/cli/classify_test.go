package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

func TestClassify(t *testing.T) {
	damaged := damage.New(damage.Sync, "a.avro", 7, "no marker")
	cases := []struct {
		err  error
		code int
	}{
		{nil, 0},
		{Usagef("no"), 1},
		{fmt.Errorf("a: %w", store.ErrScheme), 1},
		{fmt.Errorf("x: %w", failure.Usage), 1},
		{errors.New("an unexpected error"), 2},
		{&defect{value: damaged}, 2},
		{fmt.Errorf("x: %w", damaged), 3},
		{&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}, 3},
		{fmt.Errorf("%w: %w", failure.Input, syscall.EACCES), 3},
		{&fs.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, 4},
		{&fs.PathError{Op: "read", Path: "a", Err: syscall.EIO}, 4},
		{context.DeadlineExceeded, 4},
		{fmt.Errorf("%w: %w", failure.Storage, syscall.ENOENT), 4},
		{fmt.Errorf("x: %w", dataset.ErrChanging), 4},
		{fmt.Errorf("x: %w", failure.Locked), 5},
		{failure.New(failure.Different, "%w", damaged), 6},
		{&fs.PathError{Op: "create", Path: "a", Err: syscall.EROFS}, 7},
		{fmt.Errorf("%w: %w", failure.Refused, syscall.EEXIST), 7},
		{fmt.Errorf("x: %w", failure.Losses), 8},
		{fmt.Errorf("%w: %w", failure.Foreign, damaged), 9},
		{&fs.PathError{Op: "create", Path: "a", Err: syscall.EEXIST}, 9},
		{interrupted{syscall.SIGTERM}, 130},
	}
	for _, c := range cases {
		if got := Classify(c.err).Code; got != c.code {
			t.Errorf("%v: exit %d, want %d", c.err, got, c.code)
		}
	}
}

// TestStopTimes checks that the program ends before schedulers kill it.
func TestStopTimes(t *testing.T) {
	if stopTime+lastTime >= 10*time.Second {
		t.Errorf("the limits %v and %v make more than 10 s", stopTime, lastTime)
	}
}

func TestInterrupted(t *testing.T) {
	if text := (interrupted{syscall.SIGTERM}).Error(); !strings.HasPrefix(text, "stopped by SIGTERM: ") {
		t.Error(text)
	}
}

func TestReadConfig(t *testing.T) {
	cases := []struct{ name, text, wrong string }{
		{"empty", "", ""},
		{"comments", "# nothing\n", ""},
		{"all forms", "codec: [snappy, a=null]\nmeta: {k: v}\nstrict: true\nmemory: 64MiB\n", ""},
		{"a table", "table: {name: ns.t, properties: {scope: all}}\n", ""},
		{"a table of two keys", "table:\n  name: a.b\n  name: a.c\n", "table.name is given twice"},
		{"twice", "strict: true\nstrict: false\n", "given twice"},
		{"no value", "codec:\n", "has no value"},
		{"list at the top", "- a\n", "mapping"},
		{"nested", "codec: [[a]]\n", "plain values"},
		{"not YAML", "a: [\n", "yaml"},
		{"two documents", "strict: true\n---\nstrict: false\n", ":2: a job file is one YAML document"},
		{"nothing and a document", "# a\n---\n---\nstrict: false\n", "one YAML document"},
		{"a marker before and after", "---\nstrict: true\n...\n", ""},
		{"then not YAML", "strict: true\n---\na: [\n", "yaml"},
	}
	for _, c := range cases {
		name := t.TempDir() + "/job.yaml"
		testenv.Must(t, os.WriteFile(name, []byte(c.text), 0o600))
		got, err := readConfig(t.Context(), name)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
		if c.name == "a table" && (fmt.Sprint(got["table.name"].values) != "[ns.t]" || fmt.Sprint(got["table.properties"].values) != "[scope=all]") {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.name == "all forms" && (fmt.Sprint(got["codec"].values) != "[snappy a=null]" || got["meta"].values[0] != "k=v") {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
