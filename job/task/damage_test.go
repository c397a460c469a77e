package task

import (
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestDamage(t *testing.T) {
	in, all := writeInput(t, t.TempDir(), "a.avro", 60)
	blocks := inputBlocks("a.avro", 60)
	p := newPlan(t, 1<<20, in)
	damageBlock(t, in)
	raw, err := os.ReadFile(in)
	testenv.Must(t, err)
	for _, tt := range []struct {
		onDamage string
		maxLost  int64
		refused  string // text in the error
	}{
		{"fail", -1, "a.avro"},
		{"skip", 99, "more than 99 rows"},
		{"quarantine", 99, "more than 99 rows"},
		{"skip", 100, ""},
		{"quarantine", -1, ""},
	} {
		p.Request.Options.OnDamage, p.Request.Options.MaxLostRows = tt.onDamage, tt.maxLost
		seal(t, p)
		dir, results, err := run(t, p, options(t))
		if tt.refused != "" {
			failuretest.Want(t, err, failure.Input, tt.refused)
			if left := fileNames(t, dir); len(left) > 0 {
				t.Errorf("%+v: left %v", tt, left)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", tt, err)
		}
		res := results[0]
		if res.RowsIn != 5900 || len(res.Losses) != 1 || res.LostRows() != 100 {
			t.Fatalf("%+v: result %+v", tt, res)
		}
		l := res.Losses[0]
		got := readRows(t, store.Local(), dir, results)
		if !slices.ContainsFunc(blocks, func(lost string) bool { return strings.Replace(all, lost, "", 1) == got }) {
			t.Errorf("%+v: the rows are not those of all blocks but one", tt)
		}
		if tt.onDamage == "skip" {
			if l.Quarantine != nil || len(fileNames(t, dir)) != 2 {
				t.Errorf("%+v: a copy in %v", tt, fileNames(t, dir))
			}
			continue
		}
		q := l.Quarantine
		kept, err := os.ReadFile(filepath.Join(dir, q.Name))
		if err != nil || string(kept) != string(raw[l.Start:l.End]) || len(kept) < 1000 {
			t.Errorf("copy of [%d, %d): %d bytes, %v", l.Start, l.End, len(kept), err)
		}
		if q.Bytes != int64(len(kept)) || q.CRC32C != crc32.Checksum(kept, crc32.MakeTable(crc32.Castagnoli)) {
			t.Errorf("the result describes the copy as %+v", q)
		}
		if found, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), 0); found == nil || err != nil {
			t.Errorf("the task is not finished, %v", err)
		}
	}
}

// TestLostRowsOfAllTasks checks that the limit of each task also applies to all tasks
// together.
func TestLostRowsOfAllTasks(t *testing.T) {
	dir := t.TempDir()
	a, _ := writeInput(t, dir, "a.avro", 10)
	b, _ := writeInput(t, dir, "b.avro", 10)
	p := newPlan(t, 1<<20, a, b)
	damageBlock(t, a)
	damageBlock(t, b)
	p.Request.Options.OnDamage, p.Request.Options.MaxLostRows = "skip", 200
	seal(t, p)
	mustRun(t, p, options(t))

	p.Request.Options.MaxLostRows = 199
	seal(t, p)
	_, _, err := run(t, p, options(t))
	failuretest.Want(t, err, failure.Input, "200 rows were lost to damage, more than the 199 allowed")

	// Lost rows of finished tasks count, with and without other tasks to run.
	o := options(t)
	o.Lost = 100
	for numbers, lost := range map[int]string{0: "", 1: "200 rows"} {
		_, err := mustOpen(t, p, o).Run(t.Context(), store.Local(), t.TempDir(), []int{0}[:numbers])
		if lost == "" && err != nil {
			t.Error(err)
		} else if lost != "" {
			failuretest.Want(t, err, failure.Input, lost)
		}
	}
	o.Lost = 200
	_, err = mustOpen(t, p, o).Run(t.Context(), store.Local(), t.TempDir(), nil)
	failuretest.Want(t, err, failure.Input, "200 rows")
}

