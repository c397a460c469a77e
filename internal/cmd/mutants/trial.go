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

	mu    sync.Mutex
	sound map[string]func() (time.Duration, error) // by package, of its unchanged tests
}

// try runs the tests that should notice that the guard is gone. It also says
// which test did, or else what was run or what went wrong.
func (t *trials) try(ctx context.Context, g placed) (verdict, string) {
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
		took, err := t.unchanged(ctx, pkg)
		if err != nil {
			return failed, err.Error()
		}
		by, _, err := t.test(ctx, dir, pkg, overlay, min(t.timeout, max(10*took, leastTimeout)))
		if err != nil {
			return failed, err.Error()
		}
		if by != "" {
			return noticed, pkg + " " + by
		}
	}
	return survived, strings.Join(packages, " ")
}

// writeOverlay writes the mutants of files and the file that puts them in place
// of the originals for the go command.
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

// leastTimeout is the time after which tests may be said to hang.
const leastTimeout = 30 * time.Second

// unchanged checks once per package that its tests exist and pass as they are:
// otherwise every guard would seem to be noticed. They run as they do for a guard,
// with an overlay, which is empty. It returns how long they take.
func (t *trials) unchanged(ctx context.Context, pkg string) (time.Duration, error) {
	t.mu.Lock()
	check, ok := t.sound[pkg]
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
		t.sound[pkg] = check
	}
	t.mu.Unlock()
	return check()
}

// test compiles and runs the tests of a package. It returns which one failed, or
// "" if all passed, and how long they ran.
func (t *trials) test(ctx context.Context, dir, pkg, overlay string, timeout time.Duration) (by string, took time.Duration, err error) {
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

// run runs the compiled tests of a package, without those for which ROWTOCOL_SOAK
// asks, and returns which one failed, or "" if all passed.
func (t *trials) run(ctx context.Context, dir, pkg, overlay, binary string, timeout time.Duration) (string, error) {
	// The tests end themselves in time unless even that is broken.
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+10*time.Second, errHangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.short", "-test.failfast", "-test.paniconexit0", "-test.timeout="+timeout.String())
	cmd.Dir = filepath.Join(t.module.root, pkg)
	cmd.Env = append(os.Environ(), "ROWTOCOL_SOAK=", "TMPDIR="+dir, // what a crash leaves goes with it
		// For tests that build what they run. The quotes are for paths with spaces.
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
		return "", fmt.Errorf("the tests of %s were ended from outside: %w", pkg, exit)
	}
	return whichFailed(output.Bytes()), nil
}

// killed reports whether a process ended by a signal that others send.
func killed(exit *exec.ExitError) bool {
	status := exit.Sys().(syscall.WaitStatus)
	return status.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, status.Signal())
}

var errHangs = errors.New("hangs")

var (
	testHung   = regexp.MustCompile(`(?m)^panic: test timed out after`)
	testFailed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// whichFailed finds in the output of tests what failed, as exactly as it can be
// known.
func whichFailed(output []byte) string {
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
