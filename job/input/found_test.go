package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestPartitions checks that the deepest directories with keys are found, each once, and that
// the other entries are named.
func TestPartitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "in")
	for _, name := range []string{"k=1/a", "k=2/h=1/a", "k=2/h=2/sub/a", "k=2/_tmp/a", "k=2/plain/a", "k=2/a.avro", "k=3/k=4/a", "k=3/h=1/a"} {
		write(t, filepath.Join(dir, name), "", 1)
	}
	testenv.Must(t, os.WriteFile(dir+"/k=2/notes", nil, 0o666), os.Symlink("k=1", dir+"/k=0"), os.Symlink(".", dir+"/k=2/up=1"), os.Symlink("k=2", dir+"/l=2"))
	found, err := Partitions(t.Context(), Search{Inputs: []string{dir}})
	testenv.Must(t, err)
	if got, want := strings.Join(found.Names, " "), "k=1 k=2/h=1 k=2/h=2 k=3/h=1"; got != want || len(found.Failed) > 0 {
		t.Errorf("found %s, want %s: %v", got, want, found.Failed)
	}
	reasons := make(map[string]string)
	for _, s := range found.Outside {
		reasons[strings.TrimPrefix(s.Path, dir+"/")] = s.Reason
	}
	for name, reason := range map[string]string{
		"k=2/plain": "no directory named", "k=3/k=4": "twice in the path", "k=2/a.avro": "in no partition",
	} {
		if !strings.Contains(reasons[name], reason) {
			t.Errorf("%s: %q", name, reasons[name])
		}
		delete(reasons, name)
	}
	if len(reasons) > 0 {
		t.Errorf("others: %v", reasons)
	}
}
