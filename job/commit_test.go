package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/store"
)

func TestResume(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 40)
	ref := request(t, filepath.Join(dir, "ref"), in)
	tasks := len(mustConvert(t, ref).Plan.Tasks)
	want := tree(t, ref.Dest)

	ctx, cancel := context.WithCancel(context.Background())
	r := request(t, filepath.Join(dir, "out"), in)
	r.Workers = 1
	r.Progress = func(p Progress) {
		if p.Tasks == 3 {
			cancel()
		}
	}
	if _, err := Convert(ctx, r); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	for name := range tree(t, r.Dest) {
		if !strings.HasPrefix(name, workName+"/") || store.IsTemp(filepath.Base(name)) {
			t.Errorf("%s was left", name)
		}
	}
	// One of those that were done lost its part, and is done again. A fourth may
	// have been done while the third was reported.
	done, err := filepath.Glob(filepath.Join(r.Dest, workName, "*", "task-*.json"))
	if err != nil || len(done) < 3 || len(done) == tasks {
		t.Fatal(done, err)
	}
	part := strings.NewReplacer("task-", "part-", ".json", ".trv").Replace(done[1])
	if err := os.Truncate(part, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(part); err != nil {
		t.Fatal(err)
	}
	r.Progress = nil
	if out := mustConvert(t, r); out.Resumed != len(done)-1 || len(out.Plan.Tasks) != tasks {
		t.Errorf("resumed %d of %d, %d were done", out.Resumed, len(out.Plan.Tasks), len(done))
	}
	sameTree(t, tree(t, r.Dest), want)
}

func TestOverwrite(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 40)
	r := request(t, filepath.Join(dir, "out"), in)
	mustConvert(t, r)
	old := tree(t, r.Dest)

	writeInput(t, in, testSchema, 2, 10)
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrConflict, "--overwrite")
	sameTree(t, tree(t, r.Dest), old)

	r.Overwrite = true
	mustConvert(t, r)
	ref := request(t, filepath.Join(dir, "ref"), in)
	mustConvert(t, ref)
	want := tree(t, ref.Dest)
	sameTree(t, tree(t, r.Dest), want)

	// A part that was changed since is noticed, and made again on request.
	if err := os.Truncate(filepath.Join(r.Dest, "part-00000.trv"), 7); err != nil {
		t.Fatal(err)
	}
	r.Overwrite = false
	_, err = Convert(context.Background(), r)
	wantKind(t, err, ErrConflict, "part-00000.trv has 7 bytes")
	r.Overwrite = true
	mustConvert(t, r)
	sameTree(t, tree(t, r.Dest), want)
}
