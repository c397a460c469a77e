//go:build !race

package publish_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// runModel runs the model of the protocol. It returns its output and whether all
// schedules kept their promises.
func runModel(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	if missing := testenv.MissingTools("python3"); missing != "" {
		testenv.Skip(t, missing)
	}
	out, err := exec.CommandContext(t.Context(), "python3", append([]string{"protocol/model.py"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Contains(string(out), "Traceback")) {
		t.Fatalf("model.py %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err == nil
}

// TestProtocol checks that the model of package publish finds no violation of its rules, and
// finds one if any rule is left out. Otherwise the model would prove nothing. The race
// detector does not see Python.
func TestProtocol(t *testing.T) {
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		if out, kept := runModel(t, fmt.Sprint(soak.Rounds(3000, 600000))); !kept {
			t.Errorf("a promise is broken:\n%s", out)
		}
	})
	mutants, _ := runModel(t, "mutants")
	for line := range strings.Lines(mutants) {
		mutant, seed, _ := strings.Cut(strings.TrimSpace(line), " ")
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			if out, kept := runModel(t, "20000", seed, mutant); kept {
				t.Errorf("no violation without the rule:\n%s", out)
			}
		})
	}
}
