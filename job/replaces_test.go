package job

import (
	"context"
	"path"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// newOverwriteJob returns a job whose destination holds the output of /in/a.avro, and whose
// request replaces it by another output of /in.
func newOverwriteJob(t *testing.T) *memoryJob {
	t.Helper()
	s := newMemoryJob(t)
	s.input(t, "/in/a.avro", 1, 3)
	mustConvert(t, s.r)
	s.r.Overwrite = true
	s.r.Output.RowGroupSize *= 2
	s.e.options.Overwrite = true
	return s
}

// addIncrement converts the new inputs in a directory as an increment.
func (s *memoryJob) addIncrement(t *testing.T, dir string) {
	t.Helper()
	r := s.r
	r.Inputs, r.Overwrite, r.Incremental, r.Resolve = []string{dir}, false, true, storetest.ResolveTo(s.st)
	mustAdd(t, r)
}

// inputNames returns the names of the inputs of all outputs at a destination.
func (s *memoryJob) inputNames(t *testing.T, dest string) (names []string) {
	t.Helper()
	infos, err := s.st.List(t.Context(), dest)
	testenv.Must(t, err)
	for _, info := range infos {
		dir := ""
		if _, _, increment := manifest.ParseIncrement(info.Name); increment {
			dir = info.Path
		} else if info.Name == manifest.SuccessName {
			dir = dest
		} else {
			continue
		}
		names = slices.Concat(names, slices.Concat(inputsOf([]*manifest.Success{success(t, s.st, dir)})...))
	}
	slices.Sort(names)
	return names
}

func (s *memoryJob) wantInputs(t *testing.T, dest string, names ...string) {
	t.Helper()
	if got := s.inputNames(t, dest); !slices.Equal(got, names) {
		t.Errorf("%s has the rows of %q, want %q", dest, got, names)
	}
}

// beforeLock changes the request so that it calls do before it takes the lock of a
// destination.
func (s *memoryJob) beforeLock(dest string, do func()) {
	s.r.Resolve = storetest.ResolveTo(callBefore(s.st, path.Join(dest, manifest.WorkName), do))
}

// TestConvertSurveysAgain checks that a conversion surveys again if another process publishes
// after the first survey.
func TestConvertSurveysAgain(t *testing.T) {
	remove := func(t *testing.T, s *memoryJob, name string) {
		testenv.Must(t, s.st.Remove(t.Context(), name))
	}
	for name, tc := range map[string]struct {
		others func(t *testing.T, s *memoryJob)
		text   string // text of the error
		want   []string
	}{
		"an increment": {func(t *testing.T, s *memoryJob) {
			s.input(t, "/in/b.avro", 2, 3)
			s.addIncrement(t, "/in")
		}, "", []string{"a.avro", "b.avro"}},
		"an increment of another input": {func(t *testing.T, s *memoryJob) {
			s.input(t, "/more/b.avro", 2, 3)
			s.addIncrement(t, "/more")
		}, "another run was faster: /out/increment-00000002-", []string{"a.avro", "b.avro"}},
		"an increment whose input is gone": {func(t *testing.T, s *memoryJob) {
			s.input(t, "/in/b.avro", 2, 3)
			s.addIncrement(t, "/in")
			remove(t, s, "/in/b.avro")
		}, "holds the rows of /in/b.avro, which is not among its inputs", []string{"a.avro", "b.avro"}},
		"an output without its manifest": {func(t *testing.T, s *memoryJob) {
			r := s.r
			r.Resolve, r.Inputs = storetest.ResolveTo(s.st), []string{"/in/a.avro"}
			mustConvert(t, r)
			remove(t, s, "/out/"+manifest.SuccessName)
		}, "holds rows of unknown inputs", nil},
		"an input that cannot be read": {func(t *testing.T, s *memoryJob) {
			s.input(t, "/in/b.avro", 2, 3)
			s.addIncrement(t, "/in")
			testenv.Must(t, s.st.WriteFile(t.Context(), "/in/b.avro", []byte("Obj\x01\x00"), false))
		}, "b.avro", []string{"a.avro", "b.avro"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOverwriteJob(t)
			s.beforeLock("/out", func() { tc.others(t, s) })
			out, err := Convert(t.Context(), s.r)
			switch {
			case tc.text == "" && (err != nil || out.Nothing || len(out.Manifest.Request.Inputs) != len(tc.want) || len(out.Manifest.Replaces) != 2):
				t.Errorf("%+v, %v", out, err)
			case tc.text != "" && tc.want != nil && failure.KindOf(err) == failure.Input:
				failuretest.Want(t, err, failure.Input, tc.text)
			case tc.text != "":
				failuretest.Want(t, err, failure.Foreign, tc.text)
			}
			s.wantInputs(t, "/out", tc.want...)
		})
	}
}

// TestSurveyAgainFindsOutput checks that a conversion finds the requested output that another
// run published, even if that output has inputs newer than the first survey, or the filter now
// leaves out all inputs.
func TestSurveyAgainFindsOutput(t *testing.T) {
	for name, others := range map[string]func(t *testing.T, s *memoryJob){
		"the same": func(*testing.T, *memoryJob) {},
		"one more": func(t *testing.T, s *memoryJob) { s.input(t, "/in/b.avro", 2, 3) },
	} {
		s := newOverwriteJob(t)
		s.beforeLock("/out", func() {
			others(t, s)
			r := s.r
			r.Resolve = storetest.ResolveTo(s.st)
			mustConvert(t, r)
		})
		if out := mustConvert(t, s.r); !out.Nothing || out.Manifest == nil {
			t.Errorf("%s: %+v", name, out)
		}
	}

	s := newMemoryJob(t)
	s.input(t, "/in/k=1/a.avro", 1, 3)
	p := &Partitions{Request: s.r, Reprocess: true}
	s.input(t, "/in/k=1/_READY", 1, 1)
	p.Filter = input.Filter{Marker: "_READY"}
	p.Output.RowGroupSize *= 2
	p.Resolve = storetest.ResolveTo(callBefore(s.st, "/out/k=1/"+manifest.WorkName, func() {
		r := s.r
		s.input(t, "/in/k=1/b.avro", 2, 3)
		r.Inputs, r.Dest = []string{"/in/k=1/a.avro", "/in/k=1/b.avro"}, "/out/k=1"
		testenv.Must(t, storetest.MkdirAll(t.Context(), s.st, "/out"))
		mustConvert(t, r)
		testenv.Must(t, s.st.Remove(t.Context(), "/in/k=1/_READY"))
	}))
	if out, err := p.Convert(t.Context(), "k=1"); err != nil || !out.Nothing {
		t.Errorf("while all inputs wait: %+v, %v", out, err)
	}
}

// TestSurveyAgainKeepsWork checks that the work of an unfinished run is kept if the second
// survey fails.
func TestSurveyAgainKeepsWork(t *testing.T) {
	s := newPlanned(t, true)
	s.r.Workers = 1
	r := s.r
	r.Resolve = storetest.ResolveTo(callBefore(s.st, "/out/"+manifest.WorkName, func() {
		other := s.other()
		other.Output.RowGroupSize *= 2
		mustConvert(t, other)
		s.kill(t, s.r, 140)
		testenv.Must(t, s.st.WriteFile(t.Context(), "/a.avro", []byte("Obj\x01\x00"), false))
	}))
	_, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "a.avro")
	s.writeInput(t, 1)
	if out := mustConvert(t, s.r); out.Resumed == 0 {
		t.Error("no task was resumed")
	}
	s.checkComplete(t)
}

