package witness

import (
	"errors"
	"fmt"

	"github.com/hamba/avro/v2"
)

// maxExpanded bounds the types of two schemas. A type is counted at each reference to it,
// because hamba follows every reference.
const maxExpanded = 200_000

// factors has, for each type of a time in the columns, the number of the columns' units in
// one unit of the input. hamba leaves this conversion to its caller.
type factors map[*avro.PrimitiveSchema]int64

// resolve returns hamba's schema that reads rows of the writer as rows of the reader, and
// the factors of its times. It rejects schemas that hamba would never finish to resolve. It
// also rejects schemas that hamba is known to resolve differently from the specification.
func resolve(reader, writer avro.Schema) (s avro.Schema, units factors, err error) {
	defer recovered(&err)
	for _, s := range []avro.Schema{reader, writer} {
		x := expansion{open: map[string]bool{}}
		if err := x.add(s); err != nil {
			return nil, nil, err
		}
	}
	c := avro.NewSchemaCompatibility()
	if s, err = c.Resolve(reader, writer); err != nil {
		return nil, nil, err
	}
	p := pairs{compatibility: c, left: maxExpanded, factors: factors{}}
	return s, p.factors, p.check(reader, writer)
}

// expansion counts types, and follows every reference.
type expansion struct {
	open  map[string]bool
	types int
}

func (x *expansion) add(s avro.Schema) error {
	//guard: bounds what schemas expand to
	if x.types++; x.types > maxExpanded {
		return errors.New("the schema expands to too many types")
	}
	s = deref(s)
	if n, ok := s.(avro.NamedSchema); ok {
		if x.open[n.FullName()] {
			return fmt.Errorf("the type %s is recursive", n.FullName())
		}
		x.open[n.FullName()] = true
		defer delete(x.open, n.FullName())
	}
	for _, part := range parts(s) {
		if err := x.add(part); err != nil {
			return err
		}
	}
	return nil
}

func deref(s avro.Schema) avro.Schema {
	if ref, ok := s.(*avro.RefSchema); ok {
		return ref.Schema()
	}
	return s
}

// parts returns the direct parts of a type.
func parts(s avro.Schema) []avro.Schema {
	switch s := s.(type) {
	case *avro.UnionSchema:
		return s.Types()
	case *avro.ArraySchema:
		return []avro.Schema{s.Items()}
	case *avro.MapSchema:
		return []avro.Schema{s.Values()}
	case *avro.RecordSchema:
		var types []avro.Schema
		for _, f := range s.Fields() {
			types = append(types, f.Type())
		}
		return types
	}
	return nil
}

// pairs walks a reader's types, each with the writer's type that it reads.
type pairs struct {
	compatibility *avro.SchemaCompatibility
	left          int // number of pairs that may follow
	factors       factors
}

func (p *pairs) check(reader, writer avro.Schema) error {
	if p.left--; p.left < 0 {
		return errors.New("the schemas expand to too many types")
	}
	reader, writer = deref(reader), deref(writer)
	if w, ok := writer.(*avro.UnionSchema); ok {
		for _, branch := range w.Types() {
			if err := p.check(reader, branch); err != nil {
				return err
			}
		}
		return nil
	}
	switch r := reader.(type) {
	case *avro.UnionSchema:
		branch, err := p.branch(r, writer)
		if err != nil {
			return err
		}
		return p.check(branch, writer)
	case *avro.ArraySchema:
		return p.check(r.Items(), writer.(*avro.ArraySchema).Items())
	case *avro.MapSchema:
		return p.check(r.Values(), writer.(*avro.MapSchema).Values())
	case *avro.RecordSchema:
		return p.fields(r, writer.(*avro.RecordSchema))
	case *avro.PrimitiveSchema:
		return p.time(r, writer)
	}
	return nil
}

// errPromotedTime is returned for a time whose conversion factor is unknown.
var errPromotedTime = errors.New("an int of one unit is read as a long of another")

// time records the factor of a reader's time. It rejects a time whose factor cannot be
// found by the type, because hamba makes a new type for each promotion.
func (p *pairs) time(r *avro.PrimitiveSchema, writer avro.Schema) error {
	factor := int64(1)
	if w, ok := writer.(*avro.PrimitiveSchema); ok {
		from, _ := w.Prop(unitAttribute).(float64)
		to, _ := r.Prop(unitAttribute).(float64)
		if from > 0 && to > 0 {
			factor = int64(to / from)
		}
		//guard: rejects times in another unit whose type changes as well
		if factor != 1 && w.Type() != r.Type() {
			return errPromotedTime
		}
	}
	//guard: rejects times whose type also stands for other units
	if before, ok := p.factors[r]; ok && before != factor {
		return errors.New("times of several units are read as of one")
	}
	p.factors[r] = factor
	return nil
}

// branch returns the first branch that accepts the writer's type, which is the branch that
// hamba uses. It fails if the specification chooses another branch: the same type comes
// before a promotion.
func (p *pairs) branch(r *avro.UnionSchema, writer avro.Schema) (avro.Schema, error) {
	var first avro.Schema
	for _, branch := range r.Types() {
		if p.compatibility.Compatible(branch, writer) != nil {
			continue
		}
		if first == nil {
			first = deref(branch)
		} else if branchName(first) != branchName(writer) && (branchName(branch) == branchName(writer) || !isPrimitive(writer)) {
			return nil, fmt.Errorf("more than one branch of a union takes %s", branchName(writer))
		}
	}
	if first == nil {
		return nil, fmt.Errorf("no branch of a union takes %s", branchName(writer))
	}
	return first, nil
}

// fields rejects records in which, by names or aliases, several fields of one record match
// one field of the other record.
func (p *pairs) fields(r, w *avro.RecordSchema) error {
	byName := map[string]*avro.Field{}
	for _, f := range r.Fields() {
		for _, name := range append([]string{f.Name()}, f.Aliases()...) {
			if other := byName[name]; other != nil && other != f {
				return fmt.Errorf("more than one field of %s is called %s", r.FullName(), name)
			}
			byName[name] = f
		}
	}
	read := map[*avro.Field]bool{}
	for _, from := range w.Fields() {
		f := byName[from.Name()]
		if f == nil {
			continue
		}
		if read[f] {
			return fmt.Errorf("the field %s of %s is called by more than one of its names", f.Name(), r.FullName())
		}
		read[f] = true
		if err := p.check(f.Type(), from.Type()); err != nil {
			return err
		}
	}
	return nil
}
