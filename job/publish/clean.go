package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Cleaned has the leftovers that Clean removed, and those that it kept for now: work that changed
// too recently, and kept outputs whose time is not over.
type Cleaned struct {
	Removed, Kept []Leftover
}

// Clean removes leftovers of dead holders, and uncommitted work of plans. It removes work that
// can be used again only if nothing in it changed for olderThan, by the clock of the storage.
// It removes kept outputs whose time is over by the same clock, and all other leftovers at once, as
// any holder does. It completes a pending output.
//
// Clean takes the lock. If a holder lives, the error is failure.Locked. If the destination
// holds foreign files, Clean removes files only from the work directory, because other files of
// rowtocol may be of an output that this program cannot read. It then returns what it removed
// and an error that is failure.Foreign.
func (d *Destination) Clean(ctx context.Context, olderThan time.Duration) (*Cleaned, error) {
	before, err := d.Status(ctx)
	if err != nil {
		return nil, err
	}
	cleaned := &Cleaned{}
	if before.Lock == nil && !before.pending && len(before.Leftovers())+len(before.Kept) == 0 {
		return cleaned, before.CheckForeign()
	}
	c, held, err := d.Claim(ctx)
	//guard: frees names where a quota leaves none for the lock
	if errors.Is(err, store.ErrQuota) {
		c, held, err = d.claimWithinQuota(ctx, before)
	}
	if err != nil {
		return nil, err
	}
	err = c.LockedOr(ctx, d.wrap(c.clean(held, olderThan, cleaned)))
	if err != nil || ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = store.Cleanup(ctx)
		defer cancel()
	}
	err = errors.Join(err, c.Release(ctx))
	if err != nil {
		return cleaned, err
	}
	after, err := d.survey(ctx, nil)
	if err != nil {
		return cleaned, d.wrap(err)
	}
	left := slices.Concat(after.Debris, after.Kept)
	for _, l := range slices.Concat(before.Debris, before.Kept) {
		if !slices.ContainsFunc(left, func(left Leftover) bool { return left.Name == l.Name }) {
			cleaned.Removed = append(cleaned.Removed, l)
		}
	}
	cleaned.Kept = append(cleaned.Kept, after.Kept...)
	return cleaned, after.CheckForeign()
}

// claimWithinQuota does what Claim does, after a quota left no room for the lock. It first
// empties the trash, which needs no lock because no process uses the trash. If that is not
// enough, the error gives a command that makes room.
func (d *Destination) claimWithinQuota(ctx context.Context, before *Status) (*Claim, context.Context, error) {
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return nil, nil, d.wrap(err)
	}
	for _, info := range infos {
		if !strings.HasPrefix(info.Name, trashPrefix) {
			continue
		}
		if err := d.st.RemoveAll(ctx, info.Path); err != nil {
			return nil, nil, d.wrap(err)
		}
	}
	c, held, err := d.Claim(ctx)
	if left := before.removable(); errors.Is(err, store.ErrQuota) && len(left) > 0 {
		err = fmt.Errorf("%w; %s", err, d.adviseRemoval(left))
	}
	return c, held, err
}

// removable returns the leftovers that a person can remove without the lock while no run works
// on the destination.
func (s *Status) removable() (all []Leftover) {
	for _, l := range s.Leftovers() {
		switch {
		case l.What == trash: // claimWithinQuota removed it
		//guard: keeps the manifest of an output that the next holder completes
		case l.What == formerHolder:
		//guard: keeps parts that a damaged output may need
		case s.Damage != "" && !l.Useful():
		default:
			all = append(all, l)
		}
	}
	return all
}

// claimNames is the most names that a claim needs at the same time: the work directory, its
// own directory, the lock, and signs of life.
const claimNames = 6

// adviseRemoval returns advice with a command that removes enough leftovers to make room for a
// claim. Leftovers that cannot be used again come first, and older ones before younger ones.
func (d *Destination) adviseRemoval(left []Leftover) string {
	slices.SortFunc(left, func(a, b Leftover) int {
		switch {
		case a.Useful() == b.Useful():
			return a.Changed.Compare(b.Changed)
		case b.Useful():
			return -1
		}
		return 1
	})
	command, kinds, freed := "rm -r --", []string(nil), 0
	if d.origin != "" {
		command = "hdfs dfs -rm -r -skipTrash"
	}
	for _, l := range left {
		if freed >= claimNames {
			break
		}
		freed += l.names
		command += " " + d.shellArgument(l.Name)
		if !slices.Contains(kinds, l.What) {
			kinds = append(kinds, l.What)
		}
	}
	return fmt.Sprintf("while no run works on the destination, make room by hand and clean again (this removes: %s): %s", strings.Join(kinds, ", "), command)
}

// shellArgument quotes a name in the destination for a shell, as an argument of rm or of hdfs dfs,
// which reads it as a pattern.
func (d *Destination) shellArgument(name string) string {
	file := d.pathOf(name)
	if d.origin != "" {
		file = store.Showable(d.origin + globEscaper.Replace(file))
	}
	return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
}

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// CheckForeign returns failure.Foreign if the destination holds foreign files. Clean ends with
// this error.
func (s *Status) CheckForeign() error {
	if len(s.Foreign) == 0 {
		return nil
	}
	return failure.New(failure.Foreign, "destination %s holds what rowtocol did not write: %s; files next to it were left alone",
		s.path, joinFirst(s.Foreign, namedForeign, ", "))
}

// clean removes the work of plans that is old enough.
func (c *Claim) clean(ctx context.Context, olderThan time.Duration, cleaned *Cleaned) error {
	now, err := c.lockedAt(ctx)
	if err != nil {
		return err
	}
	limit := now.Add(-olderThan)
	infos, err := c.list(ctx, c.workDir())
	if err != nil {
		return err
	}
	for _, info := range infos {
		//guard: keeps everything but the work of tasks
		if _, ok := stagedPlanID(info); !ok {
			continue
		}
		if err := c.cleanPlan(ctx, info, limit, cleaned); err != nil {
			return err
		}
	}
	return nil
}

// cleanPlan removes the work of a plan, unless it changed after a time.
func (c *Claim) cleanPlan(ctx context.Context, info store.Info, limit time.Time, cleaned *Cleaned) error {
	l := Leftover{Name: c.relative(info.Path), What: planWork}
	if err := c.measure(ctx, &l, info, nil); err != nil {
		return err
	}
	//guard: keeps the work of tasks that may still run
	if l.Changed.After(limit) {
		cleaned.Kept = append(cleaned.Kept, l)
		return nil
	}
	taken, again := c.newPath(old), l
	if err := c.move(ctx, info.Path, taken); err != nil {
		return fmt.Errorf("take %s: %w", info.Path, err)
	}
	if err := c.measure(ctx, &again, store.Info{Path: taken, Dir: true}, nil); err != nil {
		return err
	}
	//guard: puts back work if a task ended meanwhile
	if again.Changed.After(limit) {
		cleaned.Kept = append(cleaned.Kept, l)
		err := c.move(ctx, taken, info.Path)
		if !errors.Is(err, store.ErrExist) { // tasks may have made the directory again
			return err
		}
		return nil
	}
	cleaned.Removed = append(cleaned.Removed, l)
	return c.remove(ctx, taken)
}
