package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// success1 is the _SUCCESS document of version 1.
type success1 struct {
	Version     int      `json:"version"`
	Plan        string   `json:"plan"`
	Format      string   `json:"format"`
	Schema      string   `json:"schema"`
	Options     options1 `json:"options"`
	Inputs      []Input  `json:"inputs"`
	Parts       []part1  `json:"parts"`
	Rows        int64    `json:"rows"`
	Bytes       int64    `json:"bytes"`
	Losses      []loss1  `json:"losses"`
	InvalidUTF8 int64    `json:"invalid_utf8"`
}

type options1 struct {
	Options
	formatOptions1
	ReaderSchema bool `json:"reader_schema"`
}

// formatOptions1 are the options that were Trevni's, and are its document now.
type formatOptions1 struct {
	Codec        string            `json:"codec"`
	ColumnCodecs map[string]string `json:"column_codecs,omitempty"`
	Checksum     string            `json:"checksum"`
	Meta         []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"meta,omitempty"`
	Values []string `json:"values,omitempty"`
}

type part1 struct {
	File
	Task     int   `json:"task"`
	RowGroup int   `json:"row_group"`
	Rows     int64 `json:"rows"`
}

type loss1 struct {
	Input      string `json:"input"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Rows       int64  `json:"rows"`
	Reason     string `json:"reason"`
	Quarantine string `json:"quarantine"` // without a length and a checksum
}

// Names of version 1: they hold no ID.
var (
	partPattern1       = lazyregexp.New(`^part-\d{5,9}(-\d{1,9})?\.trv$`)
	quarantinePattern1 = lazyregexp.New(`^\d{5,9}-[^/\x00]*@\d{1,19}-\d{1,19}$`)
)

func isPublished1(name string) bool {
	rest, ok := strings.CutPrefix(name, QuarantineDir+"/")
	return partPattern1.MatchString(name) || ok && quarantinePattern1.MatchString(rest)
}

// decodeSuccess1 reads a document of version 1. Copies of damaged bytes have
// their length, but no checksum in it.
func decodeSuccess1(b []byte) (*Success, error) {
	var old success1
	d := json.NewDecoder(bytes.NewReader(b))
	//guard: what is in no document of version 1 would be dropped in silence
	d.DisallowUnknownFields()
	if err := d.Decode(&old); err != nil {
		return nil, fmt.Errorf("_SUCCESS: %w", err)
	}
	s := &Success{
		Version: 1, ID: old.Plan, Plan: old.Plan, Schema: old.Schema, Rows: old.Rows, Bytes: old.Bytes, InvalidUTF8: old.InvalidUTF8,
		Request: Request{Inputs: old.Inputs, Options: old.Options.Options},
	}
	var err error
	if s.Request.Options.FormatOptions, err = json.Marshal(old.Options.formatOptions1); err != nil {
		return nil, fmt.Errorf("_SUCCESS: %w", err)
	}
	if old.Options.ReaderSchema {
		s.Request.Schema = old.Schema
	}
	for _, p := range old.Parts {
		s.Parts = append(s.Parts, Part{Task: p.Task, RowGroup: p.RowGroup, Rows: p.Rows, Files: []File{p.File}})
	}
	for _, l := range old.Losses {
		loss := Loss{Input: l.Input, Start: l.Start, End: l.End, Rows: l.Rows, Reason: l.Reason}
		if l.Quarantine != "" {
			loss.Quarantine = &File{Name: l.Quarantine, Bytes: l.End - l.Start}
		}
		s.Losses = append(s.Losses, loss)
	}
	for _, f := range s.Files() {
		//guard: a document could name files that are no output of ours
		if !isPublished1(f.Name) {
			return nil, fmt.Errorf("_SUCCESS: %q is not the name of an output file", f.Name)
		}
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("_SUCCESS: %w", err)
	}
	return s, nil
}
