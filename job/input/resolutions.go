package input

import (
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// maxKnown bounds the bytes of the schemas whose resolutions are kept, because each input may
// have a schema of its own.
const maxKnown = 1 << 20

// Resolutions resolve the rows of inputs to one schema. They may be used
// concurrently.
type Resolutions struct {
	reader *shred.Schema // nil if all inputs have the same schema
	rules  shred.Rules

	mu    sync.Mutex
	known map[string]*shred.Resolution // resolutions, by the schema with which the rows were written
	bytes int                          // total length of the keys of known
}

// NewResolutions returns resolutions to the schema of a request. reader is that schema, parsed.
// If the request has no schema, rows are not resolved.
func NewResolutions(r *manifest.Request, reader *shred.Schema) *Resolutions {
	if r.Schema == "" {
		return &Resolutions{}
	}
	rules := shred.AllowChanges
	//guard: keeps the meaning of values if the schema comes from an earlier output
	if r.SchemaKept {
		rules = shred.KeepMeaning
	}
	return &Resolutions{reader: reader, rules: rules}
}

// Of returns the resolution for the rows of an input. It returns nil if the rows need not be
// resolved.
func (r *Resolutions) Of(name, schema string) (*shred.Resolution, error) {
	if r.reader == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if by, ok := r.known[schema]; ok {
		return by, nil
	}
	by, err := r.resolve(name, schema)
	if err != nil {
		return nil, err
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

// resolve returns the resolution of an input's schema to the reader's.
func (r *Resolutions) resolve(name, schema string) (*shred.Resolution, error) {
	writer, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, failure.As(failure.Input, &HeaderError{InFile(name, err)})
	}
	by, err := shred.Resolve(writer, r.reader, r.rules)
	if err != nil {
		return nil, failure.As(failure.Input, InFile(name, err))
	}
	return by, nil
}

// InFile adds the name of an input to an error about its schema.
func InFile(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("input %s: %w", name, err)
}
