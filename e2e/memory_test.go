package e2e

import (
	"bytes"
	"testing"

	"github.com/rowtocol/rowtocol/internal/memlimit"
)

// runMeasured runs the program to its end and returns the most memory that it
// had, in bytes.
func runMeasured(t *testing.T, args ...string) (result, int64) {
	t.Helper()
	cmd := command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	u, err := memlimit.Run(cmd, 0)
	if err != nil {
		t.Fatal(err)
	}
	return result{args: args, code: u.Exit, stdout: stdout.String(), stderr: stderr.String(), elapsed: u.Wall}, u.Peak
}
