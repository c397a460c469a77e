package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// pythonEnvironment returns a Python with the packages of
// python/requirements.txt, installed once into the user's cache.
var pythonEnvironment = sync.OnceValues(func() (string, error) {
	requirements, err := os.ReadFile("python/requirements.txt")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "rowtocol-e2e", fmt.Sprintf("python-%x", sha256.Sum256(requirements))[:23])
	python := filepath.Join(home, "bin", "python")
	if _, err := os.Stat(python); err == nil {
		return python, nil
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o755); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(filepath.Dir(home), "new-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	for _, args := range [][]string{
		{"python3", "-m", "venv", temp},
		{filepath.Join(temp, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", "python/requirements.txt"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	if err := os.Rename(temp, home); err != nil {
		if _, there := os.Stat(python); there != nil { // made by another run meanwhile
			return "", err
		}
	}
	return python, nil
})

// python runs a script, which must succeed.
func python(t *testing.T, script string, args ...string) {
	t.Helper()
	program, err := pythonEnvironment()
	if err != nil {
		testenv.Skip(t, "there are no Python readers of Arrow: "+err.Error())
	}
	cmd := exec.Command(program, append([]string{"python/" + script}, args...)...)
	cmd.Env = append(os.Environ(), "RUST_BACKTRACE=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &stderr)
	}
	t.Logf("%s", out)
}

// columnar converts an Avro file and writes its columns as an Arrow stream,
// to standard output, and as a Parquet file.
func columnar(t *testing.T, avro string, flags ...string) (stream, parquet string) {
	t.Helper()
	dir := t.TempDir()
	run(t, "convert", "--row-group-size", "4MiB", avro, dir+"/columns").want(t, 0)
	stream, parquet = dir+"/stream.arrows", dir+"/rows.parquet"
	out := run(t, append([]string{"cat", "--to", "arrow", dir + "/columns"}, flags...)...).want(t, 0).stdout
	if err := os.WriteFile(stream, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, append([]string{"cat", "--to", "parquet", "--output", parquet, dir + "/columns"}, flags...)...).want(t, 0)
	return stream, parquet
}

// Ten questions about mail have the same answers by fastavro on the original
// and by pandas, DuckDB and Polars on Arrow and Parquet.
func TestQueriesOfMail(t *testing.T) {
	avro := t.TempDir() + "/mail.avro"
	writeMail(t, avro, 30_000)
	stream, parquet := columnar(t, avro)
	python(t, "queries.py", avro, stream, parquet)
}

// Every type arrives in pyarrow as fastavro reads it, and each engine refuses
// those types that docs/analytics.md names.
func TestTypesOfArrow(t *testing.T) {
	avro := t.TempDir() + "/all.avro"
	python(t, "alltypes.py", "make", avro)
	stream, parquet := columnar(t, avro)
	python(t, "alltypes.py", "judge", avro, stream, parquet)
	stream, parquet = columnar(t, avro, "--limit", "0")
	python(t, "alltypes.py", "empty", stream, parquet)
	stream, parquet = columnar(t, avro, "--where", "id % 7 == 3", "--columns", "id,option.n,deep")
	python(t, "alltypes.py", "sevenths", stream, parquet)
}
