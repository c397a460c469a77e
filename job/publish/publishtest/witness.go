package publishtest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// witness is a store that records which outputs and increments are published and removed.
type witness struct {
	store.Store
	w *world
}

func (s witness) Rename(ctx context.Context, from, to string) error {
	err := s.Store.Rename(ctx, from, to)
	if err != nil {
		return err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if path.Dir(from) == s.w.dest {
		s.w.noteRemoved(path.Base(from))
	}
	if path.Dir(to) == s.w.dest {
		s.w.noteAdded(ctx, s.Store, path.Base(to))
	}
	return nil
}

func (s witness) Stat(ctx context.Context, p string) (store.Info, error) {
	info, err := s.Store.Stat(ctx, p)
	if path.Base(p) == manifest.LockName {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		info.ModTime = info.ModTime.Add(s.w.later)
	}
	return info, err
}

// noteAdded records that a file was renamed into the destination.
func (w *world) noteAdded(ctx context.Context, st store.Store, name string) {
	_, _, increment := manifest.ParseIncrement(name)
	switch {
	case name == manifest.SuccessName:
		if m, _ := success(ctx, st, w.dest); m != nil {
			w.current, w.published[m.ID] = m, place{w.dest, m}
			w.noteReplaced(m)
			w.outputs = append(w.outputs, output{id: m.ID, name: nameOf(m), plan: m.Plan})
		}
	case increment:
		m, err := success(ctx, st, path.Join(w.dest, name))
		if m == nil || err != nil || m.Base != w.currentID() {
			w.violations = append(w.violations, fmt.Sprintf("%s was added to output %q, but does not count: %v", name, w.currentID(), err))
			return
		}
		if slices.Contains(w.counted(), nameOf(m)) {
			w.violations = append(w.violations, fmt.Sprintf("the rows of %s were added twice", nameOf(m)))
		}
		if w.current != nil {
			w.outputs[len(w.outputs)-1].hasIncrement = true
		}
		w.increments[name], w.added = m, append(w.added, m.Plan)
		w.published[m.ID] = place{path.Join(w.dest, name), m}
		w.present[m.ID] = nameOf(m)
	}
	w.noteState()
}

// noteReplaced records that an output replaced all others. The process that published it must
// have seen all of them. An output that was put back replaces nothing.
func (w *world) noteReplaced(m *manifest.Success) {
	if _, back := w.present[m.ID]; back {
		return
	}
	for id, name := range w.present {
		if !slices.Contains(w.seen[m.Made.Run], id) {
			w.violations = append(w.violations, fmt.Sprintf("the run of %s replaced the rows of %s, which it did not see", nameOf(m), name))
		}
		if w.keeping[m.Made.Run] {
			w.promised[id] = w.published[id]
		}
	}
	w.present = map[string]string{m.ID: nameOf(m)}
}

// noteRemoved records that a file was renamed out of the destination.
func (w *world) noteRemoved(name string) {
	if name == manifest.SuccessName {
		w.current = nil
	}
	if m := w.increments[name]; m != nil {
		if m.Base == w.currentID() {
			w.violations = append(w.violations, name+" was removed while it counted")
		}
		delete(w.increments, name)
	}
	w.noteState()
}

func (w *world) noteState() { w.states = append(w.states, strings.Join(w.counted(), "+")) }

func (w *world) currentID() string {
	if w.current == nil {
		return ""
	}
	return w.current.ID
}

// counted returns the names of the requests whose rows count: that of the output, or an empty
// name, and those of the increments in their order.
func (w *world) counted() []string {
	names := []string{""}
	if w.current != nil {
		names[0] = nameOf(w.current)
	}
	var increments []*manifest.Success
	for _, m := range w.increments {
		if m.Base == w.currentID() {
			increments = append(increments, m)
		}
	}
	slices.SortFunc(increments, func(a, b *manifest.Success) int { return int(a.Sequence - b.Sequence) })
	for _, m := range increments {
		names = append(names, nameOf(m))
	}
	return names
}
