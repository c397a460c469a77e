package publish

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// Status is the state of a destination and of the work in it, as far as it is known
// without its lock. All times except Lock.Since are by the clock of the storage.
type Status struct {
	*State
	// Lock is nil if the destination has no holder.
	Lock *Lock
	// Unfinished is the work of plans whose output is not published yet.
	Unfinished []Work
	// Debris are rowtocol's files that are of no use to any process.
	Debris []Leftover
	// Kept are replaced outputs and increments that stay for a time.
	Kept []Leftover
	// LeftAlone are files that would be debris if there were no foreign files. They may be of an
	// output whose manifest cannot be read, so they are not removed.
	LeftAlone []Leftover
	// Damage says why the output, or an increment, is not as its manifest says. It is empty if
	// all of them are sound.
	Damage string
	// Foreign are the names of what rowtocol did not write.
	Foreign []string
}

// Lock is the lock of a destination.
type Lock struct {
	Holder string    `json:"holder"` // ID of the holder; empty if the lock names none
	Host   string    `json:"host"`
	PID    int       `json:"pid"`
	Since  time.Time `json:"since,omitzero"`     // time of the lock by the holder's clock
	Seen   time.Time `json:"last_sign,omitzero"` // time of the holder's last sign of life
	// Dead is set if the holder is known to be gone: its process ran on this machine
	// and has ended, or its directory is gone.
	Dead bool `json:"dead"`

	holder holder
}

func (l *Lock) String() string { return l.holder.String() }

// Work is the work that was done so far for an output.
type Work struct {
	Leftover
	Holder string         `json:"holder,omitempty"` // ID of the process that is publishing the output; empty if there is none
	Held   bool           `json:"held"`             // whether that process has the lock and may live
	Plan   *manifest.Plan `json:"-"`                // nil if there is none that this program can carry out
	PlanID string         `json:"plan,omitempty"`
	Tasks  int            `json:"tasks_done"`           // number of tasks that have a result
	Rows   int64          `json:"rows"`                 // rows of these tasks
	Input  int64          `json:"input_bytes_done"`     // input bytes of these tasks
	Output string         `json:"publishing,omitempty"` // ID of the pending output; empty if there is none
	// Started is the last job that a run started for the tasks; nil if no run did.
	Started *task.Started `json:"-"`
}

// Leftover is a file or directory in a destination that is not part of its output.
type Leftover struct {
	Name    string    `json:"name"` // relative to the destination
	What    string    `json:"what"`
	Bytes   int64     `json:"bytes"`
	Changed time.Time `json:"changed"` // time when a file in the leftover was written last
	// Until is the time from which a holder removes a kept output, whose document is Name. It is
	// zero for other leftovers.
	Until time.Time `json:"-"`

	names int // number of files and directories
}

// Kinds of leftovers. Only planWork can be used again.
const (
	planWork          = "tasks of a plan"
	replacedIncrement = "increment of an output that was replaced"
	strayFile         = "file of no output"
	formerHolder      = "left by an earlier run"
	trash             = "remains of a removal"
	deadWork          = "tasks of a plan that was published, or is outdated"
	keptOutput        = "replaced output, whose files stay for readers"
	damagedKept       = "damaged document of a replaced output, which the next run removes with the files"
)

// statusTries is how often Status reads a destination whose lock changes hands.
const statusTries = 5

// Status reads the state of a destination and of the work in it. It changes nothing. It may or
// may not see a change that a holder makes meanwhile. If the destination does not exist, the
// error is failure.Input.
func (d *Destination) Status(ctx context.Context) (*Status, error) {
	if err := d.exists(ctx); err != nil {
		return nil, d.wrap(err)
	}
	for try := 1; ; try++ {
		before, err := d.readLock(ctx)
		if err != nil {
			return nil, d.wrap(err)
		}
		s, err := d.survey(ctx, before.lock())
		if err != nil {
			return nil, d.wrap(err)
		}
		after, err := d.readLock(ctx)
		if err != nil {
			return nil, d.wrap(err)
		}
		//guard: reads again if the holder changed meanwhile
		if before.free == after.free && before.holder.ID == after.holder.ID || try == statusTries {
			s.Lock = after.lock()
			return s, nil
		}
	}
}

// exists returns failure.Input if the destination does not exist.
func (d *Destination) exists(ctx context.Context) error {
	info, err := d.st.Stat(ctx, d.path)
	switch {
	//guard: reports a destination that does not exist
	case errors.Is(err, store.ErrNotExist):
		return failure.New(failure.Input, "destination %s does not exist", d.path)
	//guard: refuses a destination that is not a directory
	case err == nil && !info.Dir:
		return failure.New(failure.Usage, "destination %s is a file", d.path)
	}
	return err
}

// lock describes the lock that was read. It returns nil if there was none.
func (s *lockState) lock() *Lock {
	if s.free {
		return nil
	}
	h := s.holder
	return &Lock{Holder: h.ID, Host: h.Host, PID: h.PID, Since: h.Since, Seen: s.lastSign, Dead: s.gone || h.dead(), holder: h}
}

