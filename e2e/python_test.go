package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// wheel returns the Python package for this machine.
var wheel = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(corpusOutputs.dir, "wheels")
	tool := filepath.Join(corpusOutputs.dir, "dist")
	if err := runInstaller("go", "build", "-C", "../internal/cmd/dist", "-o", tool, "."); err != nil {
		return "", err
	}
	cmd := exec.Command(tool, "-o", dir, "-wheel")
	cmd.Dir, cmd.Env = "..", testenv.ProgramEnviron()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	found, err := filepath.Glob(dir + "/*.whl")
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%d wheels", len(found))
	}
	return found[0], nil
})

var testEnvironment = sync.OnceValues(func() (string, error) {
	return installedPython("pythontests", "python/requirements.txt", "../python/tests/requirements.txt")
})

// testPython returns a Python with the packages that the tests of the package need.
func testPython(t *testing.T) string {
	t.Helper()
	python, err := testEnvironment()
	if err != nil {
		testenv.Skip(t, "there is no Python for the tests: "+err.Error())
	}
	return python
}

// inPython runs a Python, which must succeed.
func inPython(t *testing.T, dir string, environment []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(testenv.ProgramEnviron(), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	t.Logf("%s", out)
}

// installedWheel returns a Python with the package and all that its tests need, and the variables
// that let it find the package.
func installedWheel(t *testing.T) (python string, environment []string) {
	t.Helper()
	python = testPython(t)
	file, err := wheel()
	must(t, err)
	site := t.TempDir()
	must(t, runInstaller(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--target", site, file))
	return python, []string{
		"PYTHONPATH=" + site, "PATH=" + filepath.Join(site, "bin") + ":" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "RUST_BACKTRACE=0",
	}
}

// TestPythonPackage runs the tests of the Python package on the wheel, also on the examples of its
// page.
func TestPythonPackage(t *testing.T) {
	python, environment := installedWheel(t)
	inPython(t, "../python", environment, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", t.TempDir()+"/pytest", "tests")
}

// TestPythonHDFS converts and reads on HDFS with the Python package.
func TestPythonHDFS(t *testing.T) {
	python, environment := installedWheel(t)
	f := newFolder(t, hadooptest.Shared(t))
	mail, err := filepath.Abs("../testdata/mail")
	must(t, err)
	inPython(t, "../python", environment, python, "tests/hdfs.py", mail, f.URI()+f.path+"/mail.columns")
}

// TestPythonTypes checks the types and the style of the Python package.
func TestPythonTypes(t *testing.T) {
	python, cache := testPython(t), t.TempDir()
	inPython(t, "../python", nil, python, "-m", "mypy", "--cache-dir", cache)
	inPython(t, "../python", nil, python, "-m", "ruff", "check", "--cache-dir", cache, ".")
	inPython(t, "../python", nil, python, "-m", "ruff", "format", "--check", "--cache-dir", cache, ".")
}

// TestPythonVersions installs the wheel into an empty environment of each Python that there is.
func TestPythonVersions(t *testing.T) {
	pip := testPython(t)
	file, err := wheel()
	must(t, err)
	mail, err := filepath.Abs("../testdata/mail")
	must(t, err)
	found := pythons(t)
	if len(found) == 0 {
		testenv.Skip(t, "there is no Python from 3.10 on")
	}
	for name, python := range found {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, errors.Join(
				runInstaller(python, "-m", "venv", "--without-pip", dir),
				runInstaller(pip, "-m", "pip", "--python", dir+"/bin/python", "install", "-q", "--disable-pip-version-check", "--no-index", file),
			))
			inPython(t, dir, nil, dir+"/bin/rowtocol", "version")
			smoke, err := filepath.Abs("../python/tests/smoke.py")
			must(t, err)
			inPython(t, dir, []string{"PYTHONWARNINGS=error"}, dir+"/bin/python", smoke, mail)
		})
	}
}

// pythons returns the Pythons that the package supports, by version: those on the PATH and those
// of pyenv.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	home, err := os.UserHomeDir()
	must(t, err)
	for minor := 10; minor < 20; minor++ {
		version := fmt.Sprintf("3.%d", minor)
		names, err := filepath.Glob(filepath.Join(home, ".pyenv", "versions", version+".*", "bin", "python"))
		must(t, err)
		for _, name := range append([]string{"python" + version, "python3"}, names...) {
			out, err := exec.Command(name, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])").Output()
			if err == nil && strings.TrimSpace(string(out)) == version {
				found[version] = name
			}
		}
	}
	return found
}
