package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Prefixes of names in the work directory.
const (
	planPrefix  = manifest.StagedPrefix
	trashPrefix = manifest.TrashPrefix
)

// Prefixes of names in a holder's directory. Each is followed by a number that is used once.
const (
	alive   = "alive"
	lock    = "lock"
	other   = "other"
	retired = "retired"
	old     = "old"
	pending = manifest.PendingName
)

const makeTries = 10

// Numbers of files that are renamed, and of increments that are read, at a time. There may be
// 100,000 of them, and each call waits for a name node, which answers several calls at a time. A
// local disk gains nothing from a larger number.
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

// lockEvery is the number of files that moveNth moves for each read of the lock.
const lockEvery = 16

// Destination is a directory that holds one output at a time, and its increments.
type Destination struct {
	st         store.Store
	origin     string // such as hdfs://host:8020; empty on local disk
	path       string
	times      Times
	movers     int
	moved      []manifest.Move
	keep       time.Duration
	increments *sync.Map // *increment by name: increments that were read and are sound; they never change
	now        func() time.Time
	sleep      func(ctx context.Context, d time.Duration) error
}

// Options are the options of a destination.
type Options struct {
	// Times are the times of the lock; zero fields take the defaults.
	Times Times
	// Movers is the number of files that are renamed at a time when an output changes.
	// 0 is 32, or 8 on local disk. With 1, the order of calls to the store is fixed.
	Movers int
	// Moved are trees of inputs that were moved after they were converted.
	Moved []manifest.Move
	// KeepReplaced is how long the files of an output and its increments stay after an output of
	// this process replaced them, by the clock of the storage. It is rounded up to seconds. 0
	// removes them at once.
	KeepReplaced time.Duration
	// Now and Sleep are the clock of a process that watches a lock. Only tests set them.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// At returns the destination at a place. The directory need not exist, but its parent must exist
// when the destination is claimed.
func At(place store.Location, o Options) *Destination {
	d := &Destination{st: place.Store, origin: place.Origin, path: place.Path, times: o.Times.withDefaults(), movers: cmp.Or(o.Movers, moversOf(place.Store)), moved: o.Moved, keep: o.KeepReplaced, increments: new(sync.Map), now: o.Now, sleep: o.Sleep}
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

// wrap adds the destination's path to an error without a kind. An error with a kind already names
// the destination.
func (d *Destination) wrap(err error) error {
	if err == nil || failure.HasKind(err) {
		return err
	}
	return fmt.Errorf("destination %s: %w", d.path, err)
}

// StagingPath returns the path of the directory in which tasks of a plan leave their work, on
// any machine.
func (d *Destination) StagingPath(planID string) string {
	return path.Join(d.workDir(), planPrefix+planID)
}

// StagedAt returns StagingPath. If there is a link or file in its place, the error is
// failure.Foreign. The directory need not exist.
func (d *Destination) StagedAt(ctx context.Context, planID string) (dir string, err error) {
	dir = d.StagingPath(planID)
	if err := d.checkStaging(ctx, dir); err != nil && !errors.Is(err, store.ErrNotExist) {
		return "", d.wrap(err)
	}
	return dir, nil
}

// Staging returns StagingPath, and makes the directory if it does not exist. made reports
// whether it made it.
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

// KeepPlan writes a plan next to the work of its tasks, unless the plan is there already. Status
// and the process that resumes the plan read it with StagedPlan.
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

// checkStaging returns failure.Foreign if a link or file is in the place of a staging directory.
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

// makesParent returns the command that makes the directory above the destination.
func (d *Destination) makesParent() string {
	command := "mkdir -p "
	if !store.CapabilitiesOf(d.st).Local {
		command = "hdfs dfs -mkdir -p "
	}
	return command + shellWord(d.origin+path.Dir(d.path))
}

// shellWord returns a text as one word of a shell.
func shellWord(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/:.,_-+=@", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// makeDestination makes the destination and its work directory, unless they exist, and
// reports whether it made the destination.
func (d *Destination) makeDestination(ctx context.Context) (made bool, err error) {
	made, err = d.makeShared(ctx, d.path)
	if errors.Is(err, store.ErrNoParent) {
		return false, failure.New(failure.Refused, "destination %s: its parent directory does not exist; make it first: %s", d.path, d.makesParent())
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

// makeWorkDir makes the work directory, unless it exists.
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

// entry describes a name in the destination, or the destination itself if name is empty. Unlike
// Stat, it finds a dangling link.
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

// rename moves a file or directory to a name that no other call uses.
func (d *Destination) rename(ctx context.Context, from, to string) error {
	return store.Move(ctx, d.st, from, to)
}

// makeShared makes a directory that other processes may make as well, at any time. If the
// directory exists, that is no error.
func (d *Destination) makeShared(ctx context.Context, dir string) (made bool, err error) {
	err = store.Retry(ctx, d.st, "make directory "+dir, func(ctx context.Context) error { return d.st.Mkdir(ctx, dir) })
	if errors.Is(err, store.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// makeUnique makes a directory with a new random name in the work directory, and returns the
// name. A failed attempt may still take effect, so the next one uses another name.
func (d *Destination) makeUnique(ctx context.Context) (name string, err error) {
	err = store.Retry(ctx, d.st, "make a directory in "+d.workDir(), func(ctx context.Context) error {
		if name != "" {
			_ = d.st.Remove(ctx, path.Join(d.workDir(), name)) // made late, perhaps; after an error the next holder removes it
		}
		name = manifest.NewID()
		return d.st.Mkdir(ctx, path.Join(d.workDir(), name))
	})
	return name, err
}

// remove renames a directory or file to a name in the trash, and removes it. If another process
// moved it away, that is no error.
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

// Inputs returns the inputs of outputs. The owner of each input is the name of its output.
func Inputs(outputs []Committed) *manifest.Known {
	known := manifest.NewKnown()
	for _, o := range outputs {
		for _, in := range o.Success.Request.Inputs {
			known.Add(o.Name, in)
		}
	}
	return known
}

// KnownInputs returns files that earlier surveys for this destination read whole. It returns
// none if it cannot read the document in which KeepInputs keeps them.
func (d *Destination) KnownInputs(ctx context.Context) *manifest.Known {
	info, err := d.entry(ctx, manifest.InputsName)
	if err != nil {
		return manifest.NewKnown()
	}
	//guard: does not follow a link to a foreign document
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

// KeepInputs records files that a survey read whole, for later surveys. It needs no lock: if two
// processes write the document, either content will do, and without it files are read again.
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
