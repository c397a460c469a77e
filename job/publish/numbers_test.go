package publish

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// markers returns the names of the markers in the destination.
func markers(t *testing.T, st store.Store, d *Destination) string {
	t.Helper()
	return strings.Join(slices.DeleteFunc(strings.Fields(namesBelow(t, st, d.path)), func(name string) bool {
		return !strings.HasPrefix(name, "_increments")
	}), " ")
}

func mustRename(t *testing.T, st store.Store, from, to string) {
	t.Helper()
	testenv.Must(t, st.Rename(t.Context(), from, to))
}

// TestNumberIsGivenOnce checks that no number is given twice if the increment with the highest
// number is moved away and back.
func TestNumberIsGivenOnce(t *testing.T) {
	for _, base := range []bool{false, true} {
		d, st := inMemory(t)
		if base {
			publishOutput(t, d, st, "P")
		}
		for _, name := range []string{"I", "J"} {
			publishIncrement(t, d, name)
		}
		last := publishIncrement(t, d, "K")
		mustRename(t, st, dirOf(d, last), "/parent/kept")
		if next := publishIncrement(t, d, "L"); next.Sequence != last.Sequence+1 {
			t.Errorf("got number %d after %d", next.Sequence, last.Sequence)
		}
		mustRename(t, st, "/parent/kept", dirOf(d, last))
		s, all := stateAndIncrements(t, d)
		if all != "I J K L" || s.CheckIncrement() != nil || s.Leftovers {
			t.Errorf("got increments %s, leftovers %v: %v", all, s.Leftovers, s.CheckIncrement())
		}
		if want := manifest.NumberName(last.Sequence + 1); markers(t, st, d) != want {
			t.Errorf("got markers %s, want %s", markers(t, st, d), want)
		}
	}
}

// TestIncrementsWithOneNumber checks that two increments with the same number, which only a
// person can make, both count.
func TestIncrementsWithOneNumber(t *testing.T) {
	d, st := inMemory(t)
	first := publishIncrement(t, d, "I")
	mustRename(t, st, dirOf(d, first), "/parent/kept")
	testenv.Must(t, st.Remove(t.Context(), d.pathOf(markers(t, st, d))))
	second := publishIncrement(t, d, "J")
	mustRename(t, st, "/parent/kept", dirOf(d, first))
	want := "I J"
	if second.ID < first.ID {
		want = "J I"
	}
	if s, all := stateAndIncrements(t, d); first.Sequence != second.Sequence || all != want || s.CheckIncrement() != nil {
		t.Errorf("got increments %s, want %s: %v", all, want, s.CheckIncrement())
	}
}

// TestKilledBetweenMarkers checks that the number of an increment is not given again, and that
// one marker is left, if the run that publishes the increment is killed before any of its
// renames.
func TestKilledBetweenMarkers(t *testing.T) {
	two := false
	for n, ended := 1, false; !ended; n++ {
		d, st := inMemory(t)
		publishIncrement(t, d, "H")
		ended = publishUntilKilled(t, d, stageIncrement, "I", n) != nil
		there := markers(t, st, d)
		two = two || strings.Contains(there, " ")
		if _, all := stateAndIncrements(t, d); strings.Contains(all, "I") && !strings.Contains(there, manifest.NumberName(2)) {
			t.Errorf("killed before rename %d: got increments %s with markers %q", n, all, there)
		}
		next, _ := mustClaim(t, at(st, d.path))
		mustRelease(t, next)
		s, all := stateAndIncrements(t, d)
		if got := markers(t, st, d); got != manifest.NumberName(2) || all != "H I" || s.Leftovers {
			t.Errorf("killed before rename %d, and completed: got increments %s with markers %q, leftovers %v", n, all, got, s.Leftovers)
			continue
		}
		mustRename(t, st, dirOf(d, s.Increments[1].Success), "/parent/kept")
		if got := publishIncrement(t, d, "J").Sequence; got != 3 {
			t.Errorf("killed before rename %d: got number %d, want 3", n, got)
		}
	}
	if !two {
		t.Error("no run was killed between two markers")
	}
}

