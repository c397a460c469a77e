package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Convert plans, runs and commits a job. It resumes what an earlier run of the
// same plan left, and does nothing if the destination already holds the
// output. An error leaves nothing behind but finished parts that a rerun can
// use. When damage was allowed and met, the output is committed, the outcome
// is returned, and so is an error that is ErrLosses. Every error but that of a
// cancelled context and of a defect is one of the kinds.
func Convert(ctx context.Context, r Request) (*Outcome, error) {
	out, err := convert(ctx, r)
	return out, judged(err)
}

func convert(ctx context.Context, r Request) (*Outcome, error) {
	plan, columns, err := makePlan(ctx, r)
	if err != nil {
		return nil, err
	}
	a, err := newAttempt(&r, plan, columns)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Plan: plan, Warnings: slices.Clone(plan.Warnings)}
	s, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	if s.done(plan) && !s.leftovers {
		return out.nothing(s.success)
	}
	if !s.done(plan) {
		if err := s.allow(a.dest, r.Overwrite); err != nil {
			return nil, err
		}
	}
	err = a.locked(ctx, s, out)
	switch {
	case err != nil && s.done(plan) && ctx.Err() == nil:
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of an earlier job could not be removed: %v", err))
		return out.nothing(s.success)
	case err != nil:
		return nil, err
	case out.Nothing:
		return out.nothing(out.Manifest)
	}
	return out, losses(out.Manifest)
}

func (o *Outcome) nothing(m *manifest.Success) (*Outcome, error) {
	o.Nothing, o.Manifest = true, m
	return o, losses(m)
}

// losses is the error of an output that lacks some of its input.
func losses(m *manifest.Success) error {
	if len(m.Losses) == 0 {
		return nil
	}
	var rows int64
	unknown := ""
	for _, l := range m.Losses {
		if l.Rows < 0 {
			unknown = "at least "
		}
		rows += max(l.Rows, 0)
	}
	return failf(ErrLosses, "%d damaged ranges of the input, with %s%d rows, are not in the output", len(m.Losses), unknown, rows)
}

// locked does the work under the lock, and clears up after it.
func (a *attempt) locked(ctx context.Context, s *state, out *Outcome) error {
	if err := a.prepare(ctx, s); err != nil {
		return err
	}
	l, locked, err := acquire(ctx, a.st, a.dest, a.root, a.r.Lock)
	if err != nil {
		clean, cancel := store.Cleanup(ctx)
		defer cancel()
		a.unmake(clean)
		return err
	}
	a.lock = l
	err = a.work(locked, out)
	if cause := context.Cause(locked); errors.Is(cause, ErrConflict) {
		err = cause
	}
	if err != nil {
		return a.abandon(ctx, l, err)
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = store.Cleanup(ctx)
		defer cancel()
	}
	if err := errors.Join(a.st.RemoveAll(ctx, a.root), l.release(ctx)); err != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("leftovers of the job could not be removed: %v", err))
	}
	return nil
}

// abandon clears up after work that failed with err, and gives the lock back.
// What a rerun can use is left. It returns the error of the job.
func (a *attempt) abandon(ctx context.Context, l *lock, err error) error {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	if lost := l.check(clean); errors.Is(lost, ErrConflict) {
		_ = l.release(clean)
		return lost // what else went wrong was its consequence
	}
	// The error of the job is what matters; a rerun clears up what is left.
	if a.begun && !a.pending && !(a.hasResults && resumable(err)) {
		_ = a.discard(clean)
	} else {
		_ = a.tidy(clean)
	}
	_ = l.release(clean)
	a.unmake(clean)
	return err
}

// resumable reports whether a rerun of the same plan may succeed.
func resumable(err error) bool {
	kind := KindOf(err)
	return kind == ErrStorage || errors.Is(err, context.Canceled)
}