func TestInputChanged(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 60)
	p := newPlan(t, 1<<20, in)
	replaced := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 2, Err: store.ErrNotExist})
	o := options(t)
	o.Resolve = storetest.ResolveTo(replaced)
	_, _, err := run(t, p, o)
	failuretest.Want(t, err, failure.Input, "changed while it was read")

	testenv.Must(t, os.Truncate(in, 2000))
	_, _, err = run(t, p, options(t))
	failuretest.Want(t, err, failure.Input, "changed during the job")

	testenv.Must(t, os.Remove(in))
	_, _, err = run(t, p, options(t))
	failuretest.Want(t, err, failure.Input, "does not exist")
}

// TestInvalidResults checks what Finished returns after the files of an earlier attempt were
// changed.
func TestInvalidResults(t *testing.T) {
	in, _ := writeInput(t, t.TempDir(), "a.avro", 10)
	p := newPlan(t, 1<<20, in)
	p.Request.Options.OnDamage = "quarantine"
	damageBlock(t, in)
	seal(t, p)
	other := *p
	other.ID = manifest.NewID()
	for name, change := range map[string]func(doc, part, copied string) error{
		"no result":           func(doc, _, _ string) error { return os.Remove(doc) },
		"no JSON":             func(doc, _, _ string) error { return os.Truncate(doc, 20) },
		"result is directory": func(doc, _, _ string) error { return errors.Join(os.Remove(doc), os.Mkdir(doc, 0o777)) },
		"result is a link": func(doc, _, _ string) error {
			return errors.Join(os.Rename(doc, doc+".elsewhere"), os.Symlink(doc+".elsewhere", doc))
		},
		"part is a link": func(_, part, _ string) error {
			return errors.Join(os.Rename(part, part+".elsewhere"), os.Symlink(part+".elsewhere", part))
		},
		"no part":     func(_, part, _ string) error { return os.Remove(part) },
		"part is cut": func(_, part, _ string) error { return os.Truncate(part, 100) },
		"part is cut, its checksum 0": func(doc, part, _ string) error {
			text, err := os.ReadFile(doc)
			before, after, _ := strings.Cut(string(text), `"crc32c": `) // the first checksum is that of the part
			text = manifesttest.Seal([]byte(before + `"crc32c": 0` + strings.TrimLeft(after, "0123456789")))
			return errors.Join(err, os.WriteFile(doc, text, 0o666), os.Truncate(part, 0))
		},
		"part is longer":    func(_, part, _ string) error { return appendTo(part, "x") },
		"part is directory": func(_, part, _ string) error { return errors.Join(os.Remove(part), os.Mkdir(part, 0o777)) },
		"bit flip in part":  func(_, part, _ string) error { return flipBit(part) },
		"no copy":           func(_, _, copied string) error { return os.Remove(copied) },
		"bit flip in copy":  func(_, _, copied string) error { return flipBit(copied) },
	} {
		dir, results := mustRun(t, p, options(t))
		if res, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), 0); res == nil || err != nil {
			t.Fatalf("%s: before: %v, %v", name, res, err)
		}
		if res, err := NewWork(&other, nil, store.Local(), dir).Finished(t.Context(), 0); res != nil || !errors.Is(err, failure.Foreign) {
			t.Errorf("for another plan: %v, %v", res, err)
		}
		doc := filepath.Join(dir, manifest.TaskName(0))
		files := results[0].Files()
		testenv.Must(t, change(doc, filepath.Join(dir, files[0].Name), filepath.Join(dir, files[1].Name)))
		res, err := NewWork(p, nil, store.Local(), dir).Finished(t.Context(), 0)
		if gone := name == "no result" || name == "no part" || name == "no copy"; res != nil || gone && err != nil || !gone && !errors.Is(err, failure.Foreign) {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

func flipBit(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 4
	return os.WriteFile(file, b, 0o666)
}

func appendTo(file, text string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, text...), 0o666)
}
