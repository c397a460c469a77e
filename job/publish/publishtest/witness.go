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

// witness is a store that notes the outputs and the increments that come and go.
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
		s.w.goes(path.Base(from))
	}
	if path.Dir(to) == s.w.dest {
		s.w.comes(ctx, s.Store, path.Base(to))
	}
	return nil
}

// comes notes what got a name in the destination.
func (w *world) comes(ctx context.Context, st store.Store, name string) {
	_, _, increment := manifest.ParseIncrement(name)
	switch {
	case name == manifest.SuccessName:
		if m, _ := success(ctx, st, w.dest); m != nil {
			w.top = m
			w.replaces(m)
			w.outputs = append(w.outputs, output{id: m.ID, name: nameOf(m), plan: m.Plan})
		}
	case increment:
		m, err := success(ctx, st, path.Join(w.dest, name))
		if m == nil || err != nil || m.Base != w.topID() {
			w.faults = append(w.faults, fmt.Sprintf("%s came beside %q, and does not count: %v", name, w.topID(), err))
			return
		}
		if slices.Contains(w.counting(), nameOf(m)) {
			w.faults = append(w.faults, fmt.Sprintf("the rows of %s came twice", nameOf(m)))
		}
		if w.top != nil {
			w.outputs[len(w.outputs)-1].beside = true
		}
		w.increments[name], w.added = m, append(w.added, m.Plan)
		w.present[m.ID] = nameOf(m)
	}
	w.note()
}

// replaces notes that an output came in the place of all that was there. The process
// that published it must have seen all of that; one that is put back replaces nothing.
func (w *world) replaces(m *manifest.Success) {
	if _, back := w.present[m.ID]; back {
		return
	}
	for id, name := range w.present {
		if !slices.Contains(w.seen[m.Made.Run], id) {
			w.faults = append(w.faults, fmt.Sprintf("the rows of %s went, which came after the run of %s had looked", name, nameOf(m)))
		}
	}
	w.present = map[string]string{m.ID: nameOf(m)}
}

// goes notes what lost its name in the destination.
func (w *world) goes(name string) {
	if name == manifest.SuccessName {
		w.top = nil
	}
	if m := w.increments[name]; m != nil {
		if m.Base == w.topID() {
			w.faults = append(w.faults, name+" went while it counted")
		}
		delete(w.increments, name)
	}
	w.note()
}

func (w *world) note() { w.states = append(w.states, strings.Join(w.counting(), "+")) }

func (w *world) topID() string {
	if w.top == nil {
		return ""
	}
	return w.top.ID
}

// counting are the requests whose rows count: that of the output, or nothing, and
// those of the increments in their order.
func (w *world) counting() []string {
	names := []string{""}
	if w.top != nil {
		names[0] = nameOf(w.top)
	}
	var runs []*manifest.Success
	for _, m := range w.increments {
		if m.Base == w.topID() {
			runs = append(runs, m)
		}
	}
	slices.SortFunc(runs, func(a, b *manifest.Success) int { return int(a.Sequence - b.Sequence) })
	for _, m := range runs {
		names = append(names, nameOf(m))
	}
	return names
}
