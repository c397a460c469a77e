package task

import (
	"compress/flate"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// TestKinds checks that the kind of an error can be read back from its document.
func TestKinds(t *testing.T) {
	for name, err := range map[string]error{
		"usage":    failure.New(failure.Usage, "x"),
		"conflict": failure.New(failure.Foreign, "x"),
		"input":    failure.New(failure.Input, "x"),
		"refused":  fmt.Errorf("x: %w", store.ErrQuota),
		"storage":  fmt.Errorf("x: %w", store.ErrUnavailable),
		"defect":   errors.New("x"),
	} {
		got := NewFailed(err).Kind
		f := Failed{Kind: got, Message: err.Error(), Attempt: "attempt_1_2_m_3_4", Host: "node7", Task: 5}
		if got != name || failure.KindOf(f.Err("plan")) != failure.KindOf(err) {
			t.Errorf("%v has the kind %s in the document, and then %v", err, got, failure.KindOf(f.Err("plan")))
		}
		if lasting := name != "storage"; f.Permanent() != lasting {
			t.Errorf("%s: Lasting is %v", name, f.Permanent())
		}
		if of := (*Failure)(nil); !errors.As(f.Err("plan"), &of) || of.Plan != "plan" || of.Task != 5 ||
			of.Error() != err.Error()+" (attempt_1_2_m_3_4 on node7)" {
			t.Errorf("%s: %v of %+v", name, f.Err("plan"), of)
		}
	}
	for _, name := range []string{"locked", "different", "losses", "unheard of"} {
		f := Failed{Kind: name, Message: "x"}
		if err := f.Err("plan"); failure.KindOf(err) != nil || !f.Permanent() {
			t.Errorf("%s, a kind that no task has, becomes %v", name, failure.KindOf(err))
		}
	}
	f := Failed{Kind: "input", Message: "no task", Task: -1}
	if err := f.Err("plan"); errors.As(err, new(*Failure)) || !errors.Is(err, failure.Input) {
		t.Errorf("without a task: %v", err)
	}
}

func TestWeightiest(t *testing.T) {
	if got := MostSevere(nil); got != nil {
		t.Errorf("without documents: %+v", got)
	}
	all := []Failed{{Kind: "storage", Task: 0}, {Kind: "input", Task: 3}, {Kind: "input", Task: 1, Attempt: "b"}, {Kind: "input", Task: 1, Attempt: "a"}, {Kind: "refused"}}
	if got := MostSevere(all); *got != all[3] {
		t.Errorf("got %+v", got)
	}
	all = append(all, Failed{Kind: "defect", Task: 9})
	if got := MostSevere(all); *got != all[5] {
		t.Errorf("got %+v", got)
	}
}

// TestLongFailure checks that the document of an error with a very long message can be read.
func TestLongFailure(t *testing.T) {
	st, long := memstore.New().Client(), strings.Repeat("<\x01é", maxFailed)
	f := NewFailed(&damage.Error{File: long, Column: long, Path: long, Reason: long})
	f.Run = "mine"
	testenv.Must(t, f.Write(t.Context(), st, "/"))
	if all, err := ReadFailures(t.Context(), st, "/", "mine"); err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Message, "<\x01é<") {
		t.Errorf("%d documents, %v", len(all), err)
	}
}

// TestFailureWithCause checks that the document of damage with a cause can be read.
func TestFailureWithCause(t *testing.T) {
	for _, cause := range []error{errors.New("cause"), flate.CorruptInputError(12)} {
		st := memstore.New().Client()
		f := NewFailed(failure.As(failure.Input, &damage.Error{File: "a", Offset: 7, Reason: "it does not decompress", Err: cause}))
		f.Run = "mine"
		testenv.Must(t, f.Write(t.Context(), st, "/"))
		all, err := ReadFailures(t.Context(), st, "/", "mine")
		if err != nil || len(all) != 1 {
			t.Fatalf("%d documents, %v", len(all), err)
		}
		var d *damage.Error
		if err := all[0].Cause(); !errors.Is(err, failure.Input) || !errors.As(err, &d) || d.Offset != 7 {
			t.Errorf("%v", err)
		}
	}
}

// TestReadFailures checks that the documents of a run are found among those of other runs and
// other files.
func TestReadFailures(t *testing.T) {
	st := memstore.New().Client()
	testenv.Must(t, st.Mkdir(t.Context(), "/d"))
	var want []string
	for i := range 5 {
		f := Failed{Version: 1, Run: "mine", Attempt: fmt.Sprint(i), Task: i - 1, Kind: "input"}
		switch i {
		case 3:
			f.Run = "other"
		case 4:
			f.Version = 2
		default:
			want = append(want, f.Attempt)
		}
		testenv.Must(t, f.Write(t.Context(), st, "/d"))
	}
	for name, text := range map[string]string{
		"failed-00001-x.json": "{", "failed-00002-x.json": strings.Repeat(" ", maxFailed+1), "task-00001.json": `{"version":1,"run":"mine"}`, "failed-00001.tmp": `{"version":1,"run":"mine"}`,
	} {
		testenv.Must(t, st.WriteFile(t.Context(), "/d/"+name, []byte(text), true))
	}
	all, err := ReadFailures(t.Context(), st, "/d", "mine")
	testenv.Must(t, err)
	var got []string
	for _, f := range all {
		got = append(got, f.Attempt)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("documents of attempts %v, want %v", got, want)
	}
	if _, err := ReadFailures(t.Context(), st, "/none", "mine"); !errors.Is(err, store.ErrNotExist) {
		t.Errorf("in a directory that is gone: %v", err)
	}
}
