package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/corpus"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// entry is a file of the corpus.
type entry struct {
	file, class   string
	rows, columns int64
	path          string
}

// The classes of files, by the result of a conversion.
const (
	readable    = iota // it converts, and Java reads the output
	javaRefuses        // it converts; Java's reader refuses the schema
	refused            // exit 3
)

var classes = map[string]int{
	"ok": readable, "empty": readable, "zero-byte rows": readable, "bad-default": readable,
	"bad-name": javaRefuses, "bad-symbols": javaRefuses,
	"corrupt": refused, "not-OCF": refused, "trailing-junk": refused, "recursive": refused, "zero-column": refused,
}

// realFiles returns the files of the corpus whose conversion has one of the outcomes.
func realFiles(t *testing.T, outcomes ...int) (entries []entry) {
	t.Helper()
	dir, err := filepath.Abs(cmp.Or(os.Getenv("ROWTOCOL_CORPUS"), "../testdata/real"))
	must(t, err)
	for _, e := range corpus.In(t, dir) {
		outcome, known := classes[e.Class]
		if !known {
			t.Fatalf("%s: the class %q is unknown", e.Name, e.Class)
		}
		if slices.Contains(outcomes, outcome) {
			entries = append(entries, entry{e.Name, e.Class, e.Rows, int64(e.Columns), e.Path})
		}
	}
	return entries
}

// everyNth returns every nth entry, beginning with entry first%n, or in a soak all entries.
func everyNth[T any](entries []T, n, first int) []T {
	if soak.Full() {
		return entries
	}
	var some []T
	for i := first % n; i < len(entries); i += n {
		some = append(some, entries[i])
	}
	return some
}

// conversion is the output of one input.
type conversion struct {
	entry
	dest  string
	parts []string
}

// corpusOutputs are the outputs of the corpus without flags, which several tests use.
var corpusOutputs struct {
	sync.Mutex
	dir       string // removed after the last test
	converted map[string]conversion
}

// wholeCorpus returns the conversions without flags that have one of the outcomes. Tests
// share them and only read them.
func wholeCorpus(t *testing.T, outcomes ...int) []conversion {
	t.Helper()
	corpusOutputs.Lock()
	defer corpusOutputs.Unlock()
	if corpusOutputs.converted == nil {
		converted := map[string]conversion{}
		for _, c := range convertInto(t, corpusOutputs.dir, realFiles(t, readable, javaRefuses)) {
			converted[c.file] = c
		}
		corpusOutputs.converted = converted
	}
	var some []conversion
	for _, e := range realFiles(t, outcomes...) {
		some = append(some, corpusOutputs.converted[e.file])
	}
	return some
}

// convertAll converts each file into a destination of its own.
func convertAll(t *testing.T, entries []entry, flags ...string) []conversion {
	t.Helper()
	return convertInto(t, t.TempDir(), entries, flags...)
}

// convertInto converts each file into a destination of its own below dir.
func convertInto(t *testing.T, dir string, entries []entry, flags ...string) []conversion {
	t.Helper()
	out := make([]conversion, len(entries))
	inParallel(len(entries), func(i int) {
		e, dest := entries[i], filepath.Join(dir, strconv.Itoa(i))
		r := run(t, append([]string{"convert", "--json", e.path, dest}, flags...)...)
		if r.code != 0 {
			t.Errorf("%s (%s): exit %d\n%s", e.file, e.class, r.code, r.stderr)
			return
		}
		p := r.report(t)
		if p.Result.Rows != e.rows {
			t.Errorf("%s: %d rows, want %d", e.file, p.Result.Rows, e.rows)
		}
		out[i] = conversion{e, dest, p.parts(dest)}
	})
	if t.Failed() {
		t.FailNow()
	}
	return out
}

