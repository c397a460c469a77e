package task

import (
	"context"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// lookups is a store that counts the files that are looked up.
type lookups struct {
	*memstore.Client
	n int
}

func (l *lookups) Stat(ctx context.Context, p string) (store.Info, error) {
	l.n++
	return l.Client.Stat(ctx, p)
}

// TestListedWork is found without a lookup of each file; and so are tasks that are done
// again after the listing, but not those that are done for the first time.
func TestListedWork(t *testing.T) {
	p, st := newPlan(t, 5000, func() string { file, _ := writeInput(t, t.TempDir(), "a", 40); return file }()), &lookups{Client: memstore.New().Client()}
	r := open(t, p, options(t))
	w := WorkIn(p, st, "/none")
	if err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res, err := w.Finished(t.Context(), 0); res != nil || err != nil {
		t.Errorf("without a directory: %+v, %v", res, err)
	}
	n := len(p.Tasks)
	if n < 3 {
		t.Fatalf("%d tasks", n)
	}
	if _, err := r.Run(t.Context(), st, "/", all(p)[1:]); err != nil {
		t.Fatal(err)
	}
	w, st.n = WorkIn(p, st, "/"), 0
	if err := w.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := r.Run(t.Context(), st, "/", []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	st.n = 0
	for i := range p.Tasks {
		res, err := w.Finished(t.Context(), i)
		if err != nil || (res == nil) != (i == 0) || w.Listed(i).FileID == 0 != (i == 0) {
			t.Errorf("task %d: %+v, %v, listed as %+v", i, res, err, w.Listed(i))
		}
		if i == 1 && !slices.Equal(res.Files(), again[1].Files()) {
			t.Errorf("the task that ran again left %+v, not %+v", res.Files(), again[1].Files())
		}
	}
	if st.n != 1 { // of the part that is not listed
		t.Errorf("%d files were looked up", st.n)
	}
}
