package e2e

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/rowtocol/rowtocol/internal/memlimit"
)

// runMeasured runs the program to its end and returns its peak memory in bytes.
func runMeasured(t *testing.T, args ...string) (result, int64) {
	t.Helper()
	return finishMeasured(t, command(args...))
}

// finishMeasured is finish that also returns the peak memory in bytes.
func finishMeasured(t *testing.T, cmd *exec.Cmd) (result, int64) {
	t.Helper()
	args := cmd.Args[1:]
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	u, err := memlimit.Run(cmd, 0)
	must(t, err)
	return result{args: args, code: u.Exit, stdout: stdout.String(), stderr: stderr.String(), elapsed: u.Wall}, u.Peak
}
