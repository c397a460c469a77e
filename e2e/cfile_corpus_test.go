package e2e

import (
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// asCFiles are the flags for CFiles of any number of columns.
var asCFiles = []string{"--format=cfile", "--many-files"}

// TestKuduCorpus converts real files and reads their rows back. Kudu reads every column
// of some.
func TestKuduCorpus(t *testing.T) {
	k := newKudu(t)
	entries := everyNth(realFiles(t, readable, javaRefuses), 8, 1)
	converted := convertAll(t, entries, asCFiles...)
	var recoded int
	inParallel(len(converted), func(i int) {
		if !wantRoundTrip(t, converted[i]) {
			mu.Lock()
			defer mu.Unlock()
			recoded++
		}
	})
	t.Logf("%d files of %d are encoded in another form", recoded, len(entries))
	wantWitnesses(t, converted)

	var some []conversion
	for _, c := range converted {
		if c.columns > 1 && c.columns <= 80 && c.rows > 0 && len(some) < soak.Rounds(6, 80) {
			some = append(some, c)
		}
	}
	var columns []string
	for _, c := range some {
		for _, file := range c.parts {
			if strings.HasSuffix(file, ".cf") {
				columns = append(columns, file)
			}
		}
	}
	inParallel(len(columns), func(i int) { k.wantSame(t, columns[i]) })
	t.Logf("Kudu read %d columns of %d files", len(columns), len(some))
	if len(columns) < 2*len(some) {
		t.Error("those are too few")
	}
}

// wantSame fails the test unless Kudu and our reader read the same from a file.
func (k *kudu) wantSame(t *testing.T, file string) {
	t.Helper()
	footer, rows := readCFile(t, file)
	k.wantRows(t, file, kuduText(footer.Type, rows, footer.Nullable), footerLines(footer)...)
}
