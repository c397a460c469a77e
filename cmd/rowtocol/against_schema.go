package main

import (
	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

// outputSchema is the schema of an output, which is to be that of its inputs: bytes
// that are equal mean something else under other names, symbols or scales.
type outputSchema struct {
	schema   *shred.Schema // nil: nothing tells it
	last     string        // the schema of the input before
	same     bool          // last is the same
	resolved int           // inputs of other schemas, whose rows were resolved to it
}

// check holds the schema of an input against that of the output. What is wrong with
// the input itself is left to the comparison.
func (o *outputSchema) check(in store.File, of *comparedInput) error {
	if o.schema == nil {
		return nil
	}
	h, err := ocf.ReadHeader(in, in.Size(), of.name)
	if err != nil {
		return nil
	}
	if h.Schema != o.last {
		s, err := shred.ParseSchema(h.Schema)
		if err != nil {
			return nil
		}
		o.last, o.same = h.Schema, s.Same(o.schema)
	}
	switch {
	case o.same:
	case of.schema != "":
		o.resolved++
	//guard: rows would be called equal whose values mean something else
	case !of.extra:
		return failure.New(failure.Different, "its rows are of another schema than those of the output")
	}
	return nil
}
