package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// installed returns a folder of the user's cache. install fills it once for each content
// of files, which list the packages.
func installed(name string, files []string, install func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		hash.Write(b)
	}
	home := filepath.Join(cache, "rowtocol-e2e", fmt.Sprintf("%s-%x", name, hash.Sum(nil)[:8]))
	if _, err := os.Stat(home); err == nil {
		return home, nil
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(home), "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	if err := install(temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, home); err != nil {
		if _, there := os.Stat(home); there != nil { // not made by another run meanwhile
			return "", err
		}
	}
	return home, nil
}

// runInstaller runs a program that installs something.
func runInstaller(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// pythonEnvironment returns a Python that reads Arrow and Parquet.
var pythonEnvironment = sync.OnceValues(func() (string, error) {
	return installedPython("python", "python/requirements.txt")
})

// installedPython returns a Python with the packages of lists, installed once into the user's cache.
func installedPython(kind string, lists ...string) (string, error) {
	home, err := installed(kind, lists, func(dir string) error {
		if err := runInstaller("python3", "-m", "venv", dir); err != nil {
			return err
		}
		install := []string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}
		for _, list := range lists {
			install = append(install, "-r", list)
		}
		return runInstaller(filepath.Join(dir, "bin", "python"), install...)
	})
	return filepath.Join(home, "bin", "python"), err
}

// python runs a script, which must succeed.
func python(t *testing.T, script string, args ...string) {
	t.Helper()
	pythonWith(t, []string{"RUST_BACKTRACE=0"}, "python/"+script, args...)
}

// pythonWith runs a script with more variables in its environment, and returns its output.
func pythonWith(t *testing.T, environment []string, script string, args ...string) string {
	t.Helper()
	program, err := pythonEnvironment()
	if err != nil {
		testenv.Skip(t, "there are no Python readers of Arrow: "+err.Error())
	}
	cmd := exec.Command(program, append([]string{script}, args...)...)
	cmd.Env = append(testenv.ProgramEnviron(), environment...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &stderr)
	}
	t.Logf("%s", out)
	return string(out)
}

// exportColumns converts an Avro file and writes its columns as an Arrow stream,
// to standard output, and as a Parquet file.
func exportColumns(t *testing.T, avro string, flags ...string) (stream, parquet string) {
	t.Helper()
	dir := t.TempDir()
	run(t, "convert", "--row-group-size", "4MiB", avro, dir+"/columns").want(t, 0)
	stream, parquet = dir+"/stream.arrows", dir+"/rows.parquet"
	out := run(t, append([]string{"cat", "--to", "arrow", dir + "/columns"}, flags...)...).want(t, 0).stdout
	must(t, os.WriteFile(stream, []byte(out), 0o644))
	run(t, append([]string{"cat", "--to", "parquet", "--output", parquet, dir + "/columns"}, flags...)...).want(t, 0)
	return stream, parquet
}

// TestQueriesOfMail compares ten queries of mail by fastavro on the original with those
// by pandas, DuckDB and Polars on Arrow and Parquet.
func TestQueriesOfMail(t *testing.T) {
	avro := t.TempDir() + "/mail.avro"
	writeMail(t, avro, 30_000)
	stream, parquet := exportColumns(t, avro)
	python(t, "queries.py", avro, stream, parquet)
}

// TestTypesOfArrow compares every type in pyarrow with fastavro. Each engine refuses the
// types that docs/analytics.md names.
func TestTypesOfArrow(t *testing.T) {
	avro := t.TempDir() + "/all.avro"
	python(t, "alltypes.py", "make", avro)
	stream, parquet := exportColumns(t, avro)
	structs := filepath.Dir(stream) + "/structs.arrows"
	run(t, "cat", "--to", "arrow", "--unions", "struct", "--output", structs, filepath.Dir(stream)+"/columns").want(t, 0)
	python(t, "alltypes.py", "judge", avro, stream, parquet, structs)
	stream, parquet = exportColumns(t, avro, "--limit", "0")
	python(t, "alltypes.py", "empty", stream, parquet)
	stream, parquet = exportColumns(t, avro, "--where", "id % 7 == 3", "--columns", "id,option.n,deep")
	python(t, "alltypes.py", "sevenths", stream, parquet)
}

// TestTutorialNotebook compares the output of the tutorial's notebook with the page.
func TestTutorialNotebook(t *testing.T) {
	dir := t.TempDir()
	for day, file := range map[string]string{"dt=2010-01-01": "archive-1.avro", "dt=2010-01-02": "archive-2.avro"} {
		mail, err := os.ReadFile("../testdata/mail/" + file)
		must(t, errors.Join(err, os.MkdirAll(dir+"/arriving/"+day, 0o755), os.WriteFile(dir+"/arriving/"+day+"/"+file, mail, 0o600)))
	}
	run(t, "convert", "--partitioned", dir+"/arriving", dir+"/mail").want(t, 0)
	run(t, "cat", "--to", "parquet", "--output", dir+"/mail.parquet", dir+"/mail").want(t, 0)
	page := readPage(t, "tutorial.md")
	printed := notebook(t, dir, page.blocks("python"))
	if want := page.blocks("text"); want == "" || strings.ReplaceAll(printed, "\n\n", "\n") != want {
		t.Errorf("the page shows\n%s\nthe notebook prints\n%s", want, printed)
	}
}

// page is the text of a page of docs/.
type page string

func readPage(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	must(t, err)
	return page(text)
}

// blocks returns the blocks of a language, one after another.
func (p page) blocks(language string) (text string) {
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(p), -1) {
		text += block[1]
	}
	return text
}

// notebook runs a notebook in a directory, and returns what it prints. The notebook finds the
// program by its name.
func notebook(t *testing.T, dir, text string) string {
	t.Helper()
	text = fmt.Sprintf("import os\nos.chdir(%q)\n%s", dir, text)
	must(t, errors.Join(os.WriteFile(dir+"/notebook.py", []byte(text), 0o600), os.Symlink(program, dir+"/rowtocol")))
	return pythonWith(t, []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "PYTHONIOENCODING=utf-8"}, dir+"/notebook.py")
}
