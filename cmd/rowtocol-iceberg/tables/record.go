package tables

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/job/failure"
)

// recordKey is the property of a table that holds its Record.
const recordKey = "rowtocol.output"

const recordVersion = 1

// Record says what a table holds.
type Record struct {
	Version int `json:"version"`
	// Destination is the URI of the destination.
	Destination string `json:"destination"`
	// Outputs are the names of the outputs and increments: see source.Source.
	Outputs []string `json:"outputs"`
	// Files is the number of files, and Digest the SHA-256 of their URIs.
	Files  int    `json:"files"`
	Digest string `json:"digest"`
}

func newRecord(destination string, outputs, files []string) *Record {
	return &Record{recordVersion, destination, outputs, len(files), digest(files)}
}

// recordOf returns the record for a source.
func recordOf(s *source.Source) *Record {
	files := make([]string, len(s.Files))
	for i := range s.Files {
		files[i] = s.Files[i].URI
	}
	return newRecord(s.URI, s.Outputs, files)
}

// digest returns the SHA-256 of names in any order.
func digest(names []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(names)), "\n")))
	return hex.EncodeToString(sum[:])
}

// parseRecord returns the record of a table with these properties; nil if there is none.
func parseRecord(properties map[string]string) (*Record, error) {
	text, ok := properties[recordKey]
	if !ok {
		return nil, nil
	}
	r := new(Record)
	err := json.Unmarshal([]byte(text), r)
	//guard: refuses a record that another program wrote, or a later version
	if err != nil || r.Version != recordVersion {
		return nil, failure.New(failure.Foreign, "the property %s of the table is not one that this program reads: %.200s", recordKey, text)
	}
	return r, nil
}

// same reports whether two records say the same.
func (r *Record) same(other *Record) bool {
	return r.Destination == other.Destination && slices.Equal(r.Outputs, other.Outputs) && r.holds(other.Files, other.Digest)
}

// holds reports whether the record names files with this digest.
func (r *Record) holds(files int, digest string) bool { return r.Files == files && r.Digest == digest }

func (r *Record) text() string {
	b, _ := json.Marshal(r) // strings and numbers can be encoded
	return string(b)
}
