package publish

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// pendingOutput is an output that is being published, with the file of its manifest.
type pendingOutput struct {
	path string
	*manifest.Pending
}

// retiredOutput is an output that was replaced, with the file of its manifest.
type retiredOutput struct {
	path string
	*manifest.Success
}

// contents are the outputs and the work in directories of holders.
type contents struct {
	pending []*pendingOutput
	retired []*retiredOutput
	taken   []string // directories with the work of plans
}

// sequence returns the highest Sequence of these outputs, or 0.
func (c *contents) sequence() (highest int64) {
	for _, p := range c.pending {
		highest = max(highest, p.Sequence)
	}
	for _, r := range c.retired {
		highest = max(highest, r.Sequence)
	}
	return highest
}

// workOf returns the directory of a plan's work if that was taken, otherwise an empty string.
func (c *contents) workOf(plan string) string {
	for _, dir := range c.taken {
		if takenPlanID(dir) == plan {
			return dir
		}
	}
	return ""
}

// takenPlanID returns the ID of the plan whose work is in a directory that was taken.
func takenPlanID(dir string) string {
	name := strings.TrimPrefix(path.Base(dir), planPrefix)
	id, _, _ := strings.Cut(name, "-")
	return id
}

// collect finds manifests and taken work in a directory and below it. It ignores links, documents
// that do not decode, and files that holders move away meanwhile.
func (d *Destination) collect(ctx context.Context, dir string, to *contents) error {
	infos, err := d.list(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range infos {
		switch {
		//guard: does not follow a link to foreign documents
		case info.Link:
		//guard: ignores the trash
		case strings.HasPrefix(info.Name, trashPrefix):
		//guard: ignores the files of a replaced part
		case strings.HasPrefix(info.Name, old+"-"):
		case strings.HasPrefix(info.Name, planPrefix) && info.Dir:
			to.taken = append(to.taken, info.Path)
		case info.Dir:
			err = d.collect(ctx, info.Path, to)
		case strings.HasPrefix(info.Name, pending+"-"):
			var p *manifest.Pending
			if p, err = readAs(ctx, d, info.Path, manifest.DecodePending); p != nil {
				to.pending = append(to.pending, &pendingOutput{info.Path, p})
			}
		case strings.HasPrefix(info.Name, retired+"-"):
			var s *manifest.Success
			if s, err = readAs(ctx, d, info.Path, manifest.DecodeSuccess); s != nil {
				to.retired = append(to.retired, &retiredOutput{info.Path, s})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readAs reads and decodes the document in a file. It returns nil if the file is absent or does
// not decode.
func readAs[T any](ctx context.Context, d *Destination, file string, decode func([]byte) (*T, error)) (*T, error) {
	text, err := d.readDocument(ctx, file)
	if err != nil {
		return nil, err
	}
	doc, err := decode(text)
	if err != nil {
		return nil, nil
	}
	return doc, nil
}

// readDocument reads a file. It returns nil if the file is absent: see store.Absent.
func (d *Destination) readDocument(ctx context.Context, file string) ([]byte, error) {
	text, err := d.st.ReadFile(ctx, file, manifest.MaxSize)
	if store.Absent(err) {
		return nil, nil
	}
	return text, err
}

// list lists a directory. It returns nil if the directory is gone.
func (d *Destination) list(ctx context.Context, dir string) ([]store.Info, error) {
	infos, err := d.st.List(ctx, dir)
	if store.Absent(err) {
		return nil, nil
	}
	return infos, err
}

// StagedPlans returns the IDs of the plans that have staged work, beginning with the one
// that changed last.
func (d *Destination) StagedPlans(ctx context.Context) (ids []string, err error) {
	root, err := d.entry(ctx, manifest.WorkName)
	//guard: does not follow a link to a directory
	if errors.Is(err, store.ErrNotExist) || err == nil && root.Link {
		return nil, nil
	}
	if err != nil {
		return nil, d.wrap(err)
	}
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return nil, d.wrap(err)
	}
	slices.SortStableFunc(infos, func(a, b store.Info) int { return b.ModTime.Compare(a.ModTime) })
	for _, info := range infos {
		//guard: ignores everything but the work of tasks
		if id, ok := stagedPlanID(info); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// StagedPlan reads the plan that KeepPlan wrote. It returns nil if there is no such plan, or none
// that this program can carry out.
func (d *Destination) StagedPlan(ctx context.Context, id string) (*manifest.Plan, error) {
	p, err := d.readPlan(ctx, d.StagingPath(id), id)
	return p, d.wrap(err)
}

// OfOtherVersion reports whether the plan that KeepPlan wrote is of another version of the program,
// whose tasks may write other bytes.
func (d *Destination) OfOtherVersion(ctx context.Context, id string) bool {
	text, err := d.readDocument(ctx, path.Join(d.StagingPath(id), manifest.PlanName))
	if err != nil {
		return false
	}
	_, err = manifest.DecodePlan(text)
	return errors.Is(err, manifest.ErrVersion)
}

// readPlan reads the plan in any directory with a plan's work. Its result is that of StagedPlan.
func (d *Destination) readPlan(ctx context.Context, dir, id string) (*manifest.Plan, error) {
	file := path.Join(dir, manifest.PlanName)
	info, err := d.st.Stat(ctx, file)
	//guard: does not follow a link to a foreign document
	if store.Absent(err) || err == nil && info.Link {
		return nil, nil
	}
	var text []byte
	if err == nil {
		text, err = d.readDocument(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	p, err := manifest.DecodePlan(text)
	//guard: rejects the work of another plan
	if err != nil || p.ID != id {
		return nil, nil
	}
	return p, nil
}

// findDead records the staged plans that can never be committed. Their work was left by late
// tasks of a plan that was published, or by a run that did not publish its output. The plan of
// such a run is outdated by now.
func (d *Destination) findDead(ctx context.Context, s *State) error {
	if len(s.Outputs()) == 0 {
		return nil // there is no output that could outdate a plan
	}
	//guard: reports no work as dead while the output is damaged or foreign files are there
	if s.damage != "" || len(s.foreign) > 0 {
		return nil
	}
	published := make(map[string]bool)
	for _, o := range s.Outputs() {
		published[o.Success.Plan] = true
	}
	for _, id := range s.staged {
		dead := published[id]
		if !dead {
			p, err := d.StagedPlan(ctx, id)
			if err != nil {
				return err
			}
			dead = p != nil && s.outdated(p)
		}
		if dead {
			s.dead = append(s.dead, id)
		}
	}
	s.Leftovers = s.Leftovers || len(s.dead) > 0
	return nil
}

// outdated reports whether a plan can never be committed, because of outputs that came after
// it was made.
func (s *State) outdated(p *manifest.Plan) bool {
	if p.Increment {
		return errors.Is(s.checkIncrementPlan(p), failure.Foreign)
	}
	return len(s.NewSincePlan(p)) > 0
}

// stagedPlanID returns the ID of a plan from the entry of its staging directory.
func stagedPlanID(info store.Info) (id string, ok bool) {
	id, ok = strings.CutPrefix(info.Name, planPrefix)
	return id, ok && info.Dir && !info.Link
}

// Progress returns the work that tasks of a plan have done so far.
func (d *Destination) Progress(ctx context.Context, planID string) (Work, error) {
	return d.readWork(ctx, d.StagingPath(planID), planID)
}

// readWork reads the results of a plan's tasks in a directory, but not their files.
func (d *Destination) readWork(ctx context.Context, dir, planID string) (Work, error) {
	w := Work{Leftover: Leftover{Name: d.relative(dir), What: planWork}, PlanID: planID}
	var err error
	if w.Plan, err = d.readPlan(ctx, dir, planID); err != nil {
		return w, err
	}
	if err := d.measure(ctx, &w.Leftover, store.Info{Path: dir, Dir: true}, nil); err != nil {
		return w, err
	}
	//guard: uses the directory's time if nothing below it has a time
	if w.Changed.IsZero() {
		info, err := d.st.Stat(ctx, dir)
		if err != nil && !store.Absent(err) {
			return w, err
		}
		w.Changed = info.ModTime.UTC()
	}
	infos, err := d.list(ctx, dir)
	if err != nil {
		return w, err
	}
	if w.Started, err = d.readStarted(ctx, infos); err != nil {
		return w, err
	}
	results := make([]*manifest.TaskResult, len(infos))
	err = parallel.Do(ctx, len(infos), d.movers, func(ctx context.Context, i int) error {
		number, ok := manifest.TaskNumber(infos[i].Name)
		//guard: does not follow a link to a foreign document
		if !ok || infos[i].Link {
			return nil
		}
		// The step after all tasks, which makes the indexes, has the number len(w.Plan.Tasks). Its
		// result is not a task's.
		if w.Plan != nil && number >= len(w.Plan.Tasks) {
			return nil
		}
		text, err := d.readDocument(ctx, infos[i].Path)
		if err != nil {
			return err
		}
		if res, err := manifest.DecodeTaskResult(text, w.PlanID, number); err == nil {
			results[i] = res
		}
		return nil
	})
	for _, res := range results {
		if res == nil {
			continue
		}
		w.Tasks++
		w.Rows += res.RowsIn
		if w.Plan != nil {
			w.Input += w.Plan.Tasks[res.Task].Bytes()
		}
	}
	return w, err
}

// readStarted reads the last document about a job in the directory of a plan's work.
func (d *Destination) readStarted(ctx context.Context, infos []store.Info) (*task.Started, error) {
	var last *store.Info
	for i := range infos {
		//guard: does not follow a link to a foreign document
		if info := &infos[i]; task.IsStarted(info.Name) && !info.Link && (last == nil || info.ModTime.After(last.ModTime)) {
			last = info
		}
	}
	if last == nil {
		return nil, nil
	}
	return task.ReadStarted(ctx, d.st, last.Path)
}

// measure adds the sizes and the number of a file or directory and of everything below it to l,
// and keeps the latest time. It leaves out the directories in except. The time of a directory
// counts only if the directory is empty, because a move of files out of it changes its time, too.
func (d *Destination) measure(ctx context.Context, l *Leftover, info store.Info, except map[string]bool) error {
	l.names++
	var infos []store.Info
	//guard: does not follow a link to a directory
	if info.Dir && !info.Link {
		var err error
		if infos, err = d.list(ctx, info.Path); err != nil {
			return err
		}
	}
	for _, i := range infos {
		if except[i.Path] {
			continue
		}
		if err := d.measure(ctx, l, i, except); err != nil {
			return err
		}
	}
	if len(infos) == 0 {
		if !info.Link {
			l.Bytes += info.Size
		}
		if info.ModTime.After(l.Changed) {
			l.Changed = info.ModTime.UTC()
		}
	}
	return nil
}

func (d *Destination) relative(file string) string {
	return strings.TrimPrefix(strings.TrimPrefix(file, d.path), "/")
}
