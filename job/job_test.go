package job

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, filepath.Join(dir, "in", "b.avro"), 1, 30)
	writeInput(t, filepath.Join(dir, "in", "a.avro"), 2, 1)
	writeInput(t, filepath.Join(dir, "in", "day=1", "c.avro"), 3, 2)
	var last Progress
	r := request(t, filepath.Join(dir, "out"), filepath.Join(dir, "in"))
	r.Progress = func(p Progress) { last = p }
	out := mustConvert(t, r)
	if out.Manifest.Rows != 3300 || out.Nothing || out.Resumed != 0 {
		t.Errorf("%d rows, nothing %v, resumed %d", out.Manifest.Rows, out.Nothing, out.Resumed)
	}
	if last.Rows != 3300 || last.Bytes != last.TotalBytes || last.Tasks != last.TotalTasks || last.TotalTasks != len(out.Plan.Tasks) {
		t.Errorf("final progress %+v", last)
	}
	var rows int64
	for _, p := range out.Manifest.Parts {
		if p.Bytes() > 16<<10+50 || len(p.Files) != 1 {
			t.Errorf("a part of %d bytes: %+v", p.Bytes(), p)
		}
		rows += readRows(t, filepath.Join(r.Dest, p.Files[0].Name))
	}
	if rows != 3300 {
		t.Errorf("%d rows in the parts", rows)
	}
	want := contents(t, store.Local(), r.Dest)
	wantContents(t, store.Local(), r.Dest, want)
	if len(want) < 4 {
		t.Errorf("only %d parts", len(want))
	}
	doc := success(t, store.Local(), r.Dest)
	if out = mustConvert(t, r); !out.Nothing || out.Manifest.ID != doc.ID {
		t.Errorf("the second run was not without effect: %+v", out)
	}
	wantContents(t, store.Local(), r.Dest, want)
	for _, workers := range []int{1, 8} {
		r.Workers, r.Dest = workers, filepath.Join(dir, fmt.Sprint("out", workers))
		mustConvert(t, r)
		wantContents(t, store.Local(), r.Dest, want)
	}
	if left := fileNames(t, store.Local(), r.TempDir); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func readRows(t testing.TB, file string) int64 {
	t.Helper()
	f, err := store.Local().Open(context.Background(), file)
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	trv, err := trevni.Open(f, f.Size(), file)
	testenv.Must(t, err)
	return trv.RowCount()
}

func TestEmptyInputs(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.MkdirAll(filepath.Join(dir, "none"), 0o777))
	writeInput(t, filepath.Join(dir, "zero", "a.avro"), 1, 0)
	writeInput(t, filepath.Join(dir, "zero", "b.avro"), 2, 0)

	none := request(t, filepath.Join(dir, "o1"), filepath.Join(dir, "none"))
	none.AllowEmpty = true
	out := mustConvert(t, none)
	if len(out.Manifest.Parts) != 0 || len(out.Warnings) == 0 {
		t.Errorf("no files: parts %v, warnings %v", out.Manifest.Parts, out.Warnings)
	}
	wantContents(t, store.Local(), none.Dest, nil)

	zero := request(t, filepath.Join(dir, "o2"), filepath.Join(dir, "zero"))
	out = mustConvert(t, zero)
	if len(out.Manifest.Parts) != 1 || out.Manifest.Parts[0].Rows != 0 {
		t.Fatalf("no rows: parts %v", out.Manifest.Parts)
	}
	if n := readRows(t, filepath.Join(zero.Dest, out.Manifest.Parts[0].Files[0].Name)); n != 0 {
		t.Errorf("the part has %d rows, want 0", n)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeInput(t, at("in/a.avro"), 1, 3)
	testenv.Must(t, os.Mkdir(at("foreign"), 0o777))
	write(t, at("file"), []byte("x"))
	write(t, at("foreign/notes.txt"), []byte("mine"))
	before := fileNames(t, store.Local(), dir)
	for name, tc := range map[string]struct {
		dest   string
		change func(*Request)
		kind   error
		text   string
	}{
		"dest is a file":  {"file", nil, failure.Usage, "is a file"},
		"no parent":       {"no/out", nil, failure.Refused, "parent"},
		"foreign":         {"foreign", nil, failure.Foreign, "notes.txt"},
		"foreign, forced": {"foreign", func(r *Request) { r.Overwrite = true }, failure.Foreign, "notes.txt"},
		"temp dir":        {"out", func(r *Request) { r.TempDir = at("no") }, failure.Usage, "temporary directory"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, at(tc.dest), at("in"))
			if tc.change != nil {
				tc.change(&r)
			}
			_, err := Convert(context.Background(), r)
			failuretest.Want(t, err, tc.kind, tc.text)
			if left := fileNames(t, store.Local(), dir); !slices.Equal(left, before) {
				t.Errorf("the directory has %q, want %q", left, before)
			}
			wantNone(t, at("out"))
		})
	}
}

