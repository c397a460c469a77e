package shred

import (
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/corpus"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestCorpus counts the columns of every real file of the folder that
// ROWTOCOL_CORPUS names, and checks that only odd schemas have warnings.
func TestCorpus(t *testing.T) {
	files := 0
	for _, e := range corpus.Entries(t) {
		header := readHeader(t, e.Path)
		if header == nil { // the tests of package ocf check these
			continue
		}
		files++
		t.Run(e.Name, func(t *testing.T) { checkFile(t, header.Schema, e.Class, e.Columns) })
	}
	t.Logf("%d schemas", files)
}

func readHeader(t *testing.T, path string) *ocf.Header {
	t.Helper()
	f, err := os.Open(path)
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	testenv.Must(t, err)
	header, err := ocf.ReadHeader(f, info.Size(), path)
	if err != nil {
		return nil
	}
	return header
}

func checkFile(t *testing.T, text, class string, columns int) {
	s, err := ParseSchema(text)
	testenv.Must(t, err)
	if odd := strings.HasPrefix(class, "bad-"); odd != (len(s.Warnings()) > 0) {
		t.Errorf("class %s, warnings %q", class, s.Warnings())
	}
	// The files with bad names also have bad symbols.
	about := map[string]string{"bad-name": "name", "bad-symbols": "symbol", "bad-default": "the default"}[class]
	if !strings.Contains(strings.Join(s.Warnings(), "\n"), about) {
		t.Errorf("class %s, warnings %q", class, s.Warnings())
	}
	m, err := Map(s, Options{})
	if class == "recursive" {
		wantDamage(t, err, damage.Unsupported, "recursive")
		if m, err = Map(s, Options{RecursiveBytes: true}); err != nil || len(m.Columns) == 0 {
			t.Errorf("recursive with bytes: %v", err)
		}
		return
	}
	switch {
	case columns == 0 && err == nil:
		t.Errorf("class %s has %d columns, want an error", class, len(m.Columns))
	case columns > 0 && err != nil:
		t.Error(err)
	case columns > 0 && len(m.Columns) != columns:
		t.Errorf("%d columns, want %d", len(m.Columns), columns)
	}
}
