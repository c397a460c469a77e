package publish

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestStagedPlans checks that plans are listed by the last change of their directories, and
// that links are not followed.
func TestStagedPlans(t *testing.T) {
	dir := t.TempDir()
	d := at(store.Local(), dir+"/dest")
	wantStaged := func(what string, want ...string) {
		t.Helper()
		if ids, err := d.StagedPlans(t.Context()); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: got %q (%v), want %q", what, ids, err, want)
		}
	}
	wantStaged("without a destination")
	p, q := planOf(t, "P"), planOf(t, "Q")
	first, second := stageInDir(t, d, p), stageInDir(t, d, q)
	now := time.Now()
	testenv.Must(t, os.Chtimes(first, now, now), os.Chtimes(second, now, now.Add(-time.Hour)))
	testenv.Must(t, os.Symlink(first, d.workDir()+"/plan-x"), os.WriteFile(d.workDir()+"/plan-y", nil, 0o666))
	wantStaged("the first is newer", p.ID, q.ID)
	testenv.Must(t, os.Chtimes(second, now, now.Add(time.Hour)))
	wantStaged("the second is newer", q.ID, p.ID)
	if got, err := d.StagedPlan(t.Context(), p.ID); err != nil || got == nil || got.ID != p.ID {
		t.Errorf("%+v, %v", got, err)
	}
	testenv.Must(t, os.Rename(d.workDir(), dir+"/elsewhere"), os.Symlink(dir+"/elsewhere", d.workDir()))
	wantStaged("a link in place of the work directory")
	testenv.Must(t, os.Remove(d.workDir()), os.WriteFile(d.workDir(), nil, 0o666))
	wantStaged("a file in place of the work directory")
}

// TestNoStagedPlan checks that no plan is found in other documents than that of the plan
// itself.
func TestNoStagedPlan(t *testing.T) {
	p, q := planOf(t, "P"), planOf(t, "Q")
	text, err := q.Encode()
	testenv.Must(t, err)
	for name, change := range map[string]func(file string) error{
		"none":      os.Remove,
		"no plan":   func(file string) error { return os.WriteFile(file, []byte("{"), 0o666) },
		"another's": func(file string) error { return os.WriteFile(file, text, 0o666) },
		"a link": func(file string) error {
			elsewhere := filepath.Join(t.TempDir(), "plan")
			return errors.Join(os.Rename(file, elsewhere), os.Symlink(elsewhere, file))
		},
		"a directory": func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o777)) },
	} {
		d := at(store.Local(), t.TempDir()+"/dest")
		file := filepath.Join(stageInDir(t, d, p), manifest.PlanName)
		testenv.Must(t, change(file))
		if got, err := d.StagedPlan(t.Context(), p.ID); err != nil || got != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestDestinationIsDanglingLink checks that a dangling link is refused at once, and not
// mistaken for a directory that other runs make and remove.
func TestDestinationIsDanglingLink(t *testing.T) {
	d := at(store.Local(), t.TempDir()+"/dest")
	testenv.Must(t, os.Symlink("nowhere", d.path))
	_, _, claimed := d.Claim(t.Context())
	_, _, staged := d.Staging(t.Context(), "p")
	for _, err := range []error{claimed, staged} {
		if !errors.Is(err, failure.Refused) || !strings.Contains(err.Error(), "a symbolic link to a directory that does not exist") {
			t.Error(err)
		}
	}
}
