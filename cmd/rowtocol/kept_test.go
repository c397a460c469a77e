package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// openOutput opens dir/out. read reads the rows that the output had then, and returns their number.
func openOutput(t *testing.T, dir string) (read func() (int, error)) {
	t.Helper()
	d, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: dir + "/out"}}, dataset.Options{Formats: formats})
	must(t, err)
	return func() (int, error) {
		s, err := d.Scan(t.Context(), dataset.Query{Columns: []string{"id"}, Limit: -1})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		var b bytes.Buffer
		w, err := export.NewWriter(&b, export.JSON(s.Schema(), export.JSONOptions{}))
		if err != nil {
			return 0, err
		}
		for {
			row, err := s.Next(nil)
			if err != nil {
				must(t, w.Close())
				return strings.Count(b.String(), "\n"), err
			}
			must(t, w.Write(row))
		}
	}
}

// endKept makes the documents of kept outputs in dest older than their time.
func endKept(t *testing.T, dest string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dest, manifest.WorkName, manifest.KeptName("*")))
	must(t, err)
	for _, name := range names {
		must(t, os.Chtimes(name, time.Time{}, time.Now().Add(-25*time.Hour)))
	}
}

// TestKeepReplaced checks that a reader that opened an output goes on reading it after the output
// and its increment were replaced with --keep-replaced, until the time is over.
func TestKeepReplaced(t *testing.T) {
	for name, replace := range map[string][][]string{
		"convert": {{"convert", "--overwrite", "--keep-replaced", "24h", "in/c.avro", "out"}},
		"commit": {
			{"plan", "in/c.avro", "out", "-o", "p.json"}, {"task", "--plan", "p.json", "--task", "0"},
			{"commit", "--overwrite", "--keep-replaced", "24h", "--plan", "p.json"},
		},
		"cfile": {{"convert", "--format", "cfile", "--overwrite", "--keep-replaced", "24h", "in/c.avro", "out"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writePairs(t, dir, "in/a.avro", 0, 10)
			writePairs(t, dir, "in/b.avro", 10, 10)
			writePairs(t, dir, "in/c.avro", 20, 5)
			var flags []string
			if name == "cfile" {
				flags = []string{"--format", "cfile"}
			}
			rowtocol(t, dir, nil, append(flags, "convert", "in/a.avro", "out")...).want(t, 0)
			rowtocol(t, dir, nil, append(flags, "convert", "--incremental", "in/b.avro", "out")...).want(t, 0)
			first, again := openOutput(t, dir), openOutput(t, dir)
			for _, args := range replace {
				rowtocol(t, dir, nil, args...).want(t, 0)
			}
			if n, _ := first(); n != 20 {
				t.Errorf("a reader of the replaced output got %d rows, want 20", n)
			}
			wantIDs(t, dir, idRange(20, 5)...)
			rowtocol(t, dir, nil, "verify", "out").want(t, 0)
			rowtocol(t, dir, nil, "status", "out").want(t, 0, "replaced outputs, whose files stay for a time", "clean removes it from").lacks(t, "leftovers", "not rowtocol's")
			s := statusIn(t, dir, "out")
			if len(s.Kept) != 2 || s.Kept[0].Bytes == 0 || s.Kept[0].From.Sub(s.Kept[0].Changed) != 24*time.Hour || len(s.Debris) > 0 {
				t.Errorf("kept %+v, debris %+v", s.Kept, s.Debris)
			}
			rowtocol(t, dir, nil, "clean", "out").want(t, 0, "nothing removed", "kept for now", "kept-")
			rowtocol(t, dir, nil, "clean", "--dry-run", "out").want(t, 0, "2 leftovers could be removed", "clean removes it from")
			endKept(t, dir+"/out")
			rowtocol(t, dir, nil, "clean", "out").want(t, 0, "2 leftovers removed").lacks(t, "clean removes it")
			if names, err := os.ReadDir(dir + "/out"); err != nil || len(names) != 2 {
				t.Errorf("got %v, want _SUCCESS and a part: %v", names, err)
			}
			if _, err := again(); !errors.Is(err, dataset.ErrChanging) {
				t.Errorf("a reader whose files are gone got %v", err)
			}
		})
	}
}

// TestNothingToDoTidies checks that a run with nothing to do removes kept outputs whose time is over,
// and the spills of a dead run.
func TestNothingToDoTidies(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	writePairs(t, dir, "b.avro", 10, 10)
	write(t, dir+"/tmp/rowtocol-spill-1/2/0", []byte("spilled"))
	must(t, os.MkdirAll(dir+"/other", 0o777))
	convert := func(args ...string) output {
		t.Helper()
		return rowtocol(t, dir, nil, append([]string{"convert", "b.avro", "out"}, args...)...)
	}
	rowtocol(t, dir, nil, "convert", "--temp-dir", "other", "a.avro", "out").want(t, 0)
	convert("--temp-dir", "other", "--overwrite", "--keep-replaced", "24h").want(t, 0)
	convert("--temp-dir", "none").want(t, 0, "nothing to do").lacks(t, "WARN")
	if s := statusIn(t, dir, "out"); len(s.Kept) != 1 {
		t.Errorf("an output is not kept until its time is over: %+v", s)
	}
	endKept(t, dir+"/out")
	convert("--temp-dir", "tmp").want(t, 0, "nothing to do").lacks(t, "WARN")
	if names, err := os.ReadDir(dir + "/out"); err != nil || len(names) != 2 {
		t.Errorf("got %v, want _SUCCESS and a part: %v", names, err)
	}
	if names, err := os.ReadDir(dir + "/tmp"); err != nil || len(names) > 0 {
		t.Errorf("spills of a dead run remain: %v, %v", names, err)
	}
}

// TestKeepReplacedPartition checks that --reprocess keeps the output of a partition.
func TestKeepReplacedPartition(t *testing.T) {
	dir := t.TempDir()
	convert := func(args ...string) {
		t.Helper()
		rowtocol(t, dir, nil, append([]string{"convert", "--partitioned", "src", "out"}, args...)...).want(t, 0)
	}
	writePairs(t, dir, "src/dt=1/a.avro", 0, 2)
	convert()
	writePairs(t, dir, "src/dt=1/b.avro", 2, 2)
	convert("--reprocess", "--keep-replaced", "24h")
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "dt=1: replaced outputs")
	if s := statusIn(t, dir, "out/dt=1"); len(s.Kept) != 1 || len(s.Increments) > 0 {
		t.Errorf("kept %+v next to %+v", s.Kept, s.Increments)
	}
	rowtocol(t, dir, nil, "convert", "--keep-replaced", "-1s", "src", "out").want(t, 1, `--keep-replaced: \"-1s\" is negative`)
}
