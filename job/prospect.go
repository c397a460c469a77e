package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
)

// What Convert would do.
const (
	DoNothing    = "nothing"       // what is asked for is there
	Resume       = "resume"        // go on with an unfinished run
	AddIncrement = "add increment" // convert the inputs that are new
	PlanAnew     = "plan"          // plan and convert all of it
	Refuse       = "refuse"        // see Prospect.Refusal
)

// Prospect is what a conversion would do.
type Prospect struct {
	Does    string `json:"does"`
	Refusal string `json:"refusal,omitempty"` // why, of Refuse
	Resumes string `json:"resumes,omitempty"` // of Resume: the name of what it would go on with
	// Inputs is how many are asked for, of which an incremental conversion has those
	// that are new.
	Inputs int `json:"inputs"`
	// Differences are those of the request from that of the output, in words. An
	// incremental conversion has none.
	Differences []string `json:"differences"`
	// Unfinished are the differences from unfinished runs, by their names: why they are
	// not resumed.
	Unfinished map[string][]string `json:"unfinished_differences,omitempty"`
}

// Foresee says what Convert would do now. s is the status of the request's
// destination. It changes nothing, and opens the inputs that Convert would open.
func Foresee(ctx context.Context, r Request, s *publish.Status) (*Prospect, error) {
	survey, _, err := Survey(ctx, r)
	if errors.Is(err, failure.Foreign) {
		return &Prospect{Does: Refuse, Refusal: err.Error(), Differences: []string{}}, nil
	}
	if err != nil {
		return nil, err
	}
	return foresee(&r, survey, s), nil
}

func foresee(r *Request, survey *plan.Survey, s *publish.Status) *Prospect {
	now := &survey.Request
	p := &Prospect{Does: PlanAnew, Inputs: len(now.Inputs), Differences: []string{}, Unfinished: make(map[string][]string)}
	if s.Success != nil && !r.Incremental {
		p.Differences = append(p.Differences, s.Success.Request.Differences(now)...)
	}
	_, nothing := r.nothing(s.State, survey)
	switch {
	case nothing:
		p.Does = DoNothing
		return p
	case r.Incremental:
		p.Does = AddIncrement
	default:
		if err := s.Allow(now, r.Overwrite); err != nil {
			p.Does, p.Refusal = Refuse, err.Error()
			return p
		}
	}
	c := &conversion{Request: r, plan: &manifest.Plan{Request: *now, Increment: r.Incremental, Base: s.ID()}}
	for i := range s.Unfinished {
		w := &s.Unfinished[i]
		switch {
		case w.Plan == nil:
		case !c.resumes(w.Plan):
			p.Unfinished[w.Name] = w.Plan.Request.Differences(now)
		case p.Resumes == "" && !r.Restart:
			p.Does, p.Resumes = Resume, w.Name
		}
	}
	return p
}
