package input

import (
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// maxKnown bounds the bytes of the schemas whose resolution is kept: each input
// may have one of its own.
const maxKnown = 1 << 20

// Resolutions are how the rows of inputs become rows of one schema. They may be
// used concurrently.
type Resolutions struct {
	reader *shred.Schema // nil: all inputs have the same
	rules  shred.Rules

	mu    sync.Mutex
	known map[string]*shred.Resolution // by the schema that the rows were written with
	bytes int                          // of the keys of known
}

// NewResolutions returns how rows become rows of reader's schema, which is the one of
// a request; with nil they are taken as they are.
func NewResolutions(r *manifest.Request, reader *shred.Schema) *Resolutions {
	if r.Schema == "" {
		return &Resolutions{}
	}
	rules := shred.AllowChanges
	//guard: keeps values as they are where only an earlier output asks for its schema
	if r.SchemaKept {
		rules = shred.KeepMeaning
	}
	return &Resolutions{reader: reader, rules: rules}
}

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

// resolve returns how the rows of an input become rows of the reader's schema.
func (r *Resolutions) resolve(name, schema string) (*shred.Resolution, error) {
	writer, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, failure.As(failure.Input, InFile(name, err))
	}
	by, err := shred.Resolve(writer, r.reader, r.rules)
	if err != nil {
		return nil, failure.As(failure.Input, InFile(name, err))
	}
	return by, nil
}

// InFile names the input whose schema err is about.
func InFile(name string, err error) error {
	if damage.SetFile(err, name) {
		return err
	}
	return fmt.Errorf("input %s: %w", name, err)
}
