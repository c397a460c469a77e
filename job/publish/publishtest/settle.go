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

// mustRead requires that a reader finds what counts, or is told why not.
func (w *world) mustRead(t *testing.T) string {
	t.Helper()
	name, err := w.read(t.Context(), w.st)
	if err != nil && !errors.Is(err, errChanging) {
		t.Errorf("a reader: %v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.states[len(w.states)-1]; err == nil && name != now {
		t.Errorf("a reader found %q, and %q counts", name, now)
	}
	for _, fault := range w.faults {
		t.Error(fault)
	}
	return name
}

// has reports whether the rows of a request are among those that a reader found:
// alone, unless they are to be an increment.
func (r run) in(name string) bool {
	if !r.how.isIncrement() {
		return name == r.name
	}
	return slices.Contains(strings.Split(name, "+"), r.name)
}

// settle requires that the last run that ended well is the one whose output is
// there, unless a later one began to replace it; that the work of tasks that ran
// elsewhere can be committed again, or was published, or is refused as another output came;
// that any run completes; and that it leaves its output and nothing else.
func (w *world) settle(t *testing.T) {
	t.Helper()
	name := w.mustRead(t)
	last := -1
	for _, i := range w.done {
		last = max(last, i)
	}
	if last >= 0 && last == len(w.claims)-1 && !w.claims[last].in(name) {
		t.Errorf("the last run made the output of %s, but %q is there", w.claims[last].name, name)
	}
	if w.plan != nil {
		w.commitAgain(t)
	}
	if err := w.do(t.Context(), w.st, run{"Z", overwrites}); err != nil {
		t.Errorf("a run at the end: %v", err)
	}
	if name := w.mustRead(t); name != "Z" {
		t.Errorf("after a run at the end there is the output of %q", name)
	}
	left := w.names(t, w.dest)
	if left[0] == manifest.WorkName {
		w.checkUnfinished(t)
		left = left[1:]
	}
	if len(left) != tasks+1 || left[0] != manifest.SuccessName {
		t.Errorf("after a run at the end there are %q", left)
	}
	w.checkOutputs(t)
}

// commitAgain commits what tasks left that ran elsewhere. It is refused only if
// another output came.
func (w *world) commitAgain(t *testing.T) {
	t.Helper()
	again := run{w.plan.Request.Inputs[0].Path, commits}
	if w.plan.Increment {
		again.how = commitsIncrement
	}
	err := w.do(t.Context(), w.st, again)
	if name := w.mustRead(t); err == nil && !again.in(name) {
		t.Errorf("after another commit there is the output of %q", name)
	}
	replaced := w.plan.Increment || len(w.added) > 0 || slices.ContainsFunc(w.outputs, func(o output) bool { return o.name != again.name })
	if err != nil && !(replaced && errors.Is(err, failure.Foreign)) {
		t.Errorf("another commit: %v", err)
	}
}

// checkUnfinished finds the work of plans that can be committed no more. Work that came
// to nothing before there was a plan beside it stays until somebody cleans up.
func (w *world) checkUnfinished(t *testing.T) {
	t.Helper()
	root := path.Join(w.dest, manifest.WorkName)
	for _, name := range w.names(t, root) {
		if !strings.HasPrefix(name, "plan-") || slices.Contains(w.names(t, path.Join(root, name)), manifest.PlanName) {
			t.Errorf("after a run at the end there is %s", path.Join(root, name))
		}
	}
}

// checkOutputs looks for an output that came twice, or in the place of one that
// was to be kept.
func (w *world) checkOutputs(t *testing.T) {
	t.Helper()
	var before output
	for _, o := range w.outputs {
		if o.name == before.name && !before.beside {
			t.Errorf("the output of %s was made again in its own place", o.name)
		}
		kept := slices.Contains(w.kept, o.name) && before.id != ""
		late := w.plan != nil && o.plan == w.plan.ID && before.id != w.plan.Base
		if kept || late {
			t.Errorf("the output of %s replaced that of %s, without leave", o.name, before.name)
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
