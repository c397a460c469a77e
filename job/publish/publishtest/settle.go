package publishtest

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// mustRead requires that a reader finds the outputs that count, or that they are changing.
func (w *world) mustRead(t *testing.T) string {
	t.Helper()
	name, err := w.read(t.Context(), w.st)
	if err != nil && !errors.Is(err, errChanging) {
		t.Errorf("a reader: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.states[len(w.states)-1]; err == nil && name != now {
		t.Errorf("a reader found %q, want %q", name, now)
	}
	for _, v := range w.violations {
		t.Error(v)
	}
	for _, p := range w.promised {
		if err := w.readOutput(t.Context(), w.st, p.dir, p.Success, p.Success); err != nil {
			t.Errorf("a reader of the replaced output of %s: %v", nameOf(p.Success), err)
		}
	}
	return name
}

// isPromised reports whether a name in the destination belongs to a replaced output whose files
// stay.
func (w *world) isPromised(name string) bool {
	for id := range w.promised {
		if strings.Contains(name, id) {
			return true
		}
	}
	return false
}

// endPromises lets the time of replaced outputs run out, and cleans the destination.
func (w *world) endPromises(t *testing.T) {
	t.Helper()
	if len(w.promised) == 0 {
		return
	}
	w.later, w.promised = 2*keepTime, nil
	if _, err := w.destination(w.st, overwrites).Clean(t.Context(), keepTime); err != nil {
		t.Errorf("a clean: %v", err)
	}
}

// isIn reports whether the rows of a run's request are among those that a reader found. They
// must be the only ones, unless the run makes an increment.
func (r run) isIn(name string) bool {
	if !r.mode.isIncrement() {
		return name == r.name
	}
	return slices.Contains(strings.Split(name, "+"), r.name)
}

// checkEnd requires that the output is that of the last successful run, unless a later one
// began to replace it; that the work of tasks that ran elsewhere can be committed again, or
// was published, or is refused because another output came; that any run completes; and that
// it leaves its output and nothing else.
func (w *world) checkEnd(t *testing.T) {
	t.Helper()
	name := w.mustRead(t)
	last := -1
	for _, i := range w.done {
		last = max(last, i)
	}
	if last >= 0 && last == len(w.claims)-1 && !w.claims[last].isIn(name) {
		t.Errorf("after a last run of %s: got output %q", w.claims[last].name, name)
	}
	if w.plan != nil {
		w.commitAgain(t)
	}
	if err := w.execute(t.Context(), w.st, run{"Z", overwrites}); err != nil {
		t.Errorf("final run: %v", err)
	}
	if name := w.mustRead(t); name != "Z" {
		t.Errorf("after the final run: got output %q, want Z", name)
	}
	w.checkLeft(t)
	w.endPromises(t)
	w.checkLeft(t)
	w.checkOutputs(t)
}

// checkLeft rejects files other than those of the output and of replaced outputs that stay.
func (w *world) checkLeft(t *testing.T) {
	t.Helper()
	left := slices.DeleteFunc(w.names(t, w.dest), w.isPromised)
	if left[0] == manifest.WorkName {
		w.checkUnfinished(t)
		left = left[1:]
	}
	if len(left) != tasks+1 || left[0] != manifest.SuccessName {
		t.Errorf("after the final run: got files %q", left)
	}
}

// commitAgain commits the work of tasks that ran elsewhere. It may be refused only if another
// output came.
func (w *world) commitAgain(t *testing.T) {
	t.Helper()
	again := run{w.plan.Request.Inputs[0].Path, commits}
	if w.plan.Increment {
		again.mode = commitsIncrement
	}
	err := w.execute(t.Context(), w.st, again)
	if name := w.mustRead(t); err == nil && !again.isIn(name) {
		t.Errorf("after another commit of %s: got output %q", again.name, name)
	}
	replaced := w.plan.Increment || len(w.added) > 0 || slices.ContainsFunc(w.outputs, func(o output) bool { return o.name != again.name })
	if err != nil && !(replaced && errors.Is(err, failure.Foreign)) {
		t.Errorf("another commit: %v", err)
	}
}

// checkUnfinished rejects the work of plans that can never be committed. Work without its plan
// stays until clean removes it.
func (w *world) checkUnfinished(t *testing.T) {
	t.Helper()
	root := path.Join(w.dest, manifest.WorkName)
	for _, name := range w.names(t, root) {
		if w.isPromised(name) {
			continue
		}
		if !strings.HasPrefix(name, "plan-") || slices.Contains(w.names(t, path.Join(root, name)), manifest.PlanName) {
			t.Errorf("after the final run: got %s", path.Join(root, name))
		}
	}
}

// checkOutputs rejects an output that was published twice, or that replaced one without
// overwrite.
func (w *world) checkOutputs(t *testing.T) {
	t.Helper()
	var before output
	for _, o := range w.outputs {
		if o.name == before.name && !before.hasIncrement {
			t.Errorf("the output of %s was published twice", o.name)
		}
		kept := slices.Contains(w.kept, o.name) && before.id != ""
		late := w.plan != nil && o.plan == w.plan.ID && before.id != w.plan.Base
		if kept || late {
			t.Errorf("the output of %s replaced that of %s without permission", o.name, before.name)
		}
		before = o
	}
}

func (w *world) names(t *testing.T, dir string) (names []string) {
	t.Helper()
	infos, err := w.st.List(t.Context(), dir)
	testenv.Must(t, err)
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names
}
