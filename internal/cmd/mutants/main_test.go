package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The files of a module with guards of all verdicts.
var sample = map[string]string{
	"go.mod": "module sample\n\ngo 1.26\n",
	"sum/sum.go": `package sum

import "errors"

func First(values []int, n int) (int, error) {
	//guard: noticed by its own tests
	if n > len(values) {
		return 0, errors.New("too long")
	}
	return sum(values[:n]), nil
}

func sum(values []int) int {
	total := 0
	//guard: noticed next door (tests: ./next)
	for _, v := range values {
		total += v
	}
	//guard: noticed by no test (tests: ./next)
	total = max(total, 0)
	return total
}

func Next(values []int) (int, error) {
	//guard: noticed as a whole
	if values == nil || len(values) == 0 {
		return 0, errors.New("none")
	}
	return values[0], nil
}

func Forever() error {
	//guard: without it the function has no end
	for {
	}
}

func Declares() int {
	//guard: a declaration
	n := 1
	return n
}
`,
	"sum/sum_test.go": `package sum

import (
	"os"
	"testing"
)

func TestFast(t *testing.T) {
	if os.Getenv("ROWTOCOL_SOAK") != "" {
		t.Error("the long tests are run")
	}
}

func TestNext(t *testing.T) {
	if _, err := Next([]int{}); err == nil {
		t.Error("no error")
	}
}

func TestTooLong(t *testing.T) {
	if _, err := First([]int{1}, 2); err == nil {
		t.Error("no error")
	}
}
`,
	"next/next.go": "package next\n",
	"next/next_test.go": `package next

import (
	"sample/sum"
	"testing"
)

func TestSum(t *testing.T) {
	if n, _ := sum.First([]int{1, 2}, 2); n != 3 {
		t.Error(n)
	}
}
`,
	"tool/tool.go": `package main

import "os"

func main() {
	//guard: noticed by a test of the built program
	if len(os.Args) < 2 {
		os.Exit(1)
	}
}
`,
	"tool/tool_test.go": `package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func TestMissing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tool")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := exec.Command(name).Run(); err == nil {
		t.Error("no error")
	}
}
`,
	"unsound/unsound.go": `package unsound

func Do() error {
	//guard: the tests fail anyway
	return nil
}
`,
	"unsound/unsound_test.go": `package unsound

import "testing"

func TestDo(t *testing.T) {
	t.Error(Do())
}
`,
	"killed/killed.go": `package killed

func Do() error {
	//guard: the tests are killed
	return errNone
}

var errNone error
`,
	"killed/killed_test.go": `package killed

import (
	"os"
	"testing"
)

func TestDo(t *testing.T) {
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Kill() != nil {
		t.Error(err)
	}
}
`,
	"nowhere/nowhere.go": `package nowhere

func Do() error {
	//guard: the other tests do not exist (tests: ./nope)
	return nil
}
`,
	"nowhere/nowhere_test.go": "package nowhere\n\nimport \"testing\"\n\nfunc TestNothing(*testing.T) {}\n",
	"untested/untested.go": `package untested

func Do() error {
	//guard: there are no tests
	return nil
}
`,
}

func TestRun(t *testing.T) {
	dir, temp := t.TempDir(), filepath.Join(t.TempDir(), "with a space")
	testenv.Must(t, os.Mkdir(temp, 0o700))
	t.Setenv("TMPDIR", temp)
	for name, text := range sample {
		file := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		testenv.Must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("ROWTOCOL_SOAK", "1")
	tests := []struct {
		name     string
		packages []string
		noticed  bool
		want     []string // prefixes of the lines, sorted
	}{
		{"all", nil, false, []string{
			"13 guards: 5 noticed, 2 survived, 6 errors",
			"SURVIVED sum/sum.go:19 noticed by no test (./sum ./next, ",
			"SURVIVED sum/sum.go:25 part 1 noticed as a whole (./sum, ",
			"error    killed/killed.go:4 the tests are killed (another process killed the tests of ./killed: signal: killed, ",
			"error    nowhere/nowhere.go:4 the other tests do not exist (there is no folder ./nope, ",
			"error    sum/sum.go:33 without it the function has no end (does not compile: ",
			"error    sum/sum.go:39 a declaration (a declaration cannot be disabled, ",
			"error    unsound/unsound.go:4 the tests fail anyway (the tests of ./unsound fail without any change: TestDo, ",
			"error    untested/untested.go:4 there are no tests (./untested has no tests, ",
			"noticed  sum/sum.go:15 noticed next door (./next TestSum, ",
			"noticed  sum/sum.go:25 noticed as a whole (./sum TestNext, ",
			"noticed  sum/sum.go:25 part 2 noticed as a whole (./sum TestNext, ",
			"noticed  sum/sum.go:6 noticed by its own tests (./sum TestTooLong, ",
			"noticed  tool/tool.go:6 noticed by a test of the built program (./tool TestMissing, ",
		}},
		{"one package", []string{"./tool"}, true, []string{
			"1 guards: 1 noticed, 0 survived, 0 errors",
			"noticed  tool/tool.go:6 noticed by a test of the built program (./tool TestMissing, ",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			all, err := run(context.Background(), &out, test.packages, 2, time.Minute)
			if err != nil || all != test.noticed {
				t.Errorf("all noticed: %v, %v; want %v", all, err, test.noticed)
			}
			got := regexp.MustCompile(`(?m)^(noticed|SURVIVED|error|\d+ guards).*`).FindAllString(out.String(), -1)
			slices.Sort(got)
			if len(got) != len(test.want) {
				t.Fatalf("printed\n%s", out.String())
			}
			for i, want := range test.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("printed %q, want %q", got[i], want)
				}
			}
		})
	}
	for _, packages := range [][]string{{"./missing"}, {"./missing/..."}, {"./tool", "./missing/..."}, {"./next"}} {
		if _, err := run(context.Background(), new(strings.Builder), packages, 1, time.Minute); err == nil {
			t.Errorf("no error for %q, which have no guards", packages)
		}
	}
}
