// Package corpus lists the real files that tests read: the files of a folder, such as
// ROWTOCOL_CORPUS, by its INDEX.tsv. Only tests import it.
package corpus

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Entry is a file of the corpus.
type Entry struct {
	Name    string // relative to the folder
	Path    string
	Class   string // "ok", "corrupt", "recursive", …
	Rows    int64
	Columns int // number of columns of the file as Trevni
}

// Entries returns the files of the folder ROWTOCOL_CORPUS. It skips the test if this variable is
// not set.
func Entries(t *testing.T) []Entry {
	t.Helper()
	dir := os.Getenv("ROWTOCOL_CORPUS")
	if dir == "" {
		t.Skip("ROWTOCOL_CORPUS is not set")
	}
	return In(t, dir)
}

// In returns the files of a folder in the order of its index. It fails the test if it
// cannot read the index.
func In(t *testing.T, dir string) []Entry {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(dir, "INDEX.tsv"))
	testenv.Must(t, err)
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")
	column := map[string]int{}
	for i, name := range strings.Split(lines[0], "\t") {
		column[name] = i
	}
	var entries []Entry
	for _, line := range lines[1:] {
		f := strings.Split(line, "\t")
		name := f[column["file"]]
		rows, err := strconv.ParseInt(f[column["rows"]], 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		columns, err := strconv.Atoi(f[column["trevni_columns"]])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		entries = append(entries, Entry{name, filepath.Join(dir, name), f[column["class"]], rows, columns})
	}
	return entries
}
