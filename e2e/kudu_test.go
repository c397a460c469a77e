package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// kudu is Kudu's own command-line tool, with its own file system. Its methods may be called
// concurrently.
type kudu struct {
	home   string // of the tool
	fs     string
	blocks atomic.Int64 // made in the file system so far
}

// kuduHome returns the folder in which Maven put the tool.
var kuduHome = sync.OnceValues(func() (string, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("there is no Kudu for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if missing := testenv.MissingTools("java", "mvn"); missing != "" {
		return "", fmt.Errorf("Kudu is fetched by Maven: %s", missing)
	}
	target, err := filepath.Abs("kudu/target")
	if err != nil {
		return "", err
	}
	unlock, err := maven.Lock(target)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := maven.Build("kudu", target, []string{"binary"}); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(target, "binary", "kudu-binary-*"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("Kudu was unpacked to %v, not to one directory: %w", found, err)
	}
	return found[0], os.Chmod(filepath.Join(found[0], "bin", "kudu"), 0o755)
})

// newKudu formats a file system, which the test removes.
func newKudu(t *testing.T) *kudu {
	t.Helper()
	home, err := kuduHome()
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	k := &kudu{home: home, fs: filepath.Join(t.TempDir(), "fs")}
	_, err = k.run("fs", "format")
	must(t, err)
	must(t, os.MkdirAll(k.blockDir(), 0o777))
	return k
}

// blockDir returns the folder of the blocks whose numbers fit 3 bytes.
func (k *kudu) blockDir() string { return filepath.Join(k.fs, "data", "00", "00", "00") }

// run runs the tool on the file system. Its error has the tool's standard error.
func (k *kudu) run(args ...string) ([]byte, error) {
	args = append(args, "--fs_wal_dir="+k.fs, "--block_manager=file", "--minloglevel=2")
	cmd := exec.Command(filepath.Join(k.home, "bin", "kudu"), args...)
	// The tool's own libraries find each other only by this variable.
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(k.home, "lib"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("kudu %s: %w\n%s", strings.Join(args, " "), err, tail(stderr.String()))
	}
	return out, err
}

// dump has Kudu read a whole CFile, all checksums included. footer is the footer as text,
// and rows has a line for each row.
func (k *kudu) dump(file string) (footer, rows []byte, err error) {
	if file, err = filepath.Abs(file); err != nil {
		return nil, nil, err
	}
	block := k.blocks.Add(1)
	link := filepath.Join(k.blockDir(), fmt.Sprintf("%016d", block))
	if err := os.Symlink(file, link); err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.Remove(link) }() // if this fails, it goes with the file system
	out, dumpErr := k.run("fs", "dump", "cfile", fmt.Sprint(block))
	_, out, found := bytes.Cut(out, []byte("Footer:\n"))
	footer, rows, ended := bytes.Cut(out, []byte("\n\n"))
	if dumpErr != nil && bytes.Contains(footer, []byte("num_values: 0\n")) && strings.Contains(dumpErr.Error(), "Not found: 0: invalid index") {
		dumpErr = nil // an error for each file without rows, also Kudu's own
	}
	if dumpErr == nil && (!found || !ended) {
		dumpErr = fmt.Errorf("Kudu prints no footer, but %.200q", out)
	}
	if dumpErr != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, dumpErr)
	}
	return append(footer, '\n'), rows, nil
}

// wantRows fails the test unless Kudu reads the given rows from a file, and the footer has
// the lines.
func (k *kudu) wantRows(t *testing.T, file string, want []byte, lines ...string) {
	t.Helper()
	footer, rows, err := k.dump(file)
	if err != nil {
		t.Error(err)
		return
	}
	for _, line := range lines {
		if !bytes.Contains(append([]byte("\n"), footer...), []byte("\n"+line+"\n")) {
			t.Errorf("%s: Kudu's footer has no line %q:\n%s", file, line, footer)
		}
	}
	if !bytes.Equal(rows, want) {
		t.Errorf("%s: %s", file, firstDifference(rows, want))
	}
}

// firstDifference describes the first line that differs.
func firstDifference(got, want []byte) string {
	gotLines, wantLines := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			return fmt.Sprintf("Kudu prints %.200q for row %d, want %.200q (%d and %d lines)", gotLines[i], i, wantLines[i], len(gotLines)-1, len(wantLines)-1)
		}
	}
	return fmt.Sprintf("Kudu prints %d lines, want %d", len(gotLines)-1, len(wantLines)-1)
}
