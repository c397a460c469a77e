package job

import (
	"fmt"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
)

// resolvers make the rows of inputs rows of one schema. They belong to one
// goroutine.
type resolvers struct {
	reader *shred.Schema              // nil: all inputs have the same
	known  map[string]*shred.Resolver // by the schema that the rows were written with
}

// of returns what resolves the rows of an input; nil if they can be taken as
// they are.
func (r *resolvers) of(name, schema string) (*shred.Resolver, error) {
	if r.reader == nil {
		return nil, nil
	}
	if resolver, ok := r.known[schema]; ok {
		return resolver, nil
	}
	writer, err := shred.ParseSchema(schema)
	if err != nil {
		return nil, wrap(ErrInput, inFile(name, err))
	}
	resolver, err := shred.NewResolver(writer, r.reader)
	if err != nil {
		return nil, wrap(ErrInput, inFile(name, err))
	}
	if resolver.Identity() {
		resolver = nil
	}
	if r.known == nil {
		r.known = map[string]*shred.Resolver{}
	}
	r.known[schema] = resolver
	return resolver, nil
}

// readerSchema parses the schema that the request asks for, and checks that the
// schemas of all inputs resolve to it.
func readerSchema(text string, inputs []manifest.Input, schemas []string) (*shred.Schema, error) {
	reader, err := shred.ParseSchema(text)
	if err != nil {
		return nil, wrap(ErrUsage, fmt.Errorf("the reader's schema: %w", err))
	}
	r := resolvers{reader: reader}
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
