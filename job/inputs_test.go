package job

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestLateResult replaces a result, with that of a task which read other bytes, after a
// commit checked the inputs and before it takes the work.
func TestLateResult(t *testing.T) {
	s := newPlanned(t, false)
	s.run(t)
	res := s.result(t, 0)
	late := *res
	late.Reads = []manifest.Read{{CRC32C: res.Reads[0].CRC32C + 1, ModTime: time.Unix(1, 0).UTC()}}
	doc, err := late.Encode()
	if err != nil {
		t.Fatal(err)
	}
	replaced := false
	st := &hooked{Store: s.st, rename: func(to string) error {
		if replaced || path.Base(to) != "plan-"+s.plan.ID || strings.HasPrefix(to, s.staging()) {
			return nil
		}
		replaced = true
		return s.st.WriteFile(t.Context(), path.Join(s.staging(), manifest.TaskName(0)), doc, false)
	}}
	_, err = Commit(t.Context(), s.plan, s.on(st))
	failuretest.Want(t, err, failure.Input, "changed during the job")
	if !replaced {
		t.Error("the work was not taken")
	}
}
