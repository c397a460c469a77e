package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// verdict is how a trial ended.
type verdict string

const (
	noticed  verdict = "noticed"
	survived verdict = "SURVIVED"
	failed   verdict = "error"
)

// trials runs tests without a guard.
type trials struct {
	module  *module
	scratch string
	timeout time.Duration

	mu        sync.Mutex
	baselines map[string]func() (time.Duration, error) // of unchanged tests, by package
}

// try runs the tests that should notice that a guard is disabled. It also returns which
// test did, or else the packages that were tested, or an error message.
func (t *trials) try(ctx context.Context, g placedGuard) (verdict, string) {
	if g.err != nil {
		return failed, g.err.Error()
	}
	dir, err := os.MkdirTemp(t.scratch, "mutant-")
	if err != nil {
		return failed, err.Error()
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := writeOverlay(dir, map[string][]byte{g.file: g.mutant})
	if err != nil {
		return failed, err.Error()
	}
	packages := append([]string{g.pkg}, g.tests...)
	for _, pkg := range packages {
		duration, err := t.baseline(ctx, pkg)
		if err != nil {
			return failed, err.Error()
		}
		by, _, err := t.test(ctx, dir, pkg, overlay, min(t.timeout, max(10*duration, minTimeout)))
		if err != nil {
			return failed, err.Error()
		}
		if by != "" {
			return noticed, pkg + " " + by
		}
	}
	return survived, strings.Join(packages, " ")
}

// writeOverlay writes the mutants of files, and the overlay file with which the go command
// uses them instead of the originals.
func writeOverlay(dir string, mutants map[string][]byte) (string, error) {
	replace := map[string]string{}
	for file, mutant := range mutants {
		replace[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replace[file], mutant, 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// minTimeout is the least time after which tests count as hanging.
const minTimeout = 30 * time.Second

// baseline checks once per package that its unchanged tests exist and pass: otherwise
// every guard would seem to be noticed. The tests run as for a guard, but with an empty
// overlay. baseline returns how long they take.
func (t *trials) baseline(ctx context.Context, pkg string) (time.Duration, error) {
	t.mu.Lock()
	check, ok := t.baselines[pkg]
	if !ok {
		check = sync.OnceValues(func() (time.Duration, error) {
			dir, err := os.MkdirTemp(t.scratch, "unchanged-")
			if err != nil {
				return 0, err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			overlay, err := writeOverlay(dir, nil)
			if err != nil {
				return 0, err
			}
			by, took, err := t.test(ctx, dir, pkg, overlay, t.timeout)
			if err == nil && by != "" {
				err = fmt.Errorf("the tests of %s fail without any change: %s", pkg, by)
			}
			return took, err
		})
		t.baselines[pkg] = check
	}
	t.mu.Unlock()
	return check()
}

// test compiles and runs the tests of a package. It returns which test failed, or "" if
// all passed, and how long they ran.
func (t *trials) test(ctx context.Context, dir, pkg, overlay string, timeout time.Duration) (by string, duration time.Duration, err error) {
	binary, err := t.compile(ctx, dir, pkg, overlay)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = os.Remove(binary) }()
	began := time.Now()
	by, err = t.run(ctx, dir, pkg, overlay, binary, timeout)
	return by, time.Since(began), err
}

// compile compiles the tests of a package.
func (t *trials) compile(ctx context.Context, dir, pkg, overlay string) (binary string, err error) {
	binary = filepath.Join(dir, "package.test")
	if info, err := os.Stat(filepath.Join(t.module.root, pkg)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %s", pkg)
	}
	if _, err := goCommand(ctx, t.module.root, dir, "test", "-c", "-vet=off", "-o", binary, "-overlay", overlay, pkg); err != nil {
		return "", fmt.Errorf("does not compile: %w", err)
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("%s has no tests", pkg)
	}
	return binary, nil
}

// run runs the compiled tests of a package, except those that need ROWTOCOL_SOAK. It
// returns which test failed, or "" if all passed.
func (t *trials) run(ctx context.Context, dir, pkg, overlay, binary string, timeout time.Duration) (string, error) {
	// The tests have their own timeout. This one is for tests that ignore it.
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+10*time.Second, errHangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.paniconexit0", "-test.timeout="+timeout.String())
	cmd.Dir = filepath.Join(t.module.root, pkg)
	cmd.Env = append(os.Environ(), "ROWTOCOL_SOAK=", "TMPDIR="+dir, // files that a crash leaves are removed with it
		// For programs that tests build. The quotes are for paths with spaces.
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" '-overlay="+overlay+"'"))
	cmd.WaitDelay = 10 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if err == nil {
		return "", nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) && !errors.Is(context.Cause(ctx), errHangs) {
		return "", err
	}
	if context.Cause(ctx) == nil && killed(exit) {
		return "", fmt.Errorf("another process killed the tests of %s: %w", pkg, exit)
	}
	return failedTest(output.Bytes()), nil
}

// killed reports whether a process ended by a signal of another process.
func killed(exit *exec.ExitError) bool {
	status := exit.Sys().(syscall.WaitStatus)
	return status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, status.Signal())
}

var errHangs = errors.New("hangs")

var (
	testHung   = regexp.MustCompile(`(?m)^panic: test timed out after`)
	testFailed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// failedTest finds the innermost test that failed in the output of tests.
func failedTest(output []byte) string {
	if testHung.Match(output) {
		return "hangs"
	}
	name := "crashes"
	for _, m := range testFailed.FindAllSubmatch(output, -1) {
		if strings.HasPrefix(string(m[1]), name+"/") || name == "crashes" {
			name = string(m[1])
		}
	}
	return name
}
