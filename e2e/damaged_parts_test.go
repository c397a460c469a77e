package e2e

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestDamagedParts changes files of outputs other than Trevni's. A command that reads the
// changed bytes names the file, unless an HFile does not need them, and none crashes. For
// Trevni see TestDamagedColumns.
func TestDamagedParts(t *testing.T) {
	for _, f := range []target{cFiles, hFiles} {
		t.Run(f.name, func(t *testing.T) {
			d := damageable{target: f, made: filepath.Join(t.TempDir(), "out")}
			run(t, f.convert("../testdata/mail/archive-1.avro", d.made)...).want(t, 0)
			d.rows = run(t, "cat", d.made).want(t, 0).stdout
			part := onlyFile(t, filepath.Join(d.made, "part-*"))
			files, err := filepath.Glob(filepath.Join(part, "*"))
			must(t, err)
			if files == nil {
				files = []string{part}
			}
			r := rand.New(rand.NewPCG(1, 1))
			for i := range soak.Rounds(12, 300) {
				d.run(t, files[i%len(files)], func(path string) error {
					data, err := os.ReadFile(path)
					data[r.IntN(len(data))] ^= 1 << r.IntN(7)
					return errors.Join(err, os.WriteFile(path, data, 0o666))
				})
			}
			for _, file := range []string{files[0], files[len(files)-1]} {
				d.run(t, file, func(path string) error { return os.Truncate(path, 20) })
				d.run(t, file, func(path string) error { return os.WriteFile(path, nil, 0o666) })
				d.run(t, file, os.Remove)
			}
			if len(files) == 1 {
				return
			}
			must(t, os.WriteFile(filepath.Join(part, "foreign"), []byte("mine"), 0o666))
			run(t, "cat", d.made).want(t, 0) // reads what _SUCCESS lists
			run(t, "cat", part).want(t, 3)
			run(t, "verify", d.made).want(t, 6).wantComplaint(t, "foreign")
		})
	}
}

// damageable is an output of one part, and its rows.
type damageable struct {
	target
	made, rows string
}

// run has every command read a copy of the output with a changed file, and the part alone
// if that is a directory.
func (d damageable) run(t *testing.T, file string, change func(path string) error) {
	t.Helper()
	dest := filepath.Join(t.TempDir(), "out")
	must(t, os.CopyFS(dest, os.DirFS(d.made)))
	name, err := filepath.Rel(d.made, file)
	must(t, err)
	must(t, change(filepath.Join(dest, name)))
	places := []string{dest}
	if part := filepath.Dir(name); part != "." {
		places = append(places, filepath.Join(dest, part))
	}
	for _, place := range places {
		cat := run(t, "cat", place)
		if unneeded := d.name == hFiles.name && cat.code == 0 && cat.stdout == d.rows; !unneeded {
			cat.want(t, 3).wantComplaint(t, filepath.Base(name))
		}
		if r := run(t, "verify", place); r.code != 6 || !strings.Contains(r.stdout+r.stderr, filepath.Base(name)) {
			t.Errorf("verify: exit %d\n%s%s", r.code, r.stdout, r.stderr)
		}
		if r := run(t, "inspect", place); r.code != 3 && r.code != 0 {
			t.Errorf("inspect: exit %d\n%s", r.code, r.stderr)
		}
	}
	must(t, os.RemoveAll(dest))
}
