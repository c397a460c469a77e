package shred

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Rules say what a resolution may do to the meaning of values.
type Rules uint8

// The rules of resolutions. None of them allows another scale of a decimal or less
// precision, a decimal for a string or back, a date for a timestamp, local times for
// instants, a coarser unit, or other values of connect.name, connect.parameters or
// adjust-to-utc.
const (
	// KeepMeaning is for a reader's schema that the user did not ask for, such as the
	// schema of earlier runs. A decimal may get more precision at the same scale. A uuid
	// may become a string, and a string a uuid. Aliases do not rename types or fields. A
	// row is rejected if it has a symbol that the reader's enum lacks, or a number that
	// the reader's float or double does not hold exactly.
	KeepMeaning Rules = iota
	// AllowChanges is for a schema that the user asked for. It also allows adding and
	// dropping logical types and the properties above (see Changes), and converting times
	// to finer units. Enum defaults and rounded numbers are counted: see
	// Resolver.TakeInexact.
	AllowChanges
)

// ErrMeaning is wrapped by errors of Resolve if the bytes of two types resolve, but the
// meaning of values would change.
var ErrMeaning = errors.New("the meaning of values would change")

// Identity reports whether both schemas encode all rows alike, so that rows need not be
// resolved, or be checked by the writer's schema.
func (r *Resolution) Identity() bool { return r.root.exact && r.root.code == resolveCopy }

// LeftOut returns the paths of the writer's fields that the reader does not have. A
// type's fields are listed where it first occurs.
func (r *Resolution) LeftOut() []string { return r.leftOut }

// Changes returns one entry for each logical type or property that the reader's schema adds
// or drops, so that values mean something else to the reader.
func (r *Resolution) Changes() []string { return r.changes }

// Differences returns where the reader's schema differs in aliases, defaults or other
// properties, if both are the same schema: see Schema.Differences.
func (r *Resolution) Differences() []string { return r.differences }

// describe collects the fields left out and the changes at a path and below.
func (r *Resolution) describe(path string, a *action, seen map[*action]bool) {
	if seen[a] || a.code == resolveMismatch {
		return // rows of types that do not resolve are rejected
	}
	seen[a] = true
	r.note(path, a.change)
	for i := range a.fields {
		f := &a.fields[i]
		place := below(path, f.name)
		if f.sub == nil {
			r.leftOut = append(r.leftOut, place)
			continue
		}
		r.note(place, f.change)
		r.describe(place, f.sub, seen)
	}
	for _, b := range a.branches {
		r.describe(path, b, seen)
	}
	if a.sub != nil {
		if a.sub.writer != a.writer { // a.sub is not a branch of the reader's union
			path = below(path, itemPath(a.writer))
		}
		r.describe(path, a.sub, seen)
	}
}

func (r *Resolution) note(path, change string) {
	if change == "" {
		return
	}
	if path != "" {
		change = "field " + path + ": " + change
	}
	r.changes = append(r.changes, change)
}

// meaning checks by the rules whether two types, whose bytes resolve, may be resolved.
func (m *matcher) meaning(a *action, r *Node) *damage.Error {
	w := a.writer
	if w.Kind == KindUnion || r.Kind == KindUnion {
		return nil // meaning checks each branch of a union
	}
	from, to := w.LogicalType(), r.LogicalType()
	if w.Kind == KindString && r.Kind == KindString {
		from, to = column.LogicalNone, column.LogicalNone // a uuid and its text have the same meaning
	}
	changed := false
	switch {
	case from == to:
		//guard: refuses decimals of another scale, and of fewer digits
		if from == column.LogicalDecimal && (w.Scale != r.Scale || w.Precision > r.Precision) {
			return notAllowed(w, r, "")
		}
	//guard: refuses the bytes of a decimal as a text, and a text as a decimal
	case from == column.LogicalDecimal && r.Kind == KindString, to == column.LogicalDecimal && w.Kind == KindString:
		return notAllowed(w, r, "")
	case from == column.LogicalNone || to == column.LogicalNone:
		changed = true
	default:
		factor := finer(from, to)
		//guard: refuses times of another kind or of a coarser unit
		if factor == 0 {
			return notAllowed(w, r, "")
		}
		//guard: refuses to convert times unless a schema was asked for
		if m.rules == KeepMeaning {
			return notAllowed(w, r, withoutSchema)
		}
		a.code, a.exact, a.factor = resolveUnit, false, factor
	}
	properties, err := m.properties(w, r, w.meanings, r.meanings)
	if err != nil {
		return err
	}
	//guard: refuses to change logical types unless a schema was asked for
	if changed && m.rules == KeepMeaning {
		return notAllowed(w, r, withoutSchema)
	}
	if changed || properties {
		a.change = fmt.Sprintf("the writer's %s is read as the reader's %s", describe(w), describe(r))
	}
	return nil
}

// field checks by the rules whether two fields may be resolved.
func (m *matcher) field(a *fieldAction, w, r *Field) *damage.Error {
	//guard: refuses an alias that renames a field, unless a schema was asked for
	if m.rules == KeepMeaning && w.Name != r.Name {
		return notAllowed(w.Type, r.Type, ": an alias renames the field "+quote(w.Name)+", which takes --schema")
	}
	changed, err := m.properties(w.Type, r.Type, w.meanings, r.meanings)
	if changed {
		a.change = fmt.Sprintf("the field's properties %s are read as %s", orNone(w.meanings), orNone(r.meanings))
	}
	return err
}

func orNone(p properties) string {
	if len(p) == 0 {
		return "none"
	}
	return clip(p.text())
}

// properties reports whether properties with a meaning are added or dropped.
func (m *matcher) properties(w, r *Node, from, to properties) (changed bool, err *damage.Error) {
	for _, key := range from.differing(to) {
		_, was := from[key]
		_, is := to[key]
		//guard: refuses a property with another value
		if was && is {
			return false, notAllowed(w, r, ": "+key+" differs")
		}
		//guard: refuses to change properties unless a schema was asked for
		if m.rules == KeepMeaning {
			return false, notAllowed(w, r, withoutSchema)
		}
		changed = true
	}
	return changed, nil
}

// withoutSchema is the end of an error about a change that only --schema allows.
const withoutSchema = " without --schema"

func notAllowed(w, r *Node, why string) *damage.Error {
	err := mismatched(w, r, why)
	err.Err = ErrMeaning
	return err
}

// finerUnits lists the logical types of each kind of time, from the coarsest unit on.
// Each unit is a thousandth of the previous unit.
var finerUnits = [][]column.Logical{
	{column.LogicalTimeMillis, column.LogicalTimeMicros},
	{column.LogicalTimestampMillis, column.LogicalTimestampMicros, column.LogicalTimestampNanos},
	{column.LogicalLocalMillis, column.LogicalLocalMicros, column.LogicalLocalNanos},
}

// finer returns the number of units of to in one unit of from. It returns 0 if from and to
// are different kinds of time, or if to is coarser.
func finer(from, to column.Logical) int64 {
	for _, units := range finerUnits {
		factor := int64(0)
		for _, unit := range units {
			factor *= 1000
			if unit == from {
				factor = 1
			}
			if unit == to {
				return factor
			}
		}
	}
	return 0
}