// TestMarkers checks the next number of an increment if other files are in place of the
// marker.
func TestMarkers(t *testing.T) {
	for name, tc := range map[string]struct {
		file, dir string // name of a file or directory in place of the marker
		next      int64  // next number; 0 if the destination is refused
	}{
		"none":             {next: 2},
		"higher":           {file: "_increments-00000041", next: 42},
		"lower":            {file: "_increments-00000000", next: 0},
		"more digits":      {file: "_increments-000000041", next: 0},
		"fewer digits":     {file: "_increments-41", next: 0},
		"not a number":     {file: "_increments-0000004a", next: 0},
		"a directory":      {dir: "_increments-00000041", next: 0},
		"the last but one": {file: "_increments-99999998", next: 99999999},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			publishIncrement(t, d, "I")
			if name == "none" {
				testenv.Must(t, st.Remove(t.Context(), d.pathOf(markers(t, st, d))))
			}
			if tc.file != "" {
				testenv.Must(t, st.WriteFile(t.Context(), d.pathOf(tc.file), nil, true))
			}
			if tc.dir != "" {
				mkdirAll(t, st, d.pathOf(tc.dir))
			}
			if tc.next == 0 {
				s, _ := stateAndIncrements(t, d)
				failuretest.Want(t, s.CheckIncrement(), failure.Foreign, tc.file+tc.dir)
				return
			}
			if got := publishIncrement(t, d, "J"); got.Sequence != tc.next {
				t.Errorf("got number %d, want %d", got.Sequence, tc.next)
			}
			if got, want := markers(t, st, d), manifest.NumberName(tc.next); got != want {
				t.Errorf("got markers %q, want %q", got, want)
			}
		})
	}
}

// TestLinkInPlaceOfMarker checks that a link in place of a marker is refused.
func TestLinkInPlaceOfMarker(t *testing.T) {
	d, _ := onDisk(t)
	testenv.Must(t, os.Symlink("_SUCCESS", d.pathOf("_increments-00000041")))
	s, _ := stateAndIncrements(t, d)
	failuretest.Want(t, s.CheckIncrement(), failure.Foreign, "_increments-00000041 (a link)")
}

// TestMarkerInIncrement checks that a marker in the directory of an increment is refused.
func TestMarkerInIncrement(t *testing.T) {
	d, st := inMemory(t)
	s := publishIncrement(t, d, "I")
	testenv.Must(t, st.WriteFile(t.Context(), path.Join(dirOf(d, s), "_increments-00000041"), nil, true))
	now, _ := stateAndIncrements(t, at(st, d.path))
	failuretest.Want(t, now.CheckIncrement(), failure.Foreign, "/_increments-00000041")
}

// TestLastNumber checks that a destination that gave its last number is refused before any
// work is done.
func TestLastNumber(t *testing.T) {
	d, st := inMemory(t)
	publishIncrement(t, d, "I")
	testenv.Must(t, st.WriteFile(t.Context(), d.pathOf(manifest.NumberName(manifest.MaxSequence)), nil, true))
	s, all := stateAndIncrements(t, d)
	if all != "I" {
		t.Errorf("got increments %q, want I", all)
	}
	for _, err := range []error{s.CheckIncrement(), s.CheckReplaceable(requestOf("P"), true)} {
		failuretest.Want(t, err, failure.Foreign, "no number left", fmt.Sprint(manifest.MaxSequence))
	}
}

// TestOutputTakesTheMarker checks that an output that replaces increments has a higher number
// than they have, and removes the marker.
func TestOutputTakesTheMarker(t *testing.T) {
	d, st := inMemory(t)
	publishIncrement(t, d, "I")
	last := publishIncrement(t, d, "J")
	mustRename(t, st, dirOf(d, last), "/parent/kept")
	if out := publishOutput(t, d, st, "P"); out.Sequence != 3 {
		t.Errorf("got number %d, want 3", out.Sequence)
	}
	wantOnlyOutput(t, st, d.path)
	mustRename(t, st, "/parent/kept", dirOf(d, last))
	if s, all := stateAndIncrements(t, d); all != "" || len(s.uncounted) != 1 || s.CheckIncrement() != nil {
		t.Errorf("got increments %q and uncounted %q: %v", all, s.uncounted, s.CheckIncrement())
	}
}
