package lineage

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// readLines returns the lines of a file.
func readLines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	testenv.Must(t, err)
	if !bytes.HasSuffix(text, []byte("\n")) {
		t.Errorf("the last line has no newline")
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestAppend checks that each line is whole if concurrent runs append events.
func TestAppend(t *testing.T) {
	name := filepath.Join(t.TempDir(), "runs.jsonl")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := Append(name, Start(newRun(""), named), End(newRun("done"), named, "")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := readLines(t, name)
	if len(got) != 160 {
		t.Errorf("got %d lines, want 160", len(got))
	}
	for i, line := range got {
		if !json.Valid([]byte(line)) {
			t.Fatalf("line %d is not JSON: %s", i, line)
		}
	}
}

func TestAppendTo(t *testing.T) {
	dir := t.TempDir()
	const event = `{"eventType": "START", "eventTime": "2026-01-02T03:04:05Z", "run": {"runId": "x"}, "job": {"name": "j"}, ` +
		`"producer": "https://airflow.apache.org", "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"}`
	long := strings.Replace(event, `"producer"`, `"inputs": [{"name": "`+strings.Repeat("x", 3*firstRead)+`"}], "producer"`, 1)
	for _, field := range []string{"eventType", "eventTime", "runId", "name", "producer", "schemaURL", "OpenLineage.json"} {
		if isEvent([]byte(strings.Replace(event, field, "other", 1))) {
			t.Errorf("a line without %s is accepted as an event", field)
		}
	}
	for _, tt := range []struct {
		text string
		want int // lines; 0 for an error, which leaves the file unchanged
	}{
		{"", 1}, {event, 2}, {event + "\n", 2}, {event + "\n\n", 3}, {"x\n" + event + "\n", 3}, {event + "\n{\"cut\": \"of", 3}, {long + "\n", 2},
		{event + "\n{\"cut\": \"of\n", 0}, {event + "\n{}\n", 0}, {"{}\n", 0}, {"{}", 0}, {"{\"cut\": \"of", 0}, {"Obj\x01", 0}, {"[]\n", 0}, {"\n", 0},
		{"{\n" + event[1:] + "\n", 0}, {strings.Repeat("x", maxLine+1), 0}, {event + strings.Repeat(" ", maxLine), 0},
	} {
		name := filepath.Join(dir, "x")
		testenv.Must(t, os.WriteFile(name, []byte(tt.text), 0o600))
		err := Append(name, Start(newRun(""), nil))
		if (err == nil) != (tt.want > 0) {
			t.Errorf("%q: got error %v", tt.text, err)
		}
		if text, _ := os.ReadFile(name); tt.want == 0 && string(text) != tt.text {
			t.Errorf("%q became %q", tt.text, text)
		}
		if tt.want > 0 {
			got := readLines(t, name)
			if len(got) != tt.want || !json.Valid([]byte(got[len(got)-1])) {
				t.Errorf("%q became %q", tt.text, got)
			}
		}
	}
	if err := Append(dir, Start(newRun(""), nil)); err == nil {
		t.Error("no error for a directory")
	}
	testenv.Must(t, os.Symlink("new", dir+"/link"))
	if err := Append(dir+"/link", Start(newRun(""), nil)); err == nil {
		t.Error("no error for a dangling link")
	}
	if err := Append(filepath.Join(dir, "none", "x"), Start(newRun(""), nil)); err == nil {
		t.Error("no error without the directory")
	}
}