// survey reads everything in the destination. lock is the lock that it has, or nil.
func (d *Destination) survey(ctx context.Context, lock *Lock) (*Status, error) {
	state, err := d.ReadState(ctx)
	if err != nil {
		return nil, err
	}
	s := &Status{State: state, Damage: state.damage, Foreign: slices.Clone(state.foreign)}
	debris := slices.Concat(state.debris, state.uncounted)
	//guard: does not report files as debris that an output may need
	if state.pending || len(state.orphans) > 0 {
		debris = nil
	}
	for _, name := range debris {
		l, err := d.measureLeftover(ctx, name, strayFile)
		if errors.Is(err, store.ErrNotExist) {
			continue // it was moved away meanwhile
		}
		if err != nil {
			return nil, err
		}
		if _, _, ok := manifest.ParseIncrement(name); ok {
			l.What = replacedIncrement
		}
		//guard: does not report files as debris next to foreign ones
		if len(state.foreign) > 0 {
			s.LeftAlone = append(s.LeftAlone, l)
		} else {
			s.Debris = append(s.Debris, l)
		}
	}
	root, err := d.entry(ctx, manifest.WorkName)
	//guard: does not follow a link to a directory
	if errors.Is(err, store.ErrNotExist) || err == nil && root.Link {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Kept, err = d.readKept(ctx); err != nil {
		return nil, err
	}
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if err := d.surveyWorkDir(ctx, s, info, lock); err != nil {
			return nil, err
		}
	}
	isPending := make(map[string]bool)
	for _, w := range s.Unfinished {
		isPending[w.Name] = isPending[w.Name] || w.Output != ""
	}
	//guard: reports work of a pending output only once
	s.Unfinished = slices.DeleteFunc(s.Unfinished, func(w Work) bool { return w.Output == "" && isPending[w.Name] })
	return s, nil
}

// surveyWorkDir adds an entry of the work directory.
func (d *Destination) surveyWorkDir(ctx context.Context, s *Status, info store.Info, lock *Lock) error {
	name := path.Join(manifest.WorkName, info.Name)
	id, staged := stagedPlanID(info)
	_, kept := manifest.KeptID(info)
	switch {
	case staged && slices.Contains(s.dead, id):
		return d.addDebris(ctx, s, info, deadWork, nil)
	case staged:
		w, err := d.readWork(ctx, info.Path, id)
		s.Unfinished = append(s.Unfinished, w)
		return err
	//guard: reports links and files in place of staged work as foreign
	case strings.HasPrefix(info.Name, planPrefix):
		s.Foreign = append(s.Foreign, name+" (not a directory)")
	case kept: // see readKept
	case strings.HasPrefix(info.Name, trashPrefix), !info.Dir, info.Link:
		return d.addDebris(ctx, s, info, trash, nil)
	default:
		return d.surveyHolder(ctx, s, info, lock)
	}
	return nil
}

// surveyHolder adds the directory of a holder.
func (d *Destination) surveyHolder(ctx context.Context, s *Status, info store.Info, lock *Lock) error {
	var found contents
	if err := d.collect(ctx, info.Path, &found); err != nil {
		return err
	}
	held := lock != nil && lock.Holder == info.Name && !lock.Dead
	needed := make(map[string]bool) // directories from which pending outputs are published
	for _, p := range found.pending {
		dir := cmp.Or(found.workOf(p.Plan), d.StagingPath(p.Plan)) // the work may not be taken yet
		w, err := d.readWork(ctx, dir, p.Plan)
		if err != nil {
			return err
		}
		needed[dir] = true
		w.Holder, w.Held, w.Output = info.Name, held, p.ID
		s.Unfinished = append(s.Unfinished, w)
	}
	if held {
		return nil
	}
	if len(found.pending) == 0 {
		return d.addDebris(ctx, s, info, formerHolder, nil)
	}
	inside, err := d.list(ctx, info.Path)
	for _, i := range inside {
		// The rest is what the next holder needs.
		if what, _, _ := strings.Cut(i.Name, "-"); (what == old || what == other) && err == nil {
			err = d.addDebris(ctx, s, i, formerHolder, needed)
		}
	}
	return err
}

// addDebris adds a file or directory, except some directories in it.
func (d *Destination) addDebris(ctx context.Context, s *Status, info store.Info, what string, except map[string]bool) error {
	l := Leftover{Name: d.relative(info.Path), What: what}
	err := d.measure(ctx, &l, info, except)
	s.Debris = append(s.Debris, l)
	return err
}

// measureLeftover measures the file or directory with a name in the destination.
func (d *Destination) measureLeftover(ctx context.Context, name, what string) (Leftover, error) {
	l := Leftover{Name: name, What: what}
	info, err := d.entry(ctx, name)
	if err == nil {
		err = d.measure(ctx, &l, info, nil)
	}
	return l, err
}

// Leftovers returns the files that Clean removes once they are old enough. Pending outputs and
// files of a holder that may live are not among them.
func (s *Status) Leftovers() (all []Leftover) {
	for _, w := range s.Unfinished {
		if !w.Held && w.Output == "" {
			all = append(all, w.Leftover)
		}
	}
	return append(all, s.Debris...)
}

// Useful reports whether the work in a leftover can be used again. Clean keeps such work
// for a while.
func (l *Leftover) Useful() bool { return l.What == planWork }
