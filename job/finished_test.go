package job

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// partPath returns the path of a file of an output.
func partPath(t *testing.T, dest string, number int) string {
	t.Helper()
	return filepath.Join(dest, success(t, store.Local(), dest).Files()[number].Name)
}

func TestOverwrite(t *testing.T) {
	r, before := newJob(t)
	in := filepath.Join(r.Inputs[0], "a.avro")
	mustConvert(t, r)

	writeInput(t, in, 2, 10)
	_, err := Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Foreign, "a.avro changed", "--overwrite")
	wantContents(t, store.Local(), r.Dest, before)

	r.Overwrite = true
	if out := mustConvert(t, r); out.Nothing || out.Manifest.Sequence != 2 {
		t.Errorf("outcome %+v", out)
	}
	other := r
	other.Dest += ".other"
	want := reference(t, store.Local(), other)
	wantContents(t, store.Local(), r.Dest, want)

	// A part with another length is noticed, and made again with Overwrite.
	changed := partPath(t, r.Dest, 0)
	testenv.Must(t, os.Truncate(changed, 7))
	r.Overwrite = false
	_, err = Convert(t.Context(), r)
	failuretest.Want(t, err, failure.Foreign, filepath.Base(changed)+" has 7 bytes")
	r.Overwrite = true
	mustConvert(t, r)
	wantContents(t, store.Local(), r.Dest, want)

	// A changed part with the same length is not noticed, but Restart makes it again.
	changed = partPath(t, r.Dest, 0)
	info, err := os.Stat(changed)
	testenv.Must(t, err)
	write(t, changed, make([]byte, info.Size()))
	r.Restart = true
	_, state, err := Survey(t.Context(), r)
	testenv.Must(t, err)
	if p, err := Foresee(t.Context(), r, &publish.Status{State: state}); err != nil || p.Does != PlanAnew {
		t.Errorf("Foresee returned %+v, %v", p, err)
	}
	if out := mustConvert(t, r); out.Nothing {
		t.Errorf("outcome %+v", out)
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestFinishedElsewhere checks that an output counts as finished with any memory, workers,
// program and options that do not affect it.
func TestFinishedElsewhere(t *testing.T) {
	r, want := newJob(t)
	mustConvert(t, r)
	for name, change := range map[string]func(*Request){
		"memory":       func(r *Request) { r.Memory = budget.New(1 << 30) },
		"small memory": func(r *Request) { r.Memory = budget.New(smallMemory) },
		"workers":      func(r *Request) { r.Workers = 5 },
		"program":      func(r *Request) { r.Program = "newer" },
		"overwrite":    func(r *Request) { r.Overwrite = true },
		"restart":      func(r *Request) { r.Restart = true },
		"defaults":     func(r *Request) { r.Output.OnDamage, r.Output.MaxInputBlock = "fail", 512<<20 },
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			change(&r)
			if out := mustConvert(t, r); !out.Nothing || out.Plan != nil || out.Manifest.Rows != 6000 {
				t.Errorf("outcome %+v", out)
			}
		})
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestAnotherRequest checks that the error names the difference from the request of the
// output.
func TestAnotherRequest(t *testing.T) {
	r, want := newJob(t)
	mustConvert(t, r)
	in := r.Inputs[0]
	more := filepath.Join(t.TempDir(), "b.avro")
	writeInput(t, more, 2, 1)
	for name, tc := range map[string]struct {
		change func(*Request)
		texts  []string
	}{
		"added":    {func(r *Request) { r.Inputs = []string{in, more} }, []string{"input " + more + " was added"}},
		"removed":  {func(r *Request) { r.Inputs = []string{more} }, []string{"a.avro is not named", "was added"}},
		"option":   {func(r *Request) { r.Output.RowGroupSize = 32 << 10 }, []string{"--row-group-size was 16KiB and is 32KiB"}},
		"format's": {func(r *Request) { r.Output.FormatOptions = json.RawMessage(`{"codec":"snappy","checksum":"crc32"}`) }, []string{`--codec was null and is snappy`}},
		"schema":   {func(r *Request) { r.Schema = avrotest.Schema }, []string{"a schema is given"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			tc.change(&r)
			_, err := Convert(t.Context(), r)
			failuretest.Want(t, err, failure.Foreign, append(tc.texts, "another request", "--overwrite")...)
		})
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestUnreadableSuccess checks that a conversion refuses a foreign or damaged _SUCCESS, even
// with Overwrite.
func TestUnreadableSuccess(t *testing.T) {
	r, _ := newJob(t)
	mustConvert(t, r)
	file := filepath.Join(r.Dest, manifest.SuccessName)
	whole, err := os.ReadFile(file)
	testenv.Must(t, err)
	before := fileNames(t, store.Local(), r.Dest)
	for name, content := range map[string]string{
		"empty":     "",
		"truncated": string(whole[:len(whole)/2]),
		"binary":    "\x00\x01\xfe\xff",
		"other":     `{"stats": []}`,
		"newer":     string(manifesttest.Seal(bytes.Replace(whole, []byte(`"version": 2`), []byte(`"version": 3`), 1))),
	} {
		for _, overwrite := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", overwrite), func(t *testing.T) {
				write(t, file, []byte(content))
				r := r
				r.Overwrite = overwrite
				_, err := Convert(t.Context(), r)
				failuretest.Want(t, err, failure.Foreign, manifest.SuccessName, "not a manifest of rowtocol", "move it away")
				if got := fileNames(t, store.Local(), r.Dest); !slices.Equal(got, before) {
					t.Errorf("the destination has %q, want %q", got, before)
				}
			})
		}
	}
}

