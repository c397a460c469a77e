package job

import (
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
)

// maxKnown bounds the bytes of the schemas whose resolution is kept: each input
// may have one of its own.
const maxKnown = 1 << 20

// resolutions are how the rows of inputs become rows of one schema. They are for
// several goroutines.
type resolutions struct {
	reader *shred.Schema // nil: all inputs have the same

	mu    sync.Mutex
	known map[string]*shred.Resolution // by the schema that the rows were written with
	bytes int                          // of the keys of known
}

// of returns how the rows of an input are resolved; nil if they can be taken as
// they are.
func (r *resolutions) of(name, schema string) (*shred.Resolution, error) {
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
		return nil, wrap(ErrInput, inFile(name, err))
	}
	by, err := shred.Resolve(writer, r.reader)
	if err != nil {
		return nil, wrap(ErrInput, inFile(name, err))
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

// readerSchema parses the schema that the request asks for, and checks that the
// schemas of all inputs resolve to it.
func readerSchema(text string, inputs []manifest.Input, schemas []string) (*shred.Schema, error) {
	reader, err := shred.ParseSchema(text)
	if err != nil {
		return nil, wrap(ErrUsage, fmt.Errorf("the reader's schema: %w", err))
	}
	r := resolutions{reader: reader}
	for i, schema := range schemas {
		if _, err := r.of(inputs[i].Path, schema); err != nil {
			return nil, err
		}
	}
	return reader, nil
}

// schemaFault says whose schema it is that cannot be converted.
func schemaFault(p *manifest.Plan, err error) error {
	if p.Options.ReaderSchema {
		return wrap(ErrUsage, fmt.Errorf("the reader's schema: %w", err))
	}
	return wrap(ErrInput, inFile(p.Inputs[0].Path, err))
}
