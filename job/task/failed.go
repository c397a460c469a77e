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

// Failed is the document that a failed attempt at a task on another machine leaves in the
// directory of the plan's work, if it can. The scheduler tells the run that started the job
// only that the attempt failed.
type Failed struct {
	Version int    `json:"version"`
	Run     string `json:"run"` // ID of the run that started the job
	// Job and Attempt are the scheduler's IDs. Attempt is part of the document's name,
	// and unique in the plan.
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
	Host    string `json:"host"`
	Task    int    `json:"task"` // -1 if the attempt had no task
	Kind    string `json:"kind"` // name of the error's kind: see failure.Name
	Exit    int    `json:"exit"`
	Message string `json:"message"`
	// Damage says where the input is damaged, if the attempt failed because of damage.
	// Message has the cause.
	Damage *damage.Error `json:"damage,omitempty"`
	Log    string        `json:"log,omitempty"` // path of the attempt's log on the host
}

const (
	failedVersion = 1
	failedPrefix  = "failed-"
	// maxFailed bounds a document in bytes, and maxFailures the number of documents read.
	maxFailed   = 256 << 10
	maxFailures = 1000
	// maxText bounds each of the five texts of a document, in bytes. JSON may make them
	// six times as long.
	maxText       = 8 << 10
	failedReaders = 8
)

// kind returns the kind of the attempt's error; nil for a defect.
func (f *Failed) kind() error {
	switch kind := failure.Named(f.Kind); kind {
	//guard: rejects a kind that the error of a task cannot have
	case failure.Locked, failure.Different, failure.Losses:
		return nil
	default:
		return kind
	}
}

// Permanent reports whether another attempt would fail with the same error.
func (f *Failed) Permanent() bool { return f.kind() != failure.Storage }

// NewFailed returns the document of an error, with its message and the place of damage.
func NewFailed(err error) *Failed {
	f := &Failed{Version: failedVersion, Kind: failure.Name(failure.KindOf(err)), Message: truncate(err.Error())}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		short := *d
		short.Err = nil // the message has it, and JSON cannot be decoded into an error
		for _, text := range []*string{&short.File, &short.Column, &short.Path, &short.Reason} {
			*text = truncate(*text)
		}
		f.Damage = &short
	}
	return f
}

// truncate returns the part of a text that a document holds.
func truncate(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// locatedError is a damage.Error with another message.
type locatedError struct {
	error
	at *damage.Error
}

func (e *locatedError) Unwrap() []error { return []error{e.error, e.at} }

// Cause returns the error of the attempt.
func (f *Failed) Cause() error {
	err := errors.New(f.Message)
	if f.Damage != nil {
		err = &locatedError{err, f.Damage}
	}
	if kind := f.kind(); kind != nil {
		return failure.As(kind, err)
	}
	return err
}

// Err returns the error for the run that started the job. plan is the ID of the plan.
func (f *Failed) Err(plan string) error {
	err := fmt.Errorf("%w (%s on %s)", f.Cause(), f.Attempt, f.Host)
	if f.Task < 0 {
		return err
	}
	return &Failure{Plan: plan, Task: f.Task, Err: err}
}

// MostSevere returns the document that best explains why a job failed; nil if there are none.
func MostSevere(all []Failed) *Failed {
	if len(all) == 0 {
		return nil
	}
	first := slices.MinFunc(all, func(a, b Failed) int {
		return cmp.Or(failure.Compare(a.kind(), b.kind()), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Attempt, b.Attempt))
	})
	return &first
}

// FailedName returns the name of the document of an attempt at a task.
func FailedName(task int, attempt string) string {
	if task < 0 {
		return failedPrefix + "none-" + attempt + ".json"
	}
	return fmt.Sprintf("%s%05d-%s.json", failedPrefix, task, attempt)
}

// Write writes the document to a directory.
func (f *Failed) Write(ctx context.Context, st store.Store, dir string) error {
	doc, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return st.WriteFile(ctx, path.Join(dir, FailedName(f.Task, f.Attempt)), append(doc, '\n'), false)
}

// ReadFailed reads a document. It returns nil if the document cannot be read or belongs to
// another run, because callers can do without the document.
func ReadFailed(ctx context.Context, st store.Store, name, run string) *Failed {
	doc, err := st.ReadFile(ctx, name, maxFailed)
	if err != nil {
		return nil
	}
	f := new(Failed)
	//guard: rejects the document of another run
	if json.Unmarshal(doc, f) != nil || f.Version != failedVersion || f.Run != run {
		return nil
	}
	return f
}

// ReadFailures reads the documents that failed attempts of a run's job left in the
// directory of a plan's work. It leaves out documents that cannot be read.
func ReadFailures(ctx context.Context, st store.Store, dir, run string) ([]Failed, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	infos = slices.DeleteFunc(infos, func(i store.Info) bool {
		return !strings.HasPrefix(i.Name, failedPrefix) || !strings.HasSuffix(i.Name, ".json")
	})
	// The directory may also have documents of earlier jobs, which come last.
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
