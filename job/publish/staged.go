package publish

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// StagedPlans are the IDs of the plans that have work in the destination, the one whose work
// changed last first.
func (d *Destination) StagedPlans(ctx context.Context) (ids []string, err error) {
	root, err := d.entry(ctx, manifest.WorkName)
	//guard: would read directories that a link leads to
	if errors.Is(err, store.ErrNotExist) || err == nil && root.Link {
		return nil, nil
	}
	if err != nil {
		return nil, d.wrap(err)
	}
	infos, err := d.list(ctx, d.root())
	if err != nil {
		return nil, d.wrap(err)
	}
	slices.SortStableFunc(infos, func(a, b store.Info) int { return b.ModTime.Compare(a.ModTime) })
	for _, info := range infos {
		//guard: what stands in the place of tasks' work would be taken for it
		if id, ok := stagedPlan(info); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// StagedPlan reads the plan that KeepPlan left; nil if there is none that this program
// can carry out.
func (d *Destination) StagedPlan(ctx context.Context, id string) (*manifest.Plan, error) {
	p, err := d.planIn(ctx, d.StagingPath(id), id)
	return p, d.wrap(err)
}

// planIn is StagedPlan of a directory with the work of a plan.
func (d *Destination) planIn(ctx context.Context, dir, id string) (*manifest.Plan, error) {
	file := path.Join(dir, manifest.PlanName)
	info, err := d.st.Stat(ctx, file)
	//guard: a link could lead to a document that others wrote
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
	//guard: tasks would leave their work in the directory of another plan
	if err != nil || p.ID != id {
		return nil, nil
	}
	return p, nil
}
