package job

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/publish"
)

// Values of Prospect.Does.
const (
	DoNothing    = "nothing"       // the output is there
	Resume       = "resume"        // continue an unfinished run
	AddIncrement = "add increment" // convert the new inputs
	PlanAnew     = "plan"          // plan and convert all inputs
	Refuse       = "refuse"        // see Prospect.Refusal
)

// Prospect describes what a conversion would do.
type Prospect struct {
	Does    string `json:"does"`
	Refusal string `json:"refusal,omitempty"` // reason, if Does is Refuse
	Resumes string `json:"resumes,omitempty"` // name of the work to continue, if Does is Resume
	// Inputs counts the inputs; for an incremental conversion, only the new ones.
	Inputs int `json:"inputs"`
	// Differences describe how the request differs from that of the output. An incremental
	// conversion has none.
	Differences []string `json:"differences"`
	// Unfinished describes, by name, how unfinished runs differ and so are not resumed.
	Unfinished map[string][]string `json:"unfinished_differences,omitempty"`
}

// Foresee returns what Convert would do now. s is the status of the request's destination.
// Foresee changes nothing, and opens the inputs that Convert would open.
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
	_, nothing := r.nothingToDo(s.State, survey)
	switch {
	case nothing:
		p.Does = DoNothing
		return p
	case r.Incremental:
		p.Does = AddIncrement
	default:
		if err := s.CheckReplaceable(now, r.Overwrite); err != nil {
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
