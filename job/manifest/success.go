package manifest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// Success is the _SUCCESS document of a committed output.
type Success struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // ID of the output: see NewID
	// Sequence is the number of the output. A later output of the destination has a higher one.
	Sequence int64 `json:"sequence"`
	// Increment is whether the output is an increment, in a directory of its own. Base is the ID
	// of the output next to it; empty if there was none. The increment counts, as part of what
	// the destination holds, only while that output is there.
	Increment bool   `json:"increment,omitempty"`
	Base      string `json:"base,omitempty"`
	// Replaces are the IDs of all outputs and increments that the destination held, in
	// order. Publishing removes only these. It is empty if Increment is set.
	Replaces []string `json:"replaces,omitempty"`
	Plan     string   `json:"plan"` // Plan.ID
	Request  Request  `json:"request"`
	Schema   string   `json:"schema"`
	Parts    []Part   `json:"parts"` // in row order
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Losses   []Loss   `json:"losses,omitempty"`
	Index    []File   `json:"index,omitempty"`
	// LeftOut are the fields of inputs that Schema lacks.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// InvalidUTF8 and Inexact are sums over the tasks.
	InvalidUTF8 int64         `json:"invalid_utf8,omitempty"`
	Inexact     shred.Inexact `json:"inexact,omitzero"`
	Made        *Made         `json:"made,omitempty"`
}

// Files returns the files of the output, those of the parts first.
func (s *Success) Files() []File { return files(s.Parts, s.Losses, s.Index) }

// NewSuccess returns the document of an output from the results of all tasks, in
// order. It lists the files by the names that Published returns. Row groups without
// rows come from ranges in which no block starts. They are left out, but an output
// without any rows keeps one, which shows the columns.
func NewSuccess(p *Plan, id string, results []*TaskResult) *Success {
	s := &Success{Version: Version, ID: id, Increment: p.Increment, Plan: p.ID, Request: p.Request, Schema: p.Schema, LeftOut: p.LeftOut}
	if p.Increment {
		s.Base = p.Base
	}
	for _, r := range results {
		s.Rows += r.RowsIn
	}
	for _, in := range p.Request.Inputs {
		if in.Size == 0 { // no task has a piece of it
			s.Losses = append(s.Losses, Loss{Input: in.Path, Reason: "the file is empty, it has not even a header"})
		}
	}
	for _, r := range results {
		s.InvalidUTF8 += r.InvalidUTF8
		s.Inexact = s.Inexact.Plus(r.Inexact)
		for _, f := range r.Index {
			s.Index = append(s.Index, published(f, id))
		}
		for _, l := range r.Losses {
			if l.Quarantine != nil {
				f := published(*l.Quarantine, id)
				l.Quarantine = &f
			}
			s.Losses = append(s.Losses, l)
		}
		for _, part := range r.Parts {
			if part.Rows == 0 && (s.Rows > 0 || r.Task > 0 || part.RowGroup > 0) {
				continue
			}
			part.Files = slices.Clone(part.Files)
			for i := range part.Files {
				part.Files[i] = published(part.Files[i], id)
			}
			s.Parts = append(s.Parts, part)
			s.Bytes += part.Bytes()
		}
	}
	return s
}

// published returns a staged file as a file of an output.
func published(f File, id string) File {
	f.Name, f.StoreChecksum = Published(f.Name, id), ""
	return f
}

// Encode returns the document's bytes.
func (s *Success) Encode() ([]byte, error) { return encode(s) }

// DecodeSuccess reads a _SUCCESS document, and checks the names of its files.
func DecodeSuccess(b []byte) (*Success, error) {
	s := new(Success)
	err := decode("_SUCCESS", b, s)
	if errors.Is(err, ErrAltered) {
		err = fmt.Errorf("%w; put a copy of it back, or remove it and make the output again with --overwrite", err)
	}
	if err == nil {
		err = s.validate()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// validate refuses a document that no output can have.
func (s *Success) validate() error {
	//guard: rejects a document without an ID
	if !IsID(s.ID) {
		return fmt.Errorf("_SUCCESS: %q is not the ID of an output", s.ID)
	}
	if err := s.checkNames(); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("_SUCCESS: %w", err)
	}
	return nil
}

// checkNames refuses files whose names are not those of the output's files.
func (s *Success) checkNames() error {
	wrong := func(f File) error {
		return fmt.Errorf("_SUCCESS: %q is not the name of a file of output %s", f.Name, s.ID)
	}
	for _, p := range s.Parts {
		for _, f := range p.Files {
			//guard: rejects a file that is no part of this output
			if !isPublishedPart(f.Name, s.ID) {
				return wrong(f)
			}
		}
	}
	for _, l := range s.Losses {
		//guard: rejects a copy of another output
		if l.Quarantine != nil && !quarantine.published(l.Quarantine.Name, s.ID) {
			return wrong(*l.Quarantine)
		}
	}
	for _, f := range s.Index {
		//guard: rejects an index of another output
		if !index.published(f.Name, s.ID) {
			return wrong(f)
		}
	}
	return nil
}
