package publish

import (
	"path"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestDeadPlans checks that the next holder removes the work of tasks next to an output if it
// can never be committed, and keeps other work.
func TestDeadPlans(t *testing.T) {
	for name, tt := range map[string]struct {
		plan func(d *Destination, m, added *manifest.Success, p *manifest.Plan)
		bare bool // whether the work lacks its plan
		dead bool
	}{
		"of the output":     {plan: func(_ *Destination, m, _ *manifest.Success, p *manifest.Plan) { p.ID = m.Plan }, bare: true, dead: true},
		"of an increment":   {plan: func(_ *Destination, _, added *manifest.Success, p *manifest.Plan) { p.ID = added.Plan }, bare: true, dead: true},
		"unknown":           {plan: func(*Destination, *manifest.Success, *manifest.Success, *manifest.Plan) {}, bare: true},
		"the base is gone":  {plan: func(_ *Destination, _, _ *manifest.Success, p *manifest.Plan) { p.Base = manifest.NewID() }, dead: true},
		"before the output": {plan: func(*Destination, *manifest.Success, *manifest.Success, *manifest.Plan) {}, dead: true},
		"after the increment": {plan: func(d *Destination, m, _ *manifest.Success, p *manifest.Plan) {
			p.Base, p.Replaces = m.ID, stateOf(t, d).OutputIDs()
		}},
		"made while the output waited": {plan: func(d *Destination, _, _ *manifest.Success, p *manifest.Plan) {
			p.Base, p.Replaces = manifest.NewID(), stateOf(t, d).OutputIDs()
		}},
		"before the increment": {plan: func(_ *Destination, m, _ *manifest.Success, p *manifest.Plan) {
			p.Base, p.Replaces = m.ID, []string{m.ID}
		}, dead: true},
		"an increment of the output": {plan: func(_ *Destination, m, _ *manifest.Success, p *manifest.Plan) { p.Increment, p.Base = true, m.ID }},
		"an increment of committed inputs": {plan: func(_ *Destination, m, _ *manifest.Success, p *manifest.Plan) {
			p.Increment, p.Base, p.Request = true, m.ID, *requestOf("P")
		}, dead: true},
		"an increment of another output": {plan: func(_ *Destination, _, _ *manifest.Success, p *manifest.Plan) { p.Increment = true }, dead: true},
		"a foreign file is there": {plan: func(d *Destination, _, _ *manifest.Success, p *manifest.Plan) {
			testenv.Must(t, d.st.WriteFile(t.Context(), d.pathOf("others"), nil, true))
		}},
		"the output is damaged": {plan: func(d *Destination, m, _ *manifest.Success, p *manifest.Plan) {
			testenv.Must(t, d.st.Remove(t.Context(), d.pathOf(m.Parts[0].Files[0].Name)))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d, st := inMemory(t)
			m := publishOutput(t, d, st, "P")
			added := publishIncrement(t, d, "I")
			p := planOf(t, "Q")
			tt.plan(d, m, added, p)
			if tt.bare {
				dir, _, err := d.Staging(t.Context(), p.ID)
				if err == nil {
					err = st.WriteFile(t.Context(), path.Join(dir, manifest.TaskName(0)), nil, true)
				}
				testenv.Must(t, err)
			} else {
				p.ID = newPlanID(t, p)
				stageInDir(t, d, p)
			}
			before := stateOf(t, d)
			if before.Leftovers != tt.dead {
				t.Errorf("got leftovers %t, want %t", before.Leftovers, tt.dead)
			}
			s := mustStatus(t, d)
			if dead := len(s.Debris) == 1 && s.Debris[0].What == deadWork && len(s.Unfinished) == 0; dead != tt.dead {
				t.Errorf("got debris %+v and work %+v, want dead %t", s.Debris, s.Unfinished, tt.dead)
			}
			claimAndRelease(t, d)
			ids, err := d.StagedPlans(t.Context())
			if err != nil || len(ids) == 0 != tt.dead {
				t.Errorf("got staged plans %v, %v", ids, err)
			}
			if after := stateOf(t, d); after.Success.ID != m.ID || len(after.Increments) != 1 || after.damage != before.damage || after.Leftovers {
				t.Errorf("%+v", after)
			}
		})
	}
}

// TestPublishOutdatesPlans checks that Publish removes the work of plans that the output
// outdates, and no other.
func TestPublishOutdatesPlans(t *testing.T) {
	d, st := inMemory(t)
	m := publishOutput(t, d, st, "P")
	stageInDir(t, d, planFor(t, d, "old", 2))
	stageInDir(t, d, incrementPlan(t, "I", m.ID))
	bare, _, err := d.Staging(t.Context(), "0123")
	testenv.Must(t, err)
	c, _, r := claimAndStage(t, d, "Q")
	mustPublish(t, c, r)
	if ids, err := d.StagedPlans(t.Context()); err != nil || len(ids) != 1 || d.StagingPath(ids[0]) != bare {
		t.Errorf("got work of %q, %v", ids, err)
	}
	mustRelease(t, c)
}
