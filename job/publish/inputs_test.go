package publish

import (
	"os"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestKeepInputs checks that inputs that were kept can be read back. A link or a torn document
// is ignored.
func TestKeepInputs(t *testing.T) {
	dir := t.TempDir()
	d := At(store.Location{Store: store.Local(), Path: dir}, Options{})
	in := manifest.Input{Path: "/a", Size: 1, ModTime: time.Unix(1, 0).UTC(), CRC32C: new(uint32)}
	known := func() bool { return d.KnownInputs(t.Context()).Named(&in) != nil }
	if known() {
		t.Error("an input is known of an empty destination")
	}
	if err := d.KeepInputs(t.Context(), []manifest.Input{in}); err != nil || !known() {
		t.Errorf("the input is not known: %v", err)
	}
	if s, err := d.ReadState(t.Context()); err != nil || len(s.foreign) > 0 || s.Leftovers {
		t.Errorf("%+v, %v", s, err)
	}
	name := dir + "/" + manifest.InputsName
	testenv.Must(t, os.Rename(name, dir+"/.elsewhere"))
	testenv.Must(t, os.Symlink(".elsewhere", name))
	if known() {
		t.Error("a link is followed")
	}
	if s, err := d.ReadState(t.Context()); err != nil || len(s.foreign) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	testenv.Must(t, os.Remove(name))
	if err := os.WriteFile(name, []byte("{"), 0o666); err != nil || known() {
		t.Errorf("a torn document is read: %v", err)
	}
}

// TestInputsInAnIncrement checks that the document of inputs is rejected in an increment.
func TestInputsInAnIncrement(t *testing.T) {
	d, st := inMemory(t)
	publishOutput(t, d, st, "P")
	added := publishIncrement(t, d, "I")
	name := d.pathOf(manifest.IncrementName(added.Sequence, added.ID) + "/" + manifest.InputsName)
	testenv.Must(t, st.WriteFile(t.Context(), name, nil, true))
	if s := stateOf(t, At(store.Location{Store: st, Path: d.path}, Options{})); s.damage == "" && len(s.foreign) == 0 {
		t.Errorf("%+v", s)
	}
}
