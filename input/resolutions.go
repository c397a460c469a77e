package input

import (
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
)

// maxKnown bounds the bytes of the schemas whose resolution is kept: each input
// may have one of its own.
const maxKnown = 1 << 20

// Resolutions are how the rows of inputs become rows of one schema. They may be
// used concurrently.
type Resolutions struct {
	reader *shred.Schema // nil: all inputs have the same

	mu    sync.Mutex
	known map[string]*shred.Resolution // by the schema that the rows were written with
	bytes int                          // of the keys of known
}

// NewResolutions returns how rows become rows of reader's schema; with nil they
// are taken as they are.
func NewResolutions(reader *shred.Schema) *Resolutions { return &Resolutions{reader: reader} }

// Of returns how the rows of an input are resolved; nil if they can be taken as
// they are.
func (r *Resolutions) Of(name, schema string) (*shred.Resolution, error) {
	if r.reader == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if by, ok := r.known[schema]; ok {
		return by, nil
	}
	writer, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, failure.As(failure.Input, InFile(name, err))
	}
	by, err := shred.Resolve(writer, r.reader)
	if err != nil {
		return nil, failure.As(failure.Input, InFile(name, err))
	}
	if by.Identity() {
		by = nil
	}
	if r.bytes += len(schema); r.known == nil || r.bytes > maxKnown {
		r.known, r.bytes = map[string]*shred.Resolution{}, len(schema)
	}
	r.known[schema] = by
	return by, nil
}

// ReaderSchema parses the schema that the request asks for, and checks that the
// schemas of all inputs resolve to it.
func ReaderSchema(text string, inputs []manifest.Input, schemas []string) (*shred.Schema, error) {
	reader, err := shred.ParseSchema(text)
	if err != nil {
		return nil, failure.As(failure.Usage, fmt.Errorf("the reader's schema: %w", err))
	}
	r := NewResolutions(reader)
	for i, schema := range schemas {
		if _, err := r.Of(inputs[i].Path, schema); err != nil {
			return nil, err
		}
	}
	return reader, nil
}

// InFile names the input whose schema err is about.
func InFile(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("input %s: %w", name, err)
}
