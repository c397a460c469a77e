package lineage

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestPipe checks that Append refuses a pipe without a reader and does not wait for one.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	testenv.Must(t, syscall.Mkfifo(name, 0o600))
	failed := make(chan error, 1)
	go func() { failed <- Append(name, Start(newRun(""), nil)) }()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("no error for a pipe")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Append waits for the pipe")
	}
}
