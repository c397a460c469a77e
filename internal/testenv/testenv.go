// Package testenv helps tests whose requirements may be missing: they are skipped, or fail
// if ROWTOCOL_E2E is "required". Only tests and measurements import it.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Required reports whether a missing requirement is a failure. It returns an error if
// ROWTOCOL_E2E is neither "required" nor empty.
func Required() (bool, error) {
	switch value := os.Getenv("ROWTOCOL_E2E"); value {
	case "":
		return false, nil
	case "required":
		return true, nil
	default:
		return false, fmt.Errorf("ROWTOCOL_E2E is %q: it can be \"required\" or empty", value)
	}
}

// Must fails and ends a test if one of the errors is not nil.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Skip skips a test whose requirements are missing, or fails it if they are required.
func Skip(t testing.TB, why string) {
	t.Helper()
	required, err := Required()
	if err != nil {
		t.Fatal(err)
	}
	if required {
		t.Fatalf("ROWTOCOL_E2E=required, but %s", why)
	}
	t.Skip(why)
}

// ProgramEnviron returns the environment for the program, without the ROWTOCOL_ variables of
// tests: the program would reject them, because they are not its flags.
func ProgramEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "ROWTOCOL_") })
}

// Program returns the path of the built program: that in ROWTOCOL_PROGRAM, or one that it
// builds with the go command. The caller calls remove at the end.
func Program() (program string, remove func(), err error) {
	if program = os.Getenv("ROWTOCOL_PROGRAM"); program != "" {
		_, err := os.Stat(program)
		return program, func() {}, err
	}
	dir, err := os.MkdirTemp("", "rowtocol-program-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // a scratch directory
	program = filepath.Join(dir, "rowtocol")
	build := exec.Command("go", "build", "-o", program, "github.com/rowtocol/rowtocol/cmd/rowtocol")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it
	if out, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, remove, nil
}

var explanation = regexp.MustCompile(`(?m)^rowtocol(-\w+)?( \w+)? ended with exit code \d+ \(\w+\): (?s:.*)\z`)

// Log returns the standard error of the program without the lines for people with which that
// of a failed run ends.
func Log(stderr string) string { return explanation.ReplaceAllString(stderr, "") }

// MissingTools returns a message that names the programs that are not installed, or "". It
// finds programs like LookPath.
func MissingTools(tools ...string) string {
	var missing []string
	for _, tool := range tools {
		if _, err := LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if missing == nil {
		return ""
	}
	return "not installed: " + strings.Join(missing, ", ")
}

// LookPath returns the path of a program. It also searches /usr/sbin, which may only be on
// the path of administrators.
func LookPath(tool string) (string, error) {
	if path, err := exec.LookPath(tool); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + tool)
}
