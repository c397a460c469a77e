package lineage

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestPipe has a pipe that nobody reads.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	testenv.Must(t, syscall.Mkfifo(name, 0o600))
	failed := make(chan error, 1)
	go func() { failed <- Append(name, Start(ended(""), nil)) }()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("a pipe was taken")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the pipe is waited for")
	}
}
