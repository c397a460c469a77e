package dataset_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
	"github.com/rowtocol/rowtocol/trevni"
)

const idSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`

// forest makes outputs in directories below a root. Their rows are numbered consecutively.
type forest struct {
	t    *testing.T
	f    format.Format
	root string
	next int64
}

func newForest(t *testing.T, f format.Format) *forest {
	return &forest{t: t, f: f, root: t.TempDir()}
}

// grow makes an output of rows in each directory and returns the root.
func (p *forest) grow(rows int, dirs ...string) string {
	return p.growWith(idSchema, rows, dirs...)
}

func (p *forest) growWith(schema string, rows int, dirs ...string) string {
	p.t.Helper()
	input := filepath.Join(p.t.TempDir(), "in.avro")
	for _, dir := range dirs {
		var all [][]byte
		for range rows {
			p.next++
			all = append(all, binary.AppendVarint(nil, p.next))
		}
		writeAvro(p.t, input, schema, all)
		dir = filepath.Join(p.root, dir)
		if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
			p.t.Fatal(err)
		}
		convert(p.t, p.f, input, dir, settings{})
	}
	return p.root
}

// lines returns the rows of a query as JSON.
func lines(t *testing.T, d *dataset.Dataset, q dataset.Query) (string, error) {
	t.Helper()
	s, err := d.Scan(t.Context(), q)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var b bytes.Buffer
	w, err := export.NewWriter(&b, export.JSON(s.Schema(), export.JSONOptions{}))
	if err != nil {
		return "", err
	}
	for {
		row, err := s.Next(nil)
		if err != nil {
			err = errors.Join(w.Close(), ignoreEOF(err))
			return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", " "), err
		}
		if err := w.Write(row); err != nil {
			return "", err
		}
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func openAll(t *testing.T, paths ...string) (*dataset.Dataset, error) {
	t.Helper()
	return dataset.Open(t.Context(), locations(store.Local(), paths...), dataset.Options{Formats: formats})
}

// wantLines fails the test unless the rows of the paths are as wanted.
func wantLines(t *testing.T, want string, paths ...string) {
	t.Helper()
	d, err := openAll(t, paths...)
	if err != nil {
		t.Errorf("%s: %v", paths, err)
		return
	}
	if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != want {
		t.Errorf("%s: %s, %v, want %s", paths, got, err, want)
	}
}

// The directories of a tree are sorted by their names, with numbers by value, and the
// keys in the names are columns.
func TestTree(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		root := p.grow(1, "dt=2026-01-02/hour=9", "dt=2026-01-01/hour=10", "dt=2026-01-01/hour=9", "_old/hour=1", ".rowtocol/x=1")
		p.growIncrement("dt=2025-12-31/hour=0", 1)
		p.growIncrement("dt=2025-12-31/hour=0", 2)
		write(t, root+"/notes", "")
		write(t, root+"/dt=2026-01-02/other/notes", "")
		wantLines(t, `{"id":6,"dt":"2025-12-31","hour":0} {"id":7,"dt":"2025-12-31","hour":0} {"id":3,"dt":"2026-01-01","hour":9} {"id":2,"dt":"2026-01-01","hour":10} {"id":1,"dt":"2026-01-02","hour":9}`, root)
		l, err := dataset.List(t.Context(), locations(store.Local(), root), dataset.Options{Formats: formats})
		if err != nil || len(l.Sets) != 4 || !slices.Equal(l.Strays, []string{root + "/dt=2026-01-02/other", root + "/notes"}) {
			t.Errorf("%+v, %v", l, err)
		}
		d := open(t, root, dataset.Options{Formats: formats})
		want := `"fields":[{"name":"id","type":"long"},{"name":"dt","type":{"logicalType":"date","type":"int"}},{"name":"hour","type":"long"}]`
		if s := d.Schema().JSON(); !strings.Contains(s, want) || totalRows(t, d) != 5 {
			t.Errorf("got %d rows with the schema %s", totalRows(t, d), s)
		}
		if got, err := lines(t, d, dataset.Query{Columns: []string{"hour"}, Where: `dt == date("2026-01-01")`, Offset: 1, Limit: 1}); err != nil || got != `{"hour":10}` {
			t.Errorf("%s, %v", got, err)
		}
		d = open(t, root, dataset.Options{Formats: formats, Keyless: true})
		if got, err := lines(t, d, dataset.Query{Limit: 2}); err != nil || got != `{"id":6} {"id":7}` {
			t.Errorf("without keys: %s, %v", got, err)
		}
	})
}

func TestTreesRefused(t *testing.T) {
	for name, dirs := range map[string][]string{
		"b=3":             {"a=1/b=2", "b=3"},
		"c=2":             {"a=1/b=2", "a=1/c=2"},
		"b=3/a=4":         {"a=1/b=2", "b=3/a=4"},
		"a=2":             {"a=1/b=2", "a=2"},
		"a=1/b=2/a=3":     {"a=1/b=2/a=3"},
		"increment":       {"a=1/b=2", "increment-1"},
		"in an output":    {"a=1", "a=1/b=2"},
		"a=%31/b=2/%61=3": {"a=%31/b=2/%61=3"},
	} {
		p := newForest(t, trevni.Format)
		if _, err := openAll(t, p.grow(1, dirs...)); !isDamage(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", dirs, err)
		}
	}
	// A link to the root makes the tree infinite.
	p := newForest(t, trevni.Format)
	root := p.grow(1, "a=1")
	testenv.Must(t, os.Symlink(root, root+"/b=1"))
	if _, err := openAll(t, root); !isDamage(err) || !strings.Contains(err.Error(), "b=1/b=1: ") || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a link to the root: %v", err)
	}
}

// An unfinished output in a tree is handled as it is alone. An output of no inputs has
// no rows.
func TestUnfinishedInTree(t *testing.T) {
	p := newForest(t, trevni.Format)
	root := p.grow(1, "a=1", "a=2")
	writeSuccess(t, mkdir(t, root+"/a=3"), &manifest.Success{Version: manifest.Version, ID: manifest.NewID(), Request: manifest.Request{Options: manifest.Options{Format: "trevni"}}})
	wantLines(t, `{"id":1,"a":1} {"id":2,"a":2}`, root)
	remove(t, root+"/a=2", manifest.SuccessName)
	if _, err := openAll(t, root); !errors.Is(err, dataset.ErrUnfinished) || !strings.Contains(err.Error(), "a=2") {
		t.Errorf("without _SUCCESS: %v", err)
	}
	d := open(t, root, dataset.Options{Formats: formats, Partial: true})
	if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != `{"id":1,"a":1} {"id":2,"a":2}` {
		t.Errorf("with Partial: %s, %v", got, err)
	}
	write(t, root+"/a=2/"+manifest.LockName, "")
	if _, err := openAll(t, root); !isChanging(err) || !strings.Contains(err.Error(), "a=2") {
		t.Errorf("during a run: %v", err)
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	testenv.Must(t, os.MkdirAll(dir, 0o777))
	return dir
}

// Files of outputs that their keys exclude are not opened. A query of keys alone opens none.
func TestKeysPrune(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		root := p.grow(10, "dt=2026-01-01/h=1", "dt=2026-01-01/h=2", "dt=2026-01-02/h=1", "dt=__HIVE_DEFAULT_PARTITION__/h=1")
		parts := map[string]bool{} // opened parts, by their directories
		n := new(storetest.Counter)
		st := storetest.Inject(store.Local(), n.Inject, func(c *storetest.Call) error {
			if c.Op == storetest.Open {
				parts[filepath.Dir(c.Path)] = true
			}
			return c.Do()
		})
		d := openOn(t, st, root, dataset.Options{Formats: formats})
		if n.Calls(storetest.Open) != 0 || n.Calls(storetest.List) != 1+3+4 {
			t.Errorf("%d files were opened, %d directories listed", n.Calls(storetest.Open), n.Calls(storetest.List))
		}
		for _, test := range []struct {
			q                     dataset.Query
			rows, opened, counted int // parts opened by Scan and by Count
		}{
			{dataset.Query{}, 40, 4, 0},
			{dataset.Query{Where: "h == 2"}, 10, 1, 0},
			{dataset.Query{Where: "h == 2 && id > 0"}, 10, 1, 1},
			{dataset.Query{Where: `dt == date("2026-01-02") && id > 0`}, 10, 1, 1},
			{dataset.Query{Where: `(dt > date("2026-01-01") || h == 2) && id % 2 == 0`}, 10, 2, 2},
			{dataset.Query{Where: "dt == null && id > 0"}, 10, 1, 1},
			{dataset.Query{Where: "h > 2"}, 0, 0, 0},
			{dataset.Query{Columns: []string{"dt", "h"}}, 40, 0, 0},
			{dataset.Query{Columns: []string{"h"}, Where: "h != 2"}, 30, 0, 0},
			{dataset.Query{Columns: []string{"h"}, Where: "id > 30"}, 10, 4, 4},
		} {
			test.q.Limit = -1
			clear(parts)
			rows, stats, err := scan(t, d, test.q)
			if n := len(parts); err != nil || len(rows) != test.rows || n != test.opened || (n == 0) != (stats.BytesRead == 0 && stats.Blocks == 0) || stats.Passed != stats.TotalRows {
				t.Errorf("%+v: %d rows of %d parts, %+v, %v", test.q, len(rows), n, stats, err)
			}
			clear(parts)
			stats, err = d.Count(t.Context(), dataset.Query{Where: test.q.Where})
			if n := len(parts); err != nil || stats.Rows != int64(test.rows) || n != test.counted || (n == 0) != (stats.BytesRead == 0 && stats.Blocks == 0) {
				t.Errorf("%q: %d rows counted in %d parts, %+v, %v", test.q.Where, stats.Rows, n, stats, err)
			}
		}
		if n.OpenFiles() != 0 || n.MostFiles() > 3 {
			t.Errorf("%d files are open, there were up to %d", n.OpenFiles(), n.MostFiles())
		}
	})
}

// Outputs may have different schemas if the fields that a query needs agree.
func TestSchemasOfSets(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		p.grow(2, "a=1", "a=2")
		p.growWith(`{"type":"record","name":"R","fields":[{"name":"id","type":"long","doc":"other words"}]}`, 2, "a=3")
		root := p.growWith(`{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}`, 2, "a=4", "a=5")
		d := open(t, root, dataset.Options{Formats: formats})
		for _, q := range []dataset.Query{{Limit: -1}, {Limit: 0, Columns: []string{"id", "a"}}} {
			_, err := d.Scan(t.Context(), q)
			var e *damage.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "a=1 ") && !strings.Contains(err.Error(), "a=1;") || !strings.Contains(err.Error(), "a=4") || !strings.Contains(err.Error(), "--schema") {
				t.Errorf("rows: %v", err)
			}
			if _, err := d.Batches(t.Context(), q); !isDamage(err) {
				t.Errorf("batches: %v", err)
			}
		}
		reader := avrotest.Parse(t, `{"type":"record","name":"R","fields":[{"name":"id","type":"double"},{"name":"more","type":"string","default":"x"}]}`)
		const row = `{"id":%d,"more":"x","a":%d}`
		want := fmt.Sprintf(strings.Repeat(row+" ", 4)+row, 4, 2, 5, 3, 6, 3, 7, 4, 8, 4)
		for range 2 {
			if got, err := lines(t, d, dataset.Query{Schema: reader, Offset: 3, Limit: 5}); err != nil || strings.ReplaceAll(got, ".0", "") != want {
				t.Errorf("resolved: %s, %v, want %s", got, err, want)
			}
			if got, err := lines(t, d, dataset.Query{Schema: reader, Where: "id > 8 && a > 1", Limit: -1}); err != nil || strings.Count(got, "more") != 2 {
				t.Errorf("resolved: %s, %v", got, err)
			}
		}
		// A reader's schema may name a key.
		reader = avrotest.Parse(t, `{"type":"record","name":"R","fields":[{"name":"a","type":["null","double"],"default":null}]}`)
		if got, err := lines(t, d, dataset.Query{Schema: reader, Offset: 9, Limit: -1}); err != nil || !strings.HasPrefix(got, `{"a":5`) || strings.Contains(got, "id") {
			t.Errorf("resolved: %s, %v", got, err)
		}
		q := dataset.Query{Columns: []string{"a"}, Limit: -1}
		if got, err := lines(t, d, q); err != nil || got != strings.Join(strings.Fields(`{"a":1} {"a":1} {"a":2} {"a":2} {"a":3} {"a":3} {"a":4} {"a":4} {"a":5} {"a":5}`), " ") {
			t.Errorf("keys: %s, %v", got, err)
		}
		b, err := d.Batches(t.Context(), q)
		testenv.Must(t, err)
		defer b.Close()
		var keys []int64
		for b.Next() {
			keys = append(keys, b.Vector(0).Longs...)
		}
		if b.Err() != nil || !slices.Equal(keys, []int64{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}) || b.Stats().Rows != 10 {
			t.Errorf("keys: %v, %v, %+v", keys, b.Err(), b.Stats())
		}
	})
}

// A dataset of many outputs keeps only what reading needs, not their manifests.
func TestManySets(t *testing.T) {
	const sets = 300
	p := newForest(t, trevni.Format)
	one := p.grow(1, "one") + "/one"
	text, err := os.ReadFile(one + "/" + manifest.SuccessName)
	testenv.Must(t, err)
	s, err := manifest.DecodeSuccess(text)
	testenv.Must(t, err)
	for i := range 1000 {
		in := s.Request.Inputs[0]
		in.Path = fmt.Sprintf("%s-%06d", in.Path, i)
		s.Request.Inputs = append(s.Request.Inputs, in)
	}
	writeSuccess(t, one, s)
	root := t.TempDir()
	for i := range sets {
		testenv.Must(t, os.Symlink(one, fmt.Sprintf("%s/k=%d", root, i)))
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	st := storetest.NewFaulty(store.Local())
	d := openOn(t, st, root, dataset.Options{Formats: formats})
	if more := int64(heap() - before); more > sets*16<<10 {
		t.Errorf("%d outputs take %d bytes", sets, more)
	}
	rows, _, err := scan(t, d, dataset.Query{Limit: -1})
	if err != nil || len(rows) != sets || st.MostFiles() != 1 || st.Calls(storetest.List) != sets+1 {
		t.Errorf("%d rows, %d files open at a time, %d directories listed, %v", len(rows), st.MostFiles(), st.Calls(storetest.List), err)
	}
	runtime.KeepAlive(d)
}