// work runs and publishes.
func (a *attempt) work(ctx context.Context, out *Outcome) error {
	s, err := a.look(ctx)
	if err != nil {
		return err
	}
	if s.done(a.plan) {
		out.Nothing, out.Manifest = true, s.success
		return a.removeTemps(ctx, s)
	}
	if err := s.allow(a.dest, a.r.Overwrite); err != nil {
		return err
	}
	before := s.attempts[a.plan.ID]
	a.pending = slices.Contains(before, pendingName)
	a.hasResults = slices.ContainsFunc(before, isTaskName)
	a.begun = true
	if err := a.sweep(ctx, s); err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	results, resumed, err := a.run(ctx)
	if err != nil {
		return err
	}
	out.Resumed = resumed
	out.Manifest = a.success(results)
	if n := out.Manifest.InvalidUTF8; n > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d strings are not valid UTF-8 and were copied as they are; other readers may replace or refuse them", n))
	}
	return a.publish(ctx, s, out.Manifest)
}

// success makes the _SUCCESS document. Row groups without rows come from
// ranges in which no block starts; they are left out, except for the one that
// an output without any rows needs to show its columns.
func (a *attempt) success(results []*manifest.TaskResult) *manifest.Success {
	s := &manifest.Success{
		Version: manifest.Version, Plan: a.plan.ID, Format: a.plan.Options.Format, Schema: a.plan.Schema,
		Options: a.plan.Options, Inputs: a.plan.Inputs,
	}
	for _, res := range results {
		s.Rows += res.RowsIn
	}
	for _, res := range results {
		s.Losses = append(s.Losses, res.Losses...)
		s.InvalidUTF8 += res.InvalidUTF8
		for _, p := range res.Parts {
			if p.Rows > 0 || s.Rows == 0 && res.Task == 0 && p.RowGroup == 0 {
				s.Parts = append(s.Parts, p)
				s.Bytes += p.Bytes
			}
		}
	}
	return s
}

// item is a file to publish.
type item struct {
	name string
	size int64
	crc  uint32
	sum  bool // crc is known
}

func items(parts []manifest.Part, losses []manifest.Loss) []item {
	var list []item
	for _, p := range parts {
		list = append(list, item{p.Name, p.Bytes, p.CRC32C, true})
	}
	for _, l := range losses {
		if l.Quarantine != "" {
			list = append(list, item{name: l.Quarantine, size: l.End - l.Start})
		}
	}
	return list
}

// present reports whether an item waits in the attempt or is published.
func (a *attempt) present(ctx context.Context, it item) (bool, error) {
	info, err := a.st.Stat(ctx, path.Join(a.dir, it.name))
	if err == nil {
		return info.Size == it.size, nil
	}
	if !errors.Is(err, store.ErrNotExist) {
		return false, err
	}
	return a.published(ctx, it)
}

