package job

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// partitions returns a conversion of the partitions in dir/src to dir/dest.
func partitions(t *testing.T, dir string, mkdir func(string)) *Partitions {
	p := &Partitions{Request: request(t, dir+"/dest", dir+"/src")}
	p.Resolve = storetest.ResolveTo(&hookStore{Store: store.Local(), mkdir: mkdir})
	return p
}

// TestParents checks that parent directories are made, even if other processes remove them,
// and are removed if the conversion fails.
func TestParents(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/src/k=1/h=1/a.avro", 1, 1)
	writeInput(t, dir+"/src/k=1/h=2/a.avro", 2, 1)
	dest := dir + "/dest/k=1/h=1"
	removed := 0
	p := partitions(t, dir, func(made string) {
		if made == dest && removed < 2 {
			removed++
			if err := os.Remove(path.Dir(dest)); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := p.Convert(t.Context(), "k=1/h=1"); err != nil || removed != 2 {
		t.Errorf("removed %d times: %v", removed, err)
	}
	wantContents(t, store.Local(), dest, contents(t, store.Local(), dest))
	testenv.Must(t, os.RemoveAll(dir+"/dest"))
	b := avroFile(t, 2, 1)
	damageBlock(t, b, 2, 0)
	write(t, dir+"/src/k=1/h=2/a.avro", b)
	_, err := p.Convert(t.Context(), "k=1/h=2")
	failuretest.Want(t, err, failure.Input, "a.avro")
	wantNone(t, dir+"/dest")
	p.Dest = dir + "/none/dest"
	_, err = p.Convert(t.Context(), "k=1/h=1")
	failuretest.Want(t, err, failure.Refused, "none/dest")
}

// TestPartitionsInAnOutput checks that partitions below an output or an increment are refused.
func TestPartitionsInAnOutput(t *testing.T) {
	for _, name := range []string{manifest.SuccessName, manifest.IncrementName(1, manifest.NewID()) + "/"} {
		dir := t.TempDir()
		writeInput(t, dir+"/src/k=1/h=1/a.avro", 1, 1)
		testenv.Must(t, os.MkdirAll(dir+"/dest/k=1", 0o777))
		if below, ok := strings.CutSuffix(name, "/"); !ok {
			write(t, dir+"/dest/k=1/"+name, nil)
		} else if err := os.Mkdir(dir+"/dest/k=1/"+below, 0o777); err != nil {
			t.Fatal(err)
		}
		p := partitions(t, dir, nil)
		if _, _, err := p.Find(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := p.Convert(t.Context(), "k=1/h=1")
		failuretest.Want(t, err, failure.Foreign, "partitions in an output")
	}
}

// TestPartitionThatWaits checks that a partition whose inputs are not complete gets no output
// and no destination.
func TestPartitionThatWaits(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/src/k=1/a.avro", 1, 1)
	p := partitions(t, dir, nil)
	p.Filter = input.Filter{Marker: "DONE"}
	if out, err := p.Convert(t.Context(), "k=1"); err != nil || !out.Nothing || out.Manifest != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if change, _, err := p.Preview(t.Context(), "k=1"); change != Unchanged {
		t.Errorf("Preview returned %q: %v", change, err)
	}
	wantNone(t, dir+"/dest")
	write(t, dir+"/src/k=1/DONE", nil)
	if out, err := p.Convert(t.Context(), "k=1"); err != nil || out.Nothing {
		t.Errorf("after it is complete: %+v, %v", out, err)
	}
}

// TestFirstOfTwo checks that the new inputs become an increment if another process makes the
// first output meanwhile.
func TestFirstOfTwo(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/src/k=1/a.avro", 1, 1)
	first := true
	p := partitions(t, dir, func(made string) {
		if first && made == dir+"/dest/k=1" {
			first = false
			mustConvert(t, request(t, made, filepath.Join(dir, "src/k=1/a.avro")))
		}
	})
	writeInput(t, dir+"/src/k=1/b.avro", 2, 1)
	out, err := p.Convert(t.Context(), "k=1")
	if err != nil || first || len(out.Published) != 1 || !out.Manifest.Increment || len(out.Manifest.Request.Inputs) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestReprocessKeepsIncrements checks that increments without the manifest of their output are
// not reprocessed.
func TestReprocessKeepsIncrements(t *testing.T) {
	dir := t.TempDir()
	p := partitions(t, dir, nil)
	for i, name := range []string{"a", "b", "c"} {
		writeInput(t, dir+"/src/k=1/"+name+".avro", uint64(i+1), 1)
		if _, err := p.Convert(t.Context(), "k=1"); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Must(t, os.Remove(dir+"/src/k=1/a.avro"), os.Remove(dir+"/dest/k=1/_SUCCESS"))
	p.Reprocess = true
	for range 2 {
		_, err := p.Convert(t.Context(), "k=1")
		failuretest.Want(t, err, failure.Foreign, "_SUCCESS", "is missing")
		p.Reprocess = false
	}
	if runs, err := filepath.Glob(dir + "/dest/k=1/increment-*/_SUCCESS"); err != nil || len(runs) != 2 {
		t.Errorf("there are the increments %q, %v", runs, err)
	}
}
