package manifest

import (
	"fmt"
	"strings"
)

// Pending is the document of an output that is being published.
type Pending struct {
	*Success
	// Staged are the staged names of Success.Entries, in the same order.
	Staged []string `json:"staged"`
	// KeepSeconds is how long the files of the outputs that it replaces stay: see Kept. With 0
	// they are removed at once.
	KeepSeconds int64 `json:"keep_seconds,omitempty"`
}

// NewPending returns the document of an output from the results of all tasks: see NewSuccess.
func NewPending(p *Plan, id string, results []*TaskResult) *Pending {
	staged := make(map[string]string)
	for _, r := range results {
		for _, e := range r.Entries() {
			staged[Published(e.Name, id)] = e.Name
		}
	}
	d := &Pending{Success: NewSuccess(p, id, results)}
	for _, e := range d.Entries() {
		d.Staged = append(d.Staged, staged[e.Name])
	}
	return d
}

// StagedEntries returns Success.Entries with their staged names.
func (p *Pending) StagedEntries() []Entry {
	all := p.Entries()
	for i := range all {
		e := &all[i]
		files := make([]File, len(e.Files))
		for j, f := range e.Files {
			files[j] = f
			files[j].Name = p.Staged[i] + strings.TrimPrefix(f.Name, e.Name)
		}
		e.Name, e.Files = p.Staged[i], files
	}
	return all
}

// Encode returns the document's bytes.
func (p *Pending) Encode() ([]byte, error) { return encode(p) }

// DecodePending reads the document of an output that is being published.
func DecodePending(b []byte) (*Pending, error) {
	p := &Pending{Success: new(Success)}
	err := decode("pending manifest", b, p)
	if err == nil {
		err = p.validate()
	}
	if err == nil {
		err = checkKeep(p.KeepSeconds)
	}
	if err != nil {
		return nil, err
	}
	entries := p.Entries()
	//guard: rejects an entry without its staged file
	if len(p.Staged) != len(entries) {
		return nil, fmt.Errorf("pending manifest: it has %d staged names for %d files", len(p.Staged), len(entries))
	}
	for i, name := range p.Staged {
		//guard: rejects a staged file outside the plan's work
		if strings.Contains(name, "/") || Published(name, p.ID) != entries[i].Name {
			return nil, fmt.Errorf("pending manifest: %q does not become %q", name, entries[i].Name)
		}
	}
	return p, nil
}