// published reports whether the destination holds exactly the item.
func (a *attempt) published(ctx context.Context, it item) (bool, error) {
	file := path.Join(a.dest, it.name)
	info, err := a.st.Stat(ctx, file)
	if errors.Is(err, store.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Dir || info.Size != it.size {
		return false, err
	}
	if !it.sum {
		return true, nil
	}
	_, crc, err := a.sum(ctx, file)
	return crc == it.crc, err
}

// publish makes the output visible. Every step can be the last of a run that
// is killed: success.json then tells the next run that the files it lists are
// of this attempt, and each step finds out whether it was taken before.
func (a *attempt) publish(ctx context.Context, s *state, m *manifest.Success) error {
	if err := a.r.checkIdentity(ctx, a.plan.Inputs); err != nil {
		return err
	}
	doc, err := m.Encode()
	if err != nil {
		return err
	}
	if err := a.lock.check(ctx); err != nil {
		return err
	}
	pending := path.Join(a.dir, pendingName)
	a.pending = true
	if err := a.st.WriteFile(ctx, pending, doc, false); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if err := a.retire(ctx, s); err != nil {
		return err
	}
	list := items(m.Parts, m.Losses)
	if err := a.removeOld(ctx, s, list); err != nil {
		return err
	}
	for _, it := range list {
		if err := a.lock.check(ctx); err != nil {
			return err
		}
		if err := a.move(ctx, s, it); err != nil {
			return err
		}
	}
	if err := a.lock.check(ctx); err != nil {
		return err
	}
	err = a.st.Rename(ctx, pending, path.Join(a.dest, successName))
	if errors.Is(err, store.ErrExist) {
		there, readErr := a.st.ReadFile(ctx, path.Join(a.dest, successName), manifest.MaxSize)
		if readErr == nil && bytes.Equal(there, doc) {
			return nil
		}
		return failf(ErrConflict, "destination %s: another job committed to it", a.dest)
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// retire takes the _SUCCESS of the output to be replaced away, and keeps it as
// the record of that output's files.
func (a *attempt) retire(ctx context.Context, s *state) error {
	if s.success == nil {
		return nil
	}
	from := path.Join(a.dest, successName)
	to := path.Join(a.root, fmt.Sprintf("%s%08x", replacedPrefix, crc32.Checksum(s.successRaw, castagnoli)))
	err := a.st.Rename(ctx, from, to)
	if errors.Is(err, store.ErrExist) {
		return a.st.Remove(ctx, from) // the same bytes: the name says so
	}
	if err != nil {
		return fmt.Errorf("retire %s: %w", from, err)
	}
	moved, err := a.st.ReadFile(ctx, to, manifest.MaxSize)
	if err != nil {
		return fmt.Errorf("retire %s: %w", from, err)
	}
	if !bytes.Equal(moved, s.successRaw) {
		return errors.Join(failf(ErrConflict, "destination %s: another job committed to it", a.dest), a.st.Rename(ctx, to, from))
	}
	return nil
}

// removeOld removes the files of replaced outputs that have no successor.
func (a *attempt) removeOld(ctx context.Context, s *state, list []item) error {
	keep := make(map[string]bool, len(list))
	for _, it := range list {
		keep[it.name] = true
	}
	dirs := make(map[string]bool)
	for name := range s.owned {
		if keep[name] {
			continue
		}
		if err := a.lock.check(ctx); err != nil {
			return err
		}
		if err := a.st.Remove(ctx, path.Join(a.dest, name)); err != nil && !errors.Is(err, store.ErrNotExist) {
			return fmt.Errorf("remove the old output: %w", err)
		}
		if dir := path.Dir(name); dir != "." {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		full := path.Join(a.dest, dir)
		infos, err := a.st.List(ctx, full)
		if err == nil && len(infos) == 0 {
			err = a.st.Remove(ctx, full)
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return fmt.Errorf("remove the old output: %w", err)
		}
	}
	return nil
}

// move renames one item to its place. An equal file that is there already is
// accepted; another is replaced if it is of the output to be replaced.
func (a *attempt) move(ctx context.Context, s *state, it item) error {
	from, to := path.Join(a.dir, it.name), path.Join(a.dest, it.name)
	if strings.Contains(it.name, "/") {
		if err := makeDir(ctx, a.st, path.Dir(to)); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if !it.sum {
		// The copy of a damaged range has no checksum of its own yet.
		_, crc, err := a.sum(ctx, from)
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return fmt.Errorf("publish: %w", err)
		}
		it.crc, it.sum = crc, err == nil
	}
	err := a.st.Rename(ctx, from, to)
	if err == nil {
		return nil
	}
	if !errors.Is(err, store.ErrExist) && !errors.Is(err, store.ErrNotExist) {
		return fmt.Errorf("publish: %w", err)
	}
	equal, sumErr := a.published(ctx, it)
	switch {
	case sumErr != nil:
		return fmt.Errorf("publish: %w", sumErr)
	case equal && errors.Is(err, store.ErrNotExist):
		return nil
	case equal:
		err = a.st.Remove(ctx, from)
	case errors.Is(err, store.ErrNotExist):
		return fmt.Errorf("publish %s: it vanished: %w", it.name, err)
	case !s.owned[it.name]:
		return failf(ErrConflict, "destination %s: %s is there with other bytes", a.dest, it.name)
	default:
		if err = a.st.Remove(ctx, to); err == nil {
			err = a.st.Rename(ctx, from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// removeTemps removes the temporary files of dead runs from the destination.
func (a *attempt) removeTemps(ctx context.Context, s *state) error {
	for _, temp := range s.temps {
		if err := a.st.Remove(ctx, temp); err != nil && !errors.Is(err, store.ErrNotExist) {
			return err
		}
	}
	return nil
}