// TestSubmitRefusesNewIncrement checks that Submit refuses to replace an increment that was
// published while its tasks ran. The next submission replaces that increment as well.
func TestSubmitRefusesNewIncrement(t *testing.T) {
	s := newOverwriteJob(t)
	s.e.after = func(err error) error {
		s.input(t, "/in/b.avro", 2, 3)
		s.addIncrement(t, "/in")
		return err
	}
	_, err := Submit(t.Context(), s.r, s.e)
	failuretest.Want(t, err, failure.Foreign, "got another output after plan", "increment-00000002-")
	s.wantInputs(t, "/out", "a.avro", "b.avro")
	s.e.after = nil
	if out := mustSubmit(t, s.r, s.e); out.Resumed != 0 || len(out.Manifest.Replaces) != 2 {
		t.Errorf("%+v", out)
	}
	s.wantInputs(t, "/out", "a.avro", "b.avro")
}

// TestSubmitResumesNoOutdatedPlan checks that Submit does not resume a plan if the destination
// has a new increment, although the inputs and the output are the same.
func TestSubmitResumesNoOutdatedPlan(t *testing.T) {
	s := newOverwriteJob(t)
	s.e.after = func(err error) error {
		s.input(t, "/more/b.avro", 2, 3)
		s.addIncrement(t, "/more")
		return failure.New(failure.Refused, "no queue")
	}
	_, err := Submit(t.Context(), s.r, s.e)
	failuretest.Want(t, err, failure.Refused)
	s.e.after = nil
	if out := mustSubmit(t, s.r, s.e); out.Resumed != 0 {
		t.Errorf("%d tasks were resumed", out.Resumed)
	}
	s.wantInputs(t, "/out", "a.avro")
}

