package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/projected"
)

// toAvro writes the rows of a column file or an output as an Avro file.
func toAvro(t *testing.T, source string, flags ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "rows.avro")
	r := run(t, append([]string{"cat", "--to=avro", "--output=" + path, source}, flags...)...)
	if r.code != 0 || r.stdout+r.stderr != "" {
		t.Errorf("cat %s %v: exit %d\n%s%s", source, flags, r.code, r.stdout, r.stderr)
	}
	return path
}

// datums returns the schema of an Avro file, and the bytes of all its rows.
func datums(t *testing.T, path string) (schema string, rows []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	in, size := bytes.NewReader(data), int64(len(data))
	h, err := ocf.ReadHeader(in, size, path)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	d, err := ocf.NewDecoder(h.Codec, 1<<30)
	if err != nil {
		t.Error(err)
		return "", nil
	}
	var b ocf.Block
	s := ocf.NewScanner(in, size, path, h, ocf.Range{End: size})
	for data = nil; ; rows = append(rows, data...) {
		if err = s.Next(t.Context(), &b); err == nil {
			data, err = d.Decode(data[:0], &b, path)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return h.Schema, rows
		}
	}
}

// TestCatReturnsTheRows reads outputs back: the schema and bytes are those of the input,
// unless the input encodes arrays, maps or numbers in another valid form. Then goavro
// compares the rows.
func TestCatReturnsTheRows(t *testing.T) {
	t.Parallel()
	entries := everyNth(realFiles(t, readable, javaRefuses), 3, 2)
	codecs := []string{"snappy", "deflate", "bzip2", "null", "zstandard"}
	var recoded int
	for k, codec := range codecs {
		var some []entry
		for i := k; i < len(entries); i += len(codecs) {
			some = append(some, entries[i])
		}
		converted := convertAll(t, some, "--codec="+codec)
		inParallel(len(converted), func(i int) {
			if !wantRoundTrip(t, converted[i], "--output-codec="+codec) {
				mu.Lock()
				defer mu.Unlock()
				recoded++
			}
		})
	}
	t.Logf("%d files of %d are encoded in another form", recoded, len(entries))
}

// wantRoundTrip fails the test unless cat returns the rows of an input with its schema. It
// reports whether their bytes are also the same.
func wantRoundTrip(t *testing.T, c conversion, flags ...string) bool {
	t.Helper()
	schema, rows := datums(t, toAvro(t, c.dest, flags...))
	wantSchema, want := datums(t, c.path)
	if schema != wantSchema {
		t.Errorf("%s: the schema is %s, want %s", c.file, schema, wantSchema)
	}
	if bytes.Equal(rows, want) {
		return true
	}
	got, err := natives(toAvro(t, c.dest))
	native, wantErr := natives(c.path)
	if err != nil || wantErr != nil || !reflect.DeepEqual(got, native) {
		t.Errorf("%s: other rows (%v, %v)", c.file, err, wantErr)
	}
	t.Logf("%s: %d bytes of rows, the input has %d", c.file, len(rows), len(want))
	return false
}

// TestCatForms checks that cat returns the rows of real files in its other forms.
func TestCatForms(t *testing.T) {
	t.Parallel()
	converted := everyNth(wholeCorpus(t, readable), 3, 0)
	t.Run("columns", func(t *testing.T) { catColumns(t, converted) })
	t.Run("JSON", func(t *testing.T) { catJSON(t, converted) })
}

// catColumns selects random columns, and compares them with the rows as goavro reads them.
func catColumns(t *testing.T, converted []conversion) {
	var rows, unread int
	inParallel(len(converted), func(i int) {
		c := converted[i]
		r := rand.New(rand.NewPCG(uint64(i), 9))
		cols := open(t, c.parts[0]).Columns()
		var flags []string
		for range 1 + r.IntN(3) {
			name := cols[r.IntN(len(cols))].Name
			if strings.Contains(name, ",") {
				return
			}
			flags = append(flags, "--columns="+name)
		}
		got, err := natives(toAvro(t, c.dest, flags...))
		want, wantErr := natives(c.path)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || wantErr != nil {
			unread++
			return
		}
		rows += len(got)
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", c.file, len(got), len(want))
			return
		}
		for j := range got {
			if !projected.IsProjection(got[j], want[j]) {
				t.Errorf("%s %v, row %d:\n%v\nof\n%v", c.file, flags, j, got[j], want[j])
				return
			}
		}
	})
	t.Logf("%d rows of %d files; goavro cannot read %d files", rows, len(converted), unread)
}

// natives returns the rows of an Avro file as goavro reads them.
func natives(path string) (rows []any, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	r, err := goavro.NewOCFReader(f)
	if err != nil {
		return nil, err
	}
	for r.Scan() {
		row, err := r.Read()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, r.Err()
}

// catJSON has Java read the output in Avro's JSON encoding.
func catJSON(t *testing.T, converted []conversion) {
	needJava(t)
	dir := t.TempDir()
	lines := make([][]string, len(converted))
	inParallel(len(converted), func(i int) {
		path := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		run(t, "cat", "--json-unions", "--output="+path, converted[i].dest)
		lines[i] = []string{converted[i].path, path}
	})
	for i, v := range java.list(t, lines, "json", "-") {
		if want := fmt.Sprintf("%d rows", converted[i].rows); !v.pass || v.detail != want {
			t.Errorf("%s: java: %s, want %s", converted[i].file, v.detail, want)
		}
	}
}
