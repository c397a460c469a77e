package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCFileSorted declares a column sorted. Its file has a value index: Kudu finds all rows
// by it, and conditions on the column read less.
func TestCFileSorted(t *testing.T) {
	k := newKudu(t)
	input, dest := mail(t, 5_000), filepath.Join(t.TempDir(), "out")
	run(t, cFiles.convert("--sorted-by=id", "--block-size=4KiB", input, dest)...).want(t, 0)
	run(t, "verify", dest, "--against", input).want(t, 0)
	files, err := filepath.Glob(filepath.Join(dest, "part-*", "00000.cf"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	bare := filepath.Join(t.TempDir(), "bare.cf")
	for _, file := range files {
		k.wantSame(t, file)
		footer, rows := readCFile(t, file)
		must(t, os.WriteFile(bare, withoutPositions(t, readFile(t, file)), 0o666))
		k.wantRows(t, bare, kuduText(footer.Type, rows, footer.Nullable))
	}
	unsorted := filepath.Join(t.TempDir(), "out")
	run(t, cFiles.convert("--block-size=4KiB", input, unsorted)...).want(t, 0)
	query := []string{"cat", "--where=id > 1000 && id < 1050", "--columns=id,subject"}
	want := run(t, append(query, unsorted)...).want(t, 0).stdout
	if got := run(t, append(query, dest)...).want(t, 0).stdout; got != want || strings.Count(want, "\n") < 10 {
		t.Errorf("%d bytes of rows, want %d", len(got), len(want))
	}
	run(t, cFiles.convert("--sorted-by=from", input, filepath.Join(t.TempDir(), "out"))...).want(t, 3).wantComplaint(t, "from", "row ")
}
