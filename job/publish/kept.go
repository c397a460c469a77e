package publish

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// isKept reports whether a name is that of a part, an increment, or a directory of copies or
// indexes, of a kept output. While there is no output, none is known to be replaced.
func (s *State) isKept(name string) bool {
	return s.Success != nil && s.kept[idInName(name)]
}

// KeptIn returns the IDs of the kept outputs of the destination at a place.
func KeptIn(ctx context.Context, at store.Location) (map[string]bool, error) {
	var s State
	err := At(at, Options{}).findLeftovers(ctx, &s)
	return s.kept, err
}

// keepReplaced writes the documents of the output that retire moved out and of its increments, if
// the pending output says that they are kept. Documents that a killed process wrote are written
// again, so that the time begins anew. before is the state that retire read. keepReplaced returns
// the names of the increments to remove, which are not kept.
func (c *Claim) keepReplaced(ctx context.Context, p *manifest.Pending, before *State) (others []string, err error) {
	var outputs []*manifest.Success
	base := ""
	if r := c.retiredBy(p.Success); r != nil {
		outputs, base = append(outputs, r), r.ID
	}
	for _, name := range before.replacedIncrements() {
		var r *increment
		if p.KeepSeconds > 0 {
			if r, err = c.readIncrement(ctx, name); err != nil {
				return nil, err
			}
		}
		switch {
		case r != nil && r.Success != nil && r.Success.Base == base:
			outputs = append(outputs, r.Success)
		//guard: keeps the increments of an output that was replaced earlier
		case before.kept[idInName(name)]:
		default:
			others = append(others, name)
		}
	}
	if p.KeepSeconds == 0 {
		return others, nil
	}
	return others, parallel.Do(ctx, len(outputs), c.movers, func(ctx context.Context, i int) error {
		return c.writeKept(ctx, &manifest.Kept{Success: outputs[i], KeepSeconds: p.KeepSeconds}, before.kept[outputs[i].ID])
	})
}

// retiredBy returns the manifest of the output that m replaces, or nil if there was none. The
// claim may have other manifests, of outputs that were replaced before.
func (c *Claim) retiredBy(m *manifest.Success) (latest *manifest.Success) {
	for _, r := range c.found.retired {
		if slices.Contains(m.Replaces, r.ID) && (latest == nil || r.Sequence > latest.Sequence) {
			latest = r.Success
		}
	}
	return latest
}

// writeKept writes the document of a kept output. again is whether there is one already.
func (c *Claim) writeKept(ctx context.Context, k *manifest.Kept, again bool) error {
	text, err := k.Encode()
	if err != nil {
		return err
	}
	file, place := c.newPath("keep"), path.Join(c.workDir(), manifest.KeptName(k.ID))
	if err := c.st.WriteFile(ctx, file, text, true); err != nil {
		return err
	}
	if again {
		if err := c.move(ctx, place, c.newPath(old)); err != nil {
			return err
		}
	}
	return c.move(ctx, file, place)
}

// readKept reads the documents of kept outputs, sorted by name. Until is zero for a document that
// does not decode: it keeps nothing.
func (d *Destination) readKept(ctx context.Context) (all []Leftover, err error) {
	infos, err := d.list(ctx, d.workDir())
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		id, ok := manifest.KeptID(info)
		if !ok {
			continue
		}
		k, err := d.readKeptDocument(ctx, info.Path, id)
		if k == nil && err == nil {
			_, err = d.st.Stat(ctx, info.Path)
			//guard: does not call a document damaged that a holder moved away
			if errors.Is(err, store.ErrNotExist) {
				continue
			}
			//guard: reads again what a holder may have written again
			if err == nil {
				k, err = d.readKeptDocument(ctx, info.Path, id)
			}
		}
		if err != nil {
			return nil, err
		}
		l := Leftover{Name: d.relative(info.Path), What: damagedKept, Changed: info.ModTime.UTC()}
		if k != nil {
			l.What = keptOutput
			l.Until = l.Changed.Add(k.For())
			for _, f := range k.Files() {
				l.Bytes += f.Bytes
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// readKeptDocument reads the document of the output with an ID. It returns nil if the file is not
// such a document.
func (d *Destination) readKeptDocument(ctx context.Context, file, id string) (*manifest.Kept, error) {
	k, err := readAs(ctx, d, file, manifest.DecodeKept)
	//guard: rejects the document of another output
	if k != nil && k.ID != id {
		return nil, nil
	}
	return k, err
}

// KeptOver reports whether the time of one of the kept outputs in s seems to be over. It goes by
// this machine's clock, and so decides only whether a holder should look.
func (d *Destination) KeptOver(ctx context.Context, s *State) (bool, error) {
	if len(s.kept) == 0 {
		return false, nil
	}
	all, err := d.readKept(ctx)
	now := d.now()
	return slices.ContainsFunc(all, func(l Leftover) bool { return !now.Before(l.Until) }), d.wrap(err)
}

// endKept moves out the documents of kept outputs whose time is over, and reports whether there
// were any. The files of these outputs are then files of no output. If the holder is killed now,
// the next one removes them.
func (c *Claim) endKept(ctx context.Context) (ended bool, err error) {
	if len(c.state.kept) == 0 {
		return false, nil
	}
	all, err := c.readKept(ctx)
	if err != nil {
		return false, err
	}
	now, err := c.lockedAt(ctx)
	if err != nil {
		return false, err
	}
	return c.moveKeptOut(ctx, all, now)
}

// moveKeptOut moves out the documents of those kept outputs whose time is over. It reports whether
// there were any.
func (c *Claim) moveKeptOut(ctx context.Context, all []Leftover, now time.Time) (ended bool, err error) {
	for _, l := range all {
		//guard: keeps files that readers may still need
		if now.Before(l.Until) {
			continue
		}
		if err := c.move(ctx, c.pathOf(l.Name), c.newPath(old)); err != nil {
			return false, err
		}
		ended = true
	}
	return ended, nil
}
