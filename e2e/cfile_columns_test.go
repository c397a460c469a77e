package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/internal/datagen"
)

// TestKuduManyColumns makes more files, in little memory, than may be open at once and
// than are made without --many-files.
func TestKuduManyColumns(t *testing.T) {
	const columns, memory = 1200, 96 << 20
	dir := t.TempDir()
	input, dest := filepath.Join(dir, "wide.avro"), filepath.Join(dir, "out")
	must(t, datagen.Flat(columns, 3000).WriteFile(input, datagen.Options{Seed: 1, Codec: "snappy"}))
	run(t, cFiles.convert(input, dest)...).want(t, 1).wantComplaint(t, strconv.Itoa(columns), "--many-files")
	limited := func(files int, args ...string) {
		t.Helper()
		cmd := command(append(args, "--memory", strconv.Itoa(memory))...)
		limit := exec.Command("/bin/sh", append([]string{"-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(files)}, cmd.Args...)...)
		limit.Env = cmd.Env
		r, peak := finishMeasured(t, limit)
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
