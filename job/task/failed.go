package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Failed is the document that an attempt at a task on another machine leaves where its
// work was to be, if it can: whoever started the job learns from the scheduler only that it
// failed.
type Failed struct {
	Version int    `json:"version"`
	Run     string `json:"run"` // of the program that started the job
	// Job and Attempt are the scheduler's IDs. That of the attempt is part of the name of
	// the document, and unique in the plan.
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
	Host    string `json:"host"`
	Task    int    `json:"task"` // -1 if the attempt was at none
	Kind    string `json:"kind"` // as failure.Name has it
	Exit    int    `json:"exit"`
	Message string `json:"message"`
	// Damage is where the input is damaged, if the attempt failed of that. The message
	// tells of its cause.
	Damage *damage.Error `json:"damage,omitempty"`
	Log    string        `json:"log,omitempty"` // file on the host
}

const (
	failedVersion = 1
	failedPrefix  = "failed-"
	// maxFailed bounds a document in bytes, and maxFailures how many are read.
	maxFailed   = 256 << 10
	maxFailures = 1000
	// maxText bounds each of its five texts of any length, in bytes, of which JSON may
	// make six times as many.
	maxText       = 8 << 10
	failedReaders = 8
)

// kind is the kind of what the attempt failed of; nil for a defect.
func (f *Failed) kind() error {
	switch kind := failure.Named(f.Kind); kind {
	//guard: rejects a kind that no task leaves
	case failure.Locked, failure.Different, failure.Losses:
		return nil
	default:
		return kind
	}
}

// Lasting reports whether another attempt would fail of the same.
func (f *Failed) Lasting() bool { return f.kind() != failure.Storage }

// FailedOf is the document of an error: of its message, and of where it is about damage.
func FailedOf(err error) *Failed {
	f := &Failed{Version: failedVersion, Kind: failure.Name(failure.KindOf(err)), Message: brief(err.Error())}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		short := *d
		short.Err = nil // the message has it, and JSON could not be read back into an error
		for _, text := range []*string{&short.File, &short.Column, &short.Path, &short.Reason} {
			*text = brief(*text)
		}
		f.Damage = &short
	}
	return f
}

// brief is as much of a text as a document has.
func brief(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// located is an error in other words than those of the damage.Error that it is.
type located struct {
	error
	at *damage.Error
}

func (e *located) Unwrap() []error { return []error{e.error, e.at} }

// Cause is the error that the attempt failed of.
func (f *Failed) Cause() error {
	err := errors.New(f.Message)
	if f.Damage != nil {
		err = &located{err, f.Damage}
	}
	if kind := f.kind(); kind != nil {
		return failure.As(kind, err)
	}
	return err
}

// Err is the error for whoever started the job, of the plan with an ID.
func (f *Failed) Err(plan string) error {
	err := fmt.Errorf("%w (%s on %s)", f.Cause(), f.Attempt, f.Host)
	if f.Task < 0 {
		return err
	}
	return &Failure{Plan: plan, Task: f.Task, Err: err}
}

// Weightiest is the document that says most of why a job failed; nil without any.
func Weightiest(all []Failed) *Failed {
	if len(all) == 0 {
		return nil
	}
	least := slices.MinFunc(all, func(a, b Failed) int {
		return cmp.Or(failure.Compare(a.kind(), b.kind()), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt))
	})
	return &least
}

// FailedName names the document of an attempt at a task.
func FailedName(task int, attempt string) string {
	if task < 0 {
		return failedPrefix + "none-" + attempt + ".json"
	}
	return fmt.Sprintf("%s%05d-%s.json", failedPrefix, task, attempt)
}

// Leave leaves the document in a directory.
func (f *Failed) Leave(ctx context.Context, st store.Store, dir string) error {
	doc, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return st.WriteFile(ctx, path.Join(dir, FailedName(f.Task, f.Attempt)), append(doc, '\n'), false)
}

// ReadFailed reads a document; nil if there is none that can be read, or it is not
// of the run: nobody depends on it.
func ReadFailed(ctx context.Context, st store.Store, name, run string) *Failed {
	doc, err := st.ReadFile(ctx, name, maxFailed)
	if err != nil {
		return nil
	}
	f := new(Failed)
	//guard: rejects the document of another job
	if json.Unmarshal(doc, f) != nil || f.Version != failedVersion || f.Run != run {
		return nil
	}
	return f
}

// ReadFailures reads what the attempts of a run's job that failed left in the
// directory of a plan's work. What cannot be read is left out.
func ReadFailures(ctx context.Context, st store.Store, dir, run string) ([]Failed, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	infos = slices.DeleteFunc(infos, func(i store.Info) bool {
		return !strings.HasPrefix(i.Name, failedPrefix) || !strings.HasSuffix(i.Name, ".json")
	})
	// Those of earlier jobs are there as well.
	slices.SortStableFunc(infos, func(a, b store.Info) int { return b.ModTime.Compare(a.ModTime) })
	infos = infos[:min(len(infos), maxFailures)]
	found := make([]*Failed, len(infos))
	err = parallel.Do(ctx, len(infos), failedReaders, func(ctx context.Context, i int) error {
		found[i] = ReadFailed(ctx, st, infos[i].Path, run)
		return ctx.Err()
	})
	var all []Failed
	for _, f := range found {
		if f != nil {
			all = append(all, *f)
		}
	}
	return all, err
}
