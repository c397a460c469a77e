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

// TestHFileDamage changes bits of a file: who reads it says which it is, or nobody needs what
// was changed, and nobody crashes.
func TestHFileDamage(t *testing.T) {
	dest := filepath.Join(t.TempDir(), "out")
	run(t, hFiles.convert("../testdata/mail/archive-1.avro", dest)...).want(t, 0)
	parts, err := filepath.Glob(filepath.Join(dest, "part-*.hfile"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	sound := readFile(t, parts[0])
	rows := run(t, "cat", dest).want(t, 0).stdout
	r := rand.New(rand.NewPCG(1, 1))
	for range soak.Rounds(10, 300) {
		data := []byte(sound)
		at := r.IntN(len(data))
		data[at] ^= 1 << r.IntN(8)
		must(t, errors.Join(os.Remove(parts[0]), os.WriteFile(parts[0], data, 0o666)))
		if cat := run(t, "cat", dest); cat.code == 3 {
			cat.oneComplaint(t, filepath.Base(parts[0]))
		} else if cat.code != 0 || cat.stdout != rows {
			t.Errorf("byte %d: cat: exit %d\n%s", at, cat.code, cat.stderr)
		}
		if v := run(t, "verify", dest); v.code != 6 || !strings.Contains(v.stdout+v.stderr, filepath.Base(parts[0])) {
			t.Errorf("byte %d: verify: exit %d\n%s%s", at, v.code, v.stdout, v.stderr)
		}
	}
}