// wantJava fails the test unless Java reads the inputs' rows from the outputs, with the
// same schema.
func wantJava(t *testing.T, converted []conversion) {
	t.Helper()
	lines := make([][]string, len(converted))
	for i, c := range converted {
		lines[i] = append([]string{c.path}, c.parts...)
	}
	var rows int64
	for i, v := range java.list(t, lines, "compare", "-") {
		want := fmt.Sprintf("%d rows", converted[i].rows)
		if !v.pass || v.detail != want {
			t.Errorf("%s (%s): java: %s, want %s", converted[i].file, converted[i].class, v.detail, want)
		}
		rows += converted[i].rows
	}
	t.Logf("java read %d rows of %d files", rows, len(converted))
}

func TestJavaReads(t *testing.T) {
	needJava(t)
	t.Parallel()
	for i, flags := range [][]string{
		nil, // snappy and crc32
		{"--codec=deflate"},
		{"--codec=bzip2"},
		{"--codec=null", "--checksum=null"},
		{"--codec=null"},
	} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			t.Parallel()
			if i == 0 {
				wantJava(t, wholeCorpus(t, readable))
				return
			}
			wantJava(t, convertAll(t, everyNth(realFiles(t, readable), 8, i), flags...))
		})
	}
}

// TestWitnessReads compares with goavro and hamba the files that Java's reader refuses,
// and in the codecs that Java lacks all files.
func TestWitnessReads(t *testing.T) {
	t.Parallel()
	for i, flags := range [][]string{nil, {"--codec=zstandard", "--checksum=crc-32"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			t.Parallel()
			if i == 0 {
				wantWitnesses(t, wholeCorpus(t, readable, javaRefuses))
				return
			}
			wantWitnesses(t, convertAll(t, everyNth(realFiles(t, readable, javaRefuses), 8, i), flags...))
		})
	}
}

// wantWitnesses fails the test unless goavro or hamba finds the inputs' rows in outputs.
func wantWitnesses(t *testing.T, converted []conversion) {
	t.Helper()
	var goavro, hamba int64
	inParallel(len(converted), func(i int) {
		c := converted[i]
		r := run(t, "verify", "--json", c.dest, "--against", c.path, "--require-complete")
		if r.code != 0 {
			t.Errorf("%s: exit %d\n%s%s", c.file, r.code, r.stdout, r.stderr)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		p := r.report(t)
		goavro, hamba = goavro+p.Result.Against.ByGoavro, hamba+p.Result.Against.ByHamba
	})
	t.Logf("goavro read %d rows and hamba %d of %d files", goavro, hamba, len(converted))
}

func TestRefused(t *testing.T) {
	entries := realFiles(t, refused)
	dir := t.TempDir()
	inParallel(len(entries), func(i int) {
		e, dest := entries[i], filepath.Join(dir, strconv.Itoa(i))
		r := run(t, "convert", "--json", e.path, dest)
		p := r.report(t)
		switch {
		case r.code != 3 || p.Error == nil:
			t.Errorf("%s (%s): exit %d, want 3\n%s%s", e.file, e.class, r.code, r.stdout, r.stderr)
		case !strings.HasSuffix(p.Error.File, e.file) || !strings.Contains(r.stderr, e.file):
			t.Errorf("%s (%s): the error does not name the file: %s", e.file, e.class, r.stderr)
		case p.Error.Reason == "":
			t.Errorf("%s (%s): the error gives no reason: %s", e.file, e.class, r.stderr)
		case p.Error.Offset == nil && p.Error.Kind != "unsupported" && p.Error.Kind != "schema":
			t.Errorf("%s (%s): the error gives no offset: %s", e.file, e.class, r.stderr)
		case e.class == "recursive" && p.Error.Path == "" && !strings.Contains(p.Error.Reason, "recursive"):
			t.Errorf("%s: the error does not name the recursion: %s", e.file, r.stderr)
		}
		if _, err := os.Stat(dest); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s (%s): %s was left over", e.file, e.class, dest)
		}
	})
	t.Logf("%d files refused", len(entries))
}

func TestRecursiveAsBytes(t *testing.T) {
	for _, e := range realFiles(t, refused) {
		if e.class == "recursive" {
			dest := filepath.Join(t.TempDir(), "out")
			run(t, "convert", "--recursive=bytes", e.path, dest).want(t, 0)
			run(t, "verify", dest, "--against", e.path).want(t, 0)
		}
	}
}
