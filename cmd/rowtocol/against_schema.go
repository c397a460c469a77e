package main

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/avro/witness"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// outputSchema compares the schema of an output with the schemas of its inputs. Equal bytes
// have another meaning if names, symbols or scales differ.
type outputSchema struct {
	schema *shred.Schema // nil if unknown
	// last holds the schema of the previous input, and the schema to which its rows were
	// resolved. same and how describe how the two schemas relate.
	last [2]string
	same bool
	how  *shred.Resolution // nil if the rows do not resolve

	leftOut []manifest.LeftOut // fields of inputs that the output lacks
	fields  map[string]int     // index in leftOut
	changed []string           // values that mean something else in the output
}

// check compares the schema of an input with the schema of the output, and sets how the rows
// are compared. It does not report defects of the input, which the comparison finds.
func (o *outputSchema) check(in store.File, of *comparedInput, compared *witness.Input) error {
	if o.schema == nil {
		return nil
	}
	h, err := ocf.ReadHeader(in, in.Size(), of.name)
	if err != nil {
		return nil
	}
	if texts := [2]string{h.Schema, of.schema}; texts != o.last {
		if err := o.relate(h.Schema, of.schema); err != nil {
			return err
		}
		o.last = texts
	}
	switch {
	case o.same:
		compared.Schema = "" // the rows were copied
		return nil
	case of.extra:
		return nil
	//guard: compares meanings where no schema was given
	case of.schema == "":
		return failure.New(failure.Different, "its rows have another schema than those of the output")
	case o.how == nil:
		return nil
	}
	for _, field := range o.how.LeftOut() {
		o.leaveOut(of.name, field)
	}
	for _, change := range o.how.Changes() {
		o.changed = append(o.changed, of.name+": "+change)
	}
	return nil
}

// relate compares the schema of an input with the schema of the output, or with the schema
// to which its rows were resolved.
func (o *outputSchema) relate(written, resolved string) error {
	o.same, o.how = true, nil
	writer, err := shred.ParseSchema(written)
	if err != nil {
		return nil
	}
	if o.same = writer.Same(o.schema); o.same || resolved == "" {
		return nil
	}
	reader, err := shred.ParseSchema(resolved)
	if err != nil {
		return fmt.Errorf("the schema of the output: %w", err)
	}
	o.how, err = shred.Resolve(writer, reader, shred.AllowChanges)
	//guard: compares meanings where no schema was given
	if errors.Is(err, shred.ErrMeaning) {
		return failure.New(failure.Different, "its rows mean something else in the output: %w", err)
	}
	return nil
}

// leaveOut records a field that an input has and the output does not.
func (o *outputSchema) leaveOut(input, field string) {
	i, ok := o.fields[field]
	if !ok {
		if o.fields == nil {
			o.fields = map[string]int{}
		}
		i = len(o.leftOut)
		o.fields[field], o.leftOut = i, append(o.leftOut, manifest.LeftOut{Field: field, Input: input})
	}
	o.leftOut[i].Inputs++
}
