// Package testenv says what tests do where something that they need is missing, or fails:
// they are left out, or fail if ROWTOCOL_E2E is "required". Only tests and
// measurements import it.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Required reports whether a missing thing is a failure. It fails if
// ROWTOCOL_E2E is anything else than "required" or empty.
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

// Must ends a test if one of the errors is not nil.
func Must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Skip leaves a test out for want of something, or fails it if that is required.
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

// OfProgram returns the environment for the program: its variables that are for tests
// are none of the program's flags, which it would say.
func OfProgram() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "ROWTOCOL_") })
}

// MissingTools names the programs that are not installed, or returns "". It also
// finds what only an administrator has on the path.
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

// LookPath returns the path of a program, also of one that only an administrator
// has on the path.
func LookPath(tool string) (string, error) {
	if path, err := exec.LookPath(tool); err == nil {
		return path, nil
	}
	return exec.LookPath("/usr/sbin/" + tool)
}
