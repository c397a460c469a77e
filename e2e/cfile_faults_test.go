package e2e

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestCFileDamage changes files of a part: who reads what was changed says which file
// it is, and nobody crashes.
func TestCFileDamage(t *testing.T) {
	made := filepath.Join(t.TempDir(), "out")
	run(t, cFiles.convert("../testdata/mail/archive-1.avro", made)...).want(t, 0)
	parts, err := filepath.Glob(filepath.Join(made, "part-*.cfiles"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	part := filepath.Base(parts[0])
	columns, err := filepath.Glob(filepath.Join(parts[0], "*.cf"))
	if err != nil || len(columns) < 10 {
		t.Fatal(columns, err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range soak.Rounds(8, 300) {
		file := filepath.Base(columns[i%len(columns)])
		size := len(readFile(t, filepath.Join(parts[0], file)))
		wantDamage(t, made, part, file, func(path string) error {
			data, err := os.ReadFile(path)
			data[r.IntN(size)] ^= 1 << r.IntN(8)
			return errors.Join(err, os.WriteFile(path, data, 0o666))
		})
	}
	for _, file := range []string{"columns.json", filepath.Base(columns[0]), filepath.Base(columns[len(columns)-1])} {
		wantDamage(t, made, part, file, func(path string) error { return os.Truncate(path, 20) })
		wantDamage(t, made, part, file, func(path string) error { return os.WriteFile(path, nil, 0o666) })
		wantDamage(t, made, part, file, os.Remove)
	}
	text := readFile(t, filepath.Join(parts[0], "columns.json"))
	for range soak.Rounds(4, 300) {
		at := r.IntN(len(text))
		wantDamage(t, made, part, "columns.json", func(path string) error {
			changed := append([]byte(nil), text...)
			changed[at] ^= 1 << r.IntN(7)
			return os.WriteFile(path, changed, 0o666)
		})
	}

	dest := filepath.Join(t.TempDir(), "out")
	must(t, os.CopyFS(dest, os.DirFS(made)))
	must(t, os.WriteFile(filepath.Join(dest, part, "foreign"), []byte("mine"), 0o666))
	run(t, "cat", dest).want(t, 0) // reads what _SUCCESS lists
	run(t, "cat", filepath.Join(dest, part)).want(t, 3)
	run(t, "verify", dest).want(t, 6).oneComplaint(t, "foreign")
}

// wantDamage has every command read an output of which a file was changed.
func wantDamage(t *testing.T, made, part, file string, change func(path string) error) {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "out")
	must(t, os.CopyFS(dest, os.DirFS(made)))
	must(t, change(filepath.Join(dest, part, file)))
	for _, place := range []string{dest, filepath.Join(dest, part)} {
		run(t, "cat", place).want(t, 3).oneComplaint(t, file)
		if r := run(t, "verify", place); r.code != 6 || !strings.Contains(r.stdout+r.stderr, file) {
			t.Errorf("verify: exit %d\n%s%s", r.code, r.stdout, r.stderr)
		}
		if r := run(t, "inspect", place); r.code != 3 && r.code != 0 {
			t.Errorf("inspect: exit %d\n%s", r.code, r.stderr)
		}
	}
	must(t, os.RemoveAll(dest))
}

// TestCFileManyColumns makes more files than may be open, and than are made without
// being asked for, in little memory.
func TestCFileManyColumns(t *testing.T) {
	const columns, memory = 1200, 96 << 20
	dir := t.TempDir()
	input, dest := filepath.Join(dir, "wide.avro"), filepath.Join(dir, "out")
	must(t, datagen.Flat(columns, 3000).WriteFile(input, datagen.Options{Seed: 1, Codec: "snappy"}))
	run(t, cFiles.convert(input, dest)...).want(t, 1).oneComplaint(t, strconv.Itoa(columns), "--many-files")
	limited := func(files int, args ...string) {
		t.Helper()
		cmd := command(append(args, "--memory", strconv.Itoa(memory))...)
		limit := exec.Command("/bin/sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(files)}, cmd.Args...)...)
		limit.Env = cmd.Env
		r, peak := measured(t, limit)
		r.want(t, 0)
		if most := int64(memory + 48<<20); peak > most {
			t.Errorf("%v: %d MiB of memory, want at most %d", args, peak>>20, most>>20)
		}
	}
	limited(256, cFiles.convert("--many-files", "--temp-dir", dir, input, dest)...)
	files, err := filepath.Glob(filepath.Join(dest, "part-*", "*.cf"))
	if err != nil || len(files) < columns {
		t.Fatalf("%d files, %v", len(files), err)
	}
	rows := filepath.Join(dir, "rows.avro")
	limited(256, "verify", dest, "--against", input)
	limited(256, "cat", "--to=avro", "--output="+rows, dest)
	limited(64, "cat", "--columns=c0004", "--to=csv", "--output="+filepath.Join(dir, "rows.csv"), dest)
	_, got := datums(t, rows)
	if _, want := datums(t, input); !bytes.Equal(got, want) {
		t.Errorf("%d bytes of rows, not the %d of the input", len(got), len(want))
	}
}