// TestOutputOfAnotherJob checks that a conversion notices the output of another job after it
// got the lock.
func TestOutputOfAnotherJob(t *testing.T) {
	r, want := newJob(t)
	other := r
	other.Output.RowGroupSize *= 2
	late := r
	late.Resolve = storetest.ResolveTo(callBefore(store.Local(), path.Join(r.Dest, manifest.WorkName), func() { mustConvert(t, other) }))
	_, err := Convert(t.Context(), late)
	failuretest.Want(t, err, failure.Foreign, "another request", "--row-group-size")

	r.Dest += ".same"
	late = r
	late.Resolve = storetest.ResolveTo(callBefore(store.Local(), path.Join(r.Dest, manifest.WorkName), func() { mustConvert(t, r) }))
	if out := mustConvert(t, late); !out.Nothing || out.Manifest == nil {
		t.Errorf("outcome %+v", out)
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestForeignFile checks that a conversion refuses a foreign file and keeps the work of an
// unfinished run.
func TestForeignFile(t *testing.T) {
	r, want := newJob(t)
	done := interrupt(t, r, 3)
	notes := filepath.Join(r.Dest, "notes.txt")
	late := r
	late.Resolve = storetest.ResolveTo(callBefore(store.Local(), path.Join(r.Dest, manifest.WorkName), func() { write(t, notes, nil) }))
	_, err := Convert(t.Context(), late)
	failuretest.Want(t, err, failure.Foreign, "notes.txt")
	testenv.Must(t, os.Remove(notes))
	if out := mustConvert(t, r); out.Resumed != len(done) {
		t.Errorf("resumed %d of %d", out.Resumed, len(done))
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestFinishedKeepsUnfinishedRun checks that a conversion whose output is finished keeps the
// unfinished run of another request, which can be resumed.
func TestFinishedKeepsUnfinishedRun(t *testing.T) {
	r, _ := newJob(t)
	mustConvert(t, r)
	other := r
	other.Output.RowGroupSize *= 2
	other.Overwrite = true
	want := reference(t, store.Local(), other)
	done := interrupt(t, other, 2)
	before := fileNames(t, store.Local(), r.Dest)
	late := r
	late.Resolve = storetest.ResolveTo(unchangedStore{store.Local(), t})
	if out := mustConvert(t, late); !out.Nothing || len(out.Warnings) > 0 {
		t.Errorf("outcome %+v", out)
	}
	if after := fileNames(t, store.Local(), r.Dest); !slices.Equal(after, before) {
		t.Errorf("the destination has %q, want %q", after, before)
	}
	if out := mustConvert(t, other); out.Resumed != len(done) {
		t.Errorf("resumed %d of %d", out.Resumed, len(done))
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestFinishedMeanwhileKeepsOthers checks that a conversion whose output is finished before it
// gets the lock keeps the unfinished run of another request that began meanwhile.
func TestFinishedMeanwhileKeepsOthers(t *testing.T) {
	for name, do := range map[string]func(r Request, p *manifest.Plan) (*Outcome, error){
		"convert": func(r Request, _ *manifest.Plan) (*Outcome, error) { return Convert(t.Context(), r) },
		"commit":  func(r Request, p *manifest.Plan) (*Outcome, error) { return Commit(t.Context(), p, r.Options) },
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newJob(t)
			other := r
			other.Output.RowGroupSize *= 2
			other.Overwrite = true
			p := newPlan(t, r)
			var done []string
			late := r
			late.Resolve = storetest.ResolveTo(callBefore(store.Local(), path.Join(r.Dest, manifest.WorkName), func() {
				mustConvert(t, r)
				done = interrupt(t, other, 2)
			}))
			if out, err := do(late, p); err != nil || !out.Nothing {
				t.Fatalf("outcome %+v, %v", out, err)
			}
			if out := mustConvert(t, other); len(done) == 0 || out.Resumed != len(done) {
				t.Errorf("resumed %d of %d", out.Resumed, len(done))
			}
		})
	}
}

// unchangedStore reports a test failure if a directory is made or a file is renamed.
type unchangedStore struct {
	store.Store
	t *testing.T
}

func (u unchangedStore) Mkdir(ctx context.Context, p string) error {
	u.t.Errorf("%s is made", p)
	return u.Store.Mkdir(ctx, p)
}

func (u unchangedStore) Rename(ctx context.Context, from, to string) error {
	u.t.Errorf("%s is renamed to %s", from, to)
	return u.Store.Rename(ctx, from, to)
}

// TestLostDestination checks that a job ends if it loses the lock of its destination.
func TestLostDestination(t *testing.T) {
	r, want := newJob(t)
	r.Destination.Times.Heartbeat = time.Millisecond
	late := r
	late.Workers = 1
	late.Resolve = storetest.ResolveTo(localStore{lockLosingStore{store.Local()}})
	_, err := Convert(t.Context(), late)
	failuretest.Want(t, err, failure.Locked, "the lock was taken over")
	mustConvert(t, r)
	wantContents(t, store.Local(), r.Dest, want)
}
