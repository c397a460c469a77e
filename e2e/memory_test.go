package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// measureCommand as first argument makes this test binary run a program and
// tell on descriptor 3 what memory it took.
const measureCommand = "measure-memory"

// runMeasured runs the program to its end and returns the most memory that it
// had, in bytes. The program is the child of a small process, because Linux
// counts the memory of the process that starts another as the other's.
func runMeasured(t *testing.T, args ...string) (result, int64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	cmd := command(args...)
	cmd.Path, cmd.Args = self, append([]string{self, measureCommand, program}, args...)
	cmd.ExtraFiles = []*os.File{w}
	res := finish(t, cmd)
	_ = w.Close() // it was the child's
	res.args = args
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var peak int64
	if _, err := fmt.Sscan(string(text), &peak); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return res, peak
}

// measured is the small process. It returns the program's exit code.
func measured(args []string) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return 1, err
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	_, err := fmt.Fprintln(os.NewFile(3, "memory"), usage.Maxrss<<10)
	return cmd.ProcessState.ExitCode(), err
}
