package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Names in DEST/.rowtocol.
const (
	planPrefix  = manifest.StagedPrefix
	trashPrefix = manifest.TrashPrefix
)

// Names in a holder's directory, each followed by a number that is used once.
const (
	alive   = "alive"
	lock    = "lock"
	other   = "other"
	retired = "retired"
	old     = "old"
	pending = manifest.PendingName
)

const makeTries = 10

// How many files of an output are renamed, and how many increments are read, at a time. Each
// waits for a name node, and there may be 100,000; a name node answers more than one
// client's calls at a time, and a local disk gains nothing from more.
const (
	localMovers = 8
	movers      = 32
)

func moversOf(st store.Store) int {
	if store.CapabilitiesOf(st).Local {
		return localMovers
	}
	return movers
}

// lockEvery is how many of many files are moved for one look at the lock.
const lockEvery = 16

// Destination is a directory that holds one output at a time, and its increments.
type Destination struct {
	st         store.Store
	origin     string // of the location; empty on local disk
	path       string
	times      Times
	movers     int
	moved      []manifest.Move
	increments *sync.Map // by name, *committed: those found sound, whose names are used once and which never change
	now        func() time.Time
	sleep      func(ctx context.Context, d time.Duration) error
}

// Options are what may be chosen about a destination.
type Options struct {
	// Times are the times of the lock; zero fields take the defaults.
	Times Times
	// Movers is how many files are renamed at a time when an output changes; 0
	// is 32, and 8 on local disk. With 1, calls to the store have one order.
	Movers int
	// Moved are trees of inputs that were moved after they were converted.
	Moved []manifest.Move
	// Now and Sleep are the clock by which a lock is watched; nil but in tests.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// At returns the destination at a place. It need not exist, but its parent must
// when it is claimed.
func At(place store.Location, o Options) *Destination {
	d := &Destination{st: place.Store, origin: place.Origin, path: place.Path, times: o.Times.withDefaults(), movers: cmp.Or(o.Movers, moversOf(place.Store)), moved: o.Moved, increments: new(sync.Map), now: o.Now, sleep: o.Sleep}
	if d.now == nil {
		d.now = time.Now
	}
	if d.sleep == nil {
		d.sleep = sleep
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

func (d *Destination) workDir() string { return path.Join(d.path, manifest.WorkName) }

func (d *Destination) pathOf(name string) string { return path.Join(d.path, name) }

// wrap names the destination that an error is about, unless it does.
func (d *Destination) wrap(err error) error {
	if err == nil || failure.Given(err) {
		return err
	}
	return fmt.Errorf("destination %s: %w", d.path, err)
}

// StagingPath is the directory in which tasks of a plan leave their work, wherever they
// run.
func (d *Destination) StagingPath(planID string) string {
	return path.Join(d.workDir(), planPrefix+planID)
}

// StagedAt returns StagingPath. What others put in the place of the directory is
// failure.Foreign; that there is none is no error.
func (d *Destination) StagedAt(ctx context.Context, planID string) (dir string, err error) {
	dir = d.StagingPath(planID)
	if err := d.checkStaging(ctx, dir); err != nil && !errors.Is(err, store.ErrNotExist) {
		return "", d.wrap(err)
	}
	return dir, nil
}

// Staging returns StagingPath, and makes the directory unless it is there. made reports
// whether it did.
func (d *Destination) Staging(ctx context.Context, planID string) (dir string, made bool, err error) {
	dir = d.StagingPath(planID)
	for try := 1; ; try++ {
		_, err := d.makeDestination(ctx)
		if err == nil {
			made, err = d.makeShared(ctx, dir)
		}
		if err == nil {
			err = d.checkStaging(ctx, dir)
		}
		if !errors.Is(err, store.ErrNoParent) && !errors.Is(err, store.ErrNotExist) || try == makeTries {
			return dir, made, err
		}
	}
}

// KeepPlan leaves a plan with the work of its tasks: status and the process that resumes it
// read it with StagedPlan.
func (d *Destination) KeepPlan(ctx context.Context, p *manifest.Plan) error {
	file := path.Join(d.StagingPath(p.ID), manifest.PlanName)
	if _, err := d.st.Stat(ctx, file); !errors.Is(err, store.ErrNotExist) {
		return err
	}
	doc, err := p.Encode()
	if err == nil {
		err = d.st.WriteFile(ctx, file, doc, true)
	}
	if errors.Is(err, store.ErrExist) {
		return nil // a task wrote it at the same time
	}
	return err
}

// checkStaging refuses what others put in the place of a directory for tasks.
func (d *Destination) checkStaging(ctx context.Context, dir string) error {
	info, err := d.entry(ctx, path.Join(manifest.WorkName, path.Base(dir)))
	//guard: rejects a link in place of the directory
	if err == nil && info.Link {
		return failure.New(failure.Foreign, "%s is a link", dir)
	}
	//guard: rejects a file in place of the directory
	if err == nil && !info.Dir {
		return failure.New(failure.Foreign, "%s is not a directory", dir)
	}
	return err
}

// makeDestination makes the destination and the directory of holders in it, and
// reports whether it made the destination.
func (d *Destination) makeDestination(ctx context.Context) (made bool, err error) {
	made, err = d.makeShared(ctx, d.path)
	if errors.Is(err, store.ErrNoParent) {
		return false, failure.New(failure.Refused, "destination %s: its parent directory does not exist", d.path)
	}
	if err == nil {
		err = d.makeWorkDir(ctx)
	}
	if errors.Is(err, store.ErrNoParent) {
		//guard: rejects a dangling link
		if info, _ := d.entry(ctx, ""); info.Link && !info.Dir {
			return false, failure.New(failure.Refused, "destination %s is a symbolic link to a directory that does not exist", d.path)
		}
	}
	return made, err
}

// makeWorkDir makes the directory of holders.
func (d *Destination) makeWorkDir(ctx context.Context) error {
	made, err := d.makeShared(ctx, d.workDir())
	if made || err != nil {
		return err
	}
	info, err := d.entry(ctx, manifest.WorkName)
	if err != nil {
		return err
	}
	//guard: does not follow a link to a directory
	if info.Link || !info.Dir {
		return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s", d.path, manifest.WorkName)
	}
	return nil
}

// entry describes a name in the destination, or the destination itself if name is empty, also if it is a link that leads
// nowhere; store.ErrNotExist if it is not there.
func (d *Destination) entry(ctx context.Context, name string) (store.Info, error) {
	info, err := d.st.Stat(ctx, d.pathOf(name))
	if !errors.Is(err, store.ErrNotExist) {
		return info, err
	}
	infos, err := d.st.List(ctx, path.Dir(d.pathOf(name)))
	if err != nil {
		return store.Info{}, err
	}
	i := slices.IndexFunc(infos, func(i store.Info) bool { return i.Name == path.Base(d.pathOf(name)) })
	if i < 0 {
		return store.Info{}, fmt.Errorf("%s in %s: %w", name, d.path, store.ErrNotExist)
	}
	return infos[i], nil
}

// rename moves a file or directory to a name that is used once.
func (d *Destination) rename(ctx context.Context, from, to string) error {
	return store.Move(ctx, d.st, from, to)
}

// makeShared makes a directory that several processes may make, early or late:
// that it exists is no error.
func (d *Destination) makeShared(ctx context.Context, dir string) (made bool, err error) {
	err = store.Retry(ctx, d.st, "make directory "+dir, func(ctx context.Context) error { return d.st.Mkdir(ctx, dir) })
	if errors.Is(err, store.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// makeUnique makes a directory that nobody else makes or has made, and returns its
// name in the root. A try that failed may still land: the next has another name.
func (d *Destination) makeUnique(ctx context.Context) (name string, err error) {
	err = store.Retry(ctx, d.st, "make a directory in "+d.workDir(), func(ctx context.Context) error {
		if name != "" {
			_ = d.st.Remove(ctx, path.Join(d.workDir(), name)) // if it did land; else the next holder removes it
		}
		name = manifest.NewID()
		return d.st.Mkdir(ctx, path.Join(d.workDir(), name))
	})
	return name, err
}

// remove removes a directory or file of ours for good, under a name that nobody reads. It is
// no error if others moved it away.
func (d *Destination) remove(ctx context.Context, dir string) error {
	trash := path.Join(d.workDir(), trashPrefix+manifest.NewID())
	err := d.rename(ctx, dir, trash)
	if errors.Is(err, store.ErrNotExist) || errors.Is(err, store.ErrNoParent) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.st.RemoveAll(ctx, trash)
}

// Inputs are the inputs of outputs, each of which owns its own by its name.
func Inputs(outputs []Committed) *manifest.Known {
	known := manifest.NewKnown()
	for _, o := range outputs {
		for _, in := range o.Success.Request.Inputs {
			known.Add(o.Name, in)
		}
	}
	return known
}

// KnownInputs are files that earlier surveys for this destination read whole. What
// cannot be read is not known.
func (d *Destination) KnownInputs(ctx context.Context) *manifest.Known {
	info, err := d.entry(ctx, manifest.InputsName)
	if err != nil {
		return manifest.NewKnown()
	}
	//guard: does not follow a link to a document of others
	if info.Link {
		return manifest.NewKnown()
	}
	text, err := d.st.ReadFile(ctx, info.Path, manifest.MaxSize)
	if err != nil {
		return manifest.NewKnown()
	}
	doc, err := manifest.DecodeInputs(text)
	if err != nil {
		return manifest.NewKnown()
	}
	return manifest.NewKnown(doc.Inputs...)
}

// KeepInputs keeps files that a survey read whole for later ones. It needs no lock: of
// two documents either will do, and without one files are read again.
func (d *Destination) KeepInputs(ctx context.Context, inputs []manifest.Input) error {
	doc := manifest.Inputs{Version: manifest.Version, Inputs: inputs}
	text, err := doc.Encode()
	if err != nil {
		return err
	}
	err = d.st.WriteFile(ctx, d.pathOf(manifest.InputsName), text, false)
	if errors.Is(err, store.ErrNoParent) || errors.Is(err, store.ErrNotExist) {
		return nil // a destination that does not exist keeps nothing
	}
	return err
}