// TestSubmitFindsInputsAgain checks that Submit surveys again if a run publishes while the
// leftovers of another run are removed.
func TestSubmitFindsInputsAgain(t *testing.T) {
	s := newOverwriteJob(t)
	for _, dir := range []string{"/out/" + manifest.WorkName, "/out/" + manifest.WorkName + "/0123456789abcdef"} {
		testenv.Must(t, s.st.Mkdir(t.Context(), dir))
	}
	s.beforeLock("/out", func() {
		s.input(t, "/in/b.avro", 2, 3)
		s.addIncrement(t, "/in")
	})
	mustSubmit(t, s.r, s.e)
	s.wantInputs(t, "/out", "a.avro", "b.avro")
}

// listHookStore is a onceHook that also calls its function after a directory was listed.
type listHookStore struct{ onceHook }

func (l listHookStore) List(ctx context.Context, p string) ([]store.Info, error) {
	infos, err := l.onceHook.List(ctx, p)
	l.trigger(p)
	return infos, err
}

// TestReprocessSurveysAgain checks that reprocessing finds an input that came after the inputs
// of the partition were found, and that an ordinary run published: during the survey, before
// the lock is taken, or while tasks run on an engine.
func TestReprocessSurveysAgain(t *testing.T) {
	for name, submits := range map[string]bool{"/in/k=1": false, "/out/k=1/" + manifest.WorkName: false, "": true} {
		s := newMemoryJob(t)
		testenv.Must(t, s.st.Mkdir(t.Context(), "/out"))
		s.input(t, "/in/k=1/a.avro", 1, 3)
		ordinary := &Partitions{Request: s.r}
		add := func() {
			if _, err := ordinary.Convert(t.Context(), "k=1"); err != nil {
				t.Error(err)
			}
		}
		add()
		s.input(t, "/in/k=1/b.avro", 2, 3)
		more := func() {
			s.input(t, "/in/k=1/c.avro", 3, 3)
			add()
		}
		p := &Partitions{Request: s.r, Reprocess: true}
		if submits {
			s.e.after = func(err error) error {
				if s.e.runs == 1 {
					more()
				}
				return err
			}
			p.Submit(t.Context(), []string{"k=1"}, s.e, func(_ string, _ *Outcome, err error) {
				if err != nil {
					t.Errorf("submit: %v", err)
				}
			})
		} else {
			p.Resolve = storetest.ResolveTo(listHookStore{callBefore(s.st, name, more)})
			if _, err := p.Convert(t.Context(), "k=1"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.wantInputs(t, "/out/k=1", "a.avro", "b.avro", "c.avro")
		if m := success(t, s.st, "/out/k=1"); len(m.Request.Inputs) != 3 {
			t.Errorf("%s: its inputs are %+v", name, m.Request.Inputs)
		}
	}
}