func TestInputChanges(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, 1, 20)
	r := request(t, filepath.Join(dir, "out"), in)
	changed := false
	r.Progress = func(p Progress) {
		if p.Tasks == p.TotalTasks && !changed {
			changed = true
			writeInput(t, in, 9, 20)
		}
	}
	_, err := Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Input, "changed during the job")
	wantNone(t, r.Dest)
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	b := avroFile(t, 1, 60)
	damageBlock(t, b, 1, len(b)/2)
	write(t, in, b)
	r := request(t, filepath.Join(dir, "out"), in)
	_, err := Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Input, "a.avro")
	wantNone(t, r.Dest)

	r.Output.OnDamage, r.Output.MaxLostRows = "quarantine", 99
	_, err = Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Input, "99")
	wantNone(t, r.Dest)

	r.Output.MaxLostRows = 200
	for i := range 2 { // the second run has nothing to do, and reports the loss again
		out, err := Convert(context.Background(), r)
		failuretest.Want(t, err, failure.Losses, "100 rows")
		if out == nil || out.Nothing != (i == 1) || out.Manifest.Rows != 5900 || len(out.Manifest.Losses) != 1 {
			t.Fatalf("outcome %+v", out)
		}
		l := out.Manifest.Losses[0]
		kept, err := os.ReadFile(filepath.Join(r.Dest, l.Quarantine.Name))
		if err != nil || string(kept) != string(b[l.Start:l.End]) || len(kept) == 0 {
			t.Errorf("quarantine of [%d, %d): %d bytes, %v", l.Start, l.End, len(kept), err)
		}
	}

	r.Dest, r.Output.OnDamage = filepath.Join(dir, "skipped"), "skip"
	out, err := Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Losses, "100 rows")
	if out == nil || out.Manifest.Rows != 5900 || out.Manifest.Losses[0].Quarantine != nil {
		t.Errorf("outcome %+v", out)
	}
}

// TestOutcome checks that the outcome agrees with _SUCCESS.
func TestOutcome(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, 1, 12)
	r := request(t, filepath.Join(dir, "out"), in)
	r.Program = "1.2.3"
	out := mustConvert(t, r)
	doc, err := os.ReadFile(filepath.Join(r.Dest, manifest.SuccessName))
	testenv.Must(t, err)
	if b, err := out.Manifest.Encode(); err != nil || !bytes.Equal(b, doc) {
		t.Errorf("the outcome differs from _SUCCESS (%v)", err)
	}
	if m := out.Manifest; m.Made == nil || m.Made.Program != "1.2.3" || m.Plan != out.Plan.ID || m.Sequence != 1 {
		t.Errorf("the manifest is %s", doc)
	}
}

// TestInvalidUTF8 checks that strings that are not UTF-8 are copied, with a warning.
func TestInvalidUTF8(t *testing.T) {
	dir := t.TempDir()
	b := avroFile(t, 1, 1)
	b[len(b)-20] = 0xff // in the last string, before the sync marker
	write(t, filepath.Join(dir, "a.avro"), b)
	out := mustConvert(t, request(t, filepath.Join(dir, "out"), filepath.Join(dir, "a.avro")))
	if out.Manifest.InvalidUTF8 != 1 || len(out.Warnings) != 1 {
		t.Errorf("%d strings, warnings %q", out.Manifest.InvalidUTF8, out.Warnings)
	}
}

func TestLosses(t *testing.T) {
	for text, losses := range map[string][]manifest.Loss{
		"2 damaged ranges of the input, with 7 rows":                   {{Rows: 3}, {Rows: 4}},
		"2 damaged ranges of the input, with at least 3 rows":          {{Rows: 3}, {Rows: -1}},
		"1 damaged range of the input, with 1 row":                     {{Rows: 1}},
		"1 damaged range of the input, with an unknown number of rows": {{Rows: -1}},
	} {
		out := new(Outcome)
		out.recordNothing(&manifest.Success{Losses: losses})
		failuretest.Want(t, out.losses(), failure.Losses, text)
		if !out.Nothing || out.Manifest == nil {
			t.Errorf("outcome %+v", out)
		}
	}
}
