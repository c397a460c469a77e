package task

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// Started is the document that a run leaves in the directory of a plan's work once a scheduler
// runs the plan's tasks on other machines. A reader of the destination learns from it where
// the tasks run, also after the run has ended.
type Started struct {
	Version int    `json:"version"`
	Run     string `json:"run"` // ID of the run that started the job
	// Job is the ID for attaching to the job, and URL is where the scheduler shows it.
	Job string `json:"job"`
	URL string `json:"url,omitempty"`
	// At is the time by the clock of the machine that started the job.
	At time.Time `json:"at"`
}

const (
	startedVersion = 1
	startedPrefix  = "job-"
	maxStarted     = 64 << 10 // bytes of a document
)

// IsStarted reports whether a file in the directory of a plan's work has the name of a Started
// document.
func IsStarted(name string) bool {
	return strings.HasPrefix(name, startedPrefix) && strings.HasSuffix(name, ".json")
}

// Write writes the document to a directory. It replaces the document of the same job.
func (s *Started) Write(ctx context.Context, st store.Store, dir string) error {
	s.Version = startedVersion
	doc, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return st.WriteFile(ctx, path.Join(dir, startedPrefix+s.Job+".json"), append(doc, '\n'), true)
}

// ReadStarted reads a document. It returns nil if the file is gone or holds no valid document.
func ReadStarted(ctx context.Context, st store.Store, name string) (*Started, error) {
	doc, err := st.ReadFile(ctx, name, maxStarted)
	if store.Absent(err) || errors.Is(err, store.ErrTooLarge) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(Started)
	if json.Unmarshal(doc, s) != nil || s.Version != startedVersion || s.Job == "" {
		return nil, nil
	}
	return s, nil
}
