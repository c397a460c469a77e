package shred

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// resolveCode is how the resolver handles one datum of a writer's type.
type resolveCode uint8

const (
	resolveCopy     resolveCode = iota // the reader's type has the same encoding
	resolveMismatch                    // the types do not match: an error
	resolveFloat                       // an int or long becomes a float
	resolveDouble                      // an int, long or float becomes a double
	resolveUnit                        // a time is multiplied to a finer unit
	resolveEnum                        // the ordinal changes
	resolveInOrder                     // a record whose kept fields keep their order
	resolveReorder                     // any other record
	resolveItems                       // an array or a map
	resolveBranch                      // a branch of the writer's union, by the index in the datum
	resolveIndex                       // the reader's type is a union: the index of its branch is added
)

// Resolution turns rows written with one schema into rows of another. It is immutable.
type Resolution struct {
	root     *action
	rules    Rules
	reorders bool // the fields of some record change their order

	leftOut, changes, differences []string
}

// MinRowSize returns the fewest bytes of one row of the writer, or 0 if a row may take
// no bytes.
func (r *Resolution) MinRowSize() int { return r.root.writer.least }

// action turns data of one type of the writer into data of one type of the reader. The
// actions of a recursive schema form a cycle.
type action struct {
	code   resolveCode
	writer *Node
	// exact is set if writer and reader accept the same bytes, so that even the
	// writer's limits need no check.
	exact    bool
	index    int            // resolveIndex: index of the reader's branch
	literal  []byte         // resolveIndex: index, encoded; resolveInOrder: defaults after the last field
	sub      *action        // action for the items, or for the reader's branch
	ordinals []int          // per symbol of the writer, the reader's ordinal; readerDefault, or -1 if there is no default
	fallback int            // the ordinal of the reader's default
	factor   int64          // resolveUnit: the reader's units per unit of the writer
	change   string         // how the meaning of values changes; "" if it does not change
	branches []*action      // per branch of the writer's union
	fields   []fieldAction  // per field of the writer
	order    []orderedField // resolveReorder: the reader's fields
	mismatch *damage.Error  // why data of these types does not resolve
}

// fieldAction is how a field of the writer's record is handled.
type fieldAction struct {
	name    string
	node    *Node
	sub     *action // nil if the reader has no such field
	literal []byte  // resolveInOrder: defaults before the field
	change  string  // as in action
}

// orderedField is a field of the reader's record: the nth of the writer's fields that
// the reader has, or, if nth is -1, a default.
type orderedField struct {
	nth     int
	literal []byte // the default, encoded
}

// matcher compiles the resolution of two schemas. Each pair of types is resolved once,
// however often it occurs.
type matcher struct {
	rules      Rules
	projection bool // the reader's schema is a projection of the writer's
	pairs      map[typePair]*action
	all        []*action // an action comes after the actions of its parts, except in cycles
	defaults   defaults
}

type typePair struct{ writer, reader *Node }

// Resolve compiles the rules of Avro's schema resolution for data that is written with
// one schema and read with another. If the specification leaves a choice, Resolve does
// as Java's Resolver class. Aliases come before names. In a reader's union, a branch of
// the writer's kind and full name comes first, then a branch of the same name in another
// namespace, then a promotion. A default belongs to the first branch of a union that it
// fits. But records must have a common name, as the specification says. The Java class
// does not check their names.
//
// The argument rules limits how the resolution may change the meaning of values. Rows of
// the same schema (see Same) are copied. Types whose change of meaning is not allowed do
// not resolve, not even in a branch of a union.
//
// The error is a *damage.Error of kind damage.Schema that names the path, in the
// reader's terms, and both types. If only some branches of a writer's union do not
// resolve, Resolve succeeds, and each row with such a branch is an error.
func Resolve(writer, reader *Schema, rules Rules) (*Resolution, error) {
	//guard: copies rows of the same schema, with any aliases and defaults
	if writer.Same(reader) {
		return &Resolution{root: &action{writer: writer.root, exact: true}, differences: reader.Differences(writer)}, nil
	}
	return compile(&matcher{rules: rules, pairs: map[typePair]*action{}}, writer, reader)
}

// ResolveProjection is Resolve for a reader's schema that Mapping.Project made of the writer's.
// Types and branches match by their places: Project gives the forms of a type different names.
func ResolveProjection(writer, reader *Schema) (*Resolution, error) {
	if writer.Same(reader) {
		return Resolve(writer, reader, AllowChanges)
	}
	return compile(&matcher{rules: AllowChanges, pairs: map[typePair]*action{}, projection: true}, writer, reader)
}

func compile(m *matcher, writer, reader *Schema) (*Resolution, error) {
	root, mismatch := m.resolve(writer.root, reader.root)
	if mismatch != nil {
		return nil, mismatch
	}
	m.simplify()
	r := &Resolution{root: root, rules: m.rules}
	r.reorders = slices.ContainsFunc(m.all, func(a *action) bool { return a.code == resolveReorder })
	r.describe("", root, map[*action]bool{})
	return r, nil
}

// resolve returns the action for two types, or the reason why they do not resolve.
func (m *matcher) resolve(w, r *Node) (*action, *damage.Error) {
	pair := typePair{w, r}
	if a, ok := m.pairs[pair]; ok {
		return a, a.mismatch
	}
	a := &action{writer: w, exact: w.Kind == r.Kind}
	m.pairs[pair] = a
	switch {
	case w.Kind == KindUnion:
		a.mismatch = m.writerUnion(a, r)
	case w.Kind == r.Kind:
		a.mismatch = m.sameKind(a, r)
	case r.Kind == KindUnion:
		a.mismatch = m.readerUnion(a, r)
	default:
		var ok bool
		if a.code, ok = promotion(w.Kind, r.Kind); !ok {
			a.mismatch = mismatched(w, r, "")
		}
	}
	if a.mismatch == nil {
		a.mismatch = m.meaning(a, r)
	}
	if a.mismatch != nil {
		a.code = resolveMismatch
	}
	m.all = append(m.all, a)
	return a, a.mismatch
}

func mismatched(w, r *Node, why string) *damage.Error {
	return damage.New(damage.Schema, "", -1, "the writer's %s does not resolve to the reader's %s%s", describe(w), describe(r), why)
}

// describe returns a type for an error message.
func describe(n *Node) string {
	switch n.Kind {
	case KindUnion:
		names := make([]string, 0, maxNamed)
		for _, b := range n.Branches[:min(len(n.Branches), maxNamed)] {
			names = append(names, b.FullName())
		}
		if len(n.Branches) > maxNamed {
			names = append(names, "…")
		}
		return "union of " + strings.Join(names, ", ")
	case KindFixed:
		return fmt.Sprintf("fixed %s of %d bytes", n.Name, n.Size) + n.annotations()
	case KindEnum, KindRecord:
		return n.Kind.String() + " " + n.Name + n.annotations()
	}
	return n.Kind.String() + n.annotations()
}

// annotations returns the annotations that give values of a type their meaning, for an
// error message.
func (n *Node) annotations() string {
	var all []string
	if n.LogicalType() != column.LogicalNone {
		all = append(all, n.logicalText())
	}
	if len(n.meanings) > 0 {
		all = append(all, clip(n.meanings.text()))
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// maxNamed bounds the branches of a union that an error lists.
const maxNamed = 8

// under returns a copy of err with a path component before its path. It copies err,
// because all occurrences of a pair of types share one error.
func under(name string, err *damage.Error) *damage.Error {
	e := *err
	e.Path = below(name, e.Path)
	return &e
}

// promotion returns how one simple kind becomes another.
func promotion(w, r Kind) (resolveCode, bool) {
	switch {
	case w == KindInt && r == KindLong, w == KindString && r == KindBytes, w == KindBytes && r == KindString:
		return resolveCopy, true
	case (w == KindInt || w == KindLong) && r == KindFloat:
		return resolveFloat, true
	case (w == KindInt || w == KindLong || w == KindFloat) && r == KindDouble:
		return resolveDouble, true
	}
	return resolveMismatch, false
}

// sameKind resolves types of one kind other than union.
func (m *matcher) sameKind(a *action, r *Node) *damage.Error {
	w := a.writer
	switch w.Kind {
	case KindFixed, KindEnum, KindRecord:
		switch {
		case m.projection:
		case !sameName(w, r) && w.Kind == KindRecord:
			return mismatched(w, r, ", which could name it as an alias")
		case !sameName(w, r) || w.Size != r.Size:
			return mismatched(w, r, "")
		//guard: refuses an alias that renames a type, unless a schema was asked for
		case m.rules == KeepMeaning && !sameSimpleName(w, r):
			return notAllowed(w, r, ": an alias renames it, which takes --schema")
		}
		switch w.Kind {
		case KindEnum:
			matchSymbols(a, r)
		case KindRecord:
			return m.record(a, r)
		}
	case KindArray, KindMap:
		sub, err := m.resolve(w.Items, r.Items)
		if err != nil {
			return under(itemPath(w), err)
		}
		a.code, a.sub = resolveItems, sub
	}
	return nil
}

// itemPath returns the path component of the items of an array or a map.
func itemPath(n *Node) string {
	if n.Kind == KindMap {
		return "{}"
	}
	return "[]"
}

// sameName reports whether named types match: by their names without namespaces, or by
// an alias of the reader's type.
func sameName(w, r *Node) bool { return sameSimpleName(w, r) || slices.Contains(r.Aliases, w.Name) }

func sameSimpleName(w, r *Node) bool {
	_, written := SplitName(w.Name)
	_, read := SplitName(r.Name)
	return written == read
}

// readerDefault stands for the ordinal of a symbol that the reader lacks, if the reader's
// enum has a default.
const readerDefault = -2

// matchSymbols maps the writer's symbols to the reader's. A symbol that the reader
// lacks becomes the default, or an error in each row that has it.
func matchSymbols(a *action, r *Node) {
	known := make(map[string]int, len(r.Symbols))
	for i, s := range slices.Backward(r.Symbols) {
		known[s] = i
	}
	identical := true
	a.ordinals, a.fallback = make([]int, len(a.writer.Symbols)), r.Default
	for i, s := range a.writer.Symbols {
		to, ok := known[s]
		switch {
		case !ok && r.Default >= 0:
			to = readerDefault
		case !ok:
			to = -1
		case i < len(r.Symbols) && r.Symbols[i] == s:
			to = i // of several equal symbols, which Java rejects, the one at i
		}
		a.ordinals[i] = to
		identical = identical && to == i
	}
	if !identical {
		a.code = resolveEnum
	}
	a.exact = identical && len(r.Symbols) == len(a.writer.Symbols)
}

// writerUnion resolves each branch of the writer's union.
func (m *matcher) writerUnion(a *action, r *Node) *damage.Error {
	a.code = resolveBranch
	a.branches = make([]*action, len(a.writer.Branches))
	fit := false
	var first *damage.Error
	for i, b := range a.writer.Branches {
		branch, err := m.branch(b, r, i)
		a.branches[i] = branch
		//guard: refuses a changed meaning before any row has the branch
		if err != nil && errors.Is(err, ErrMeaning) {
			return err
		}
		fit = fit || err == nil
		if first == nil {
			first = err
		}
	}
	if fit {
		a.exact = r.Kind == KindUnion && len(r.Branches) == len(a.branches)
		return nil
	}
	if first != nil && len(a.branches) == 1 {
		return first
	}
	return mismatched(a.writer, r, "")
}

// branch resolves branch i of the writer's union.
func (m *matcher) branch(b, r *Node, i int) (*action, *damage.Error) {
	if !m.projection {
		return m.resolve(b, r)
	}
	a := &action{writer: b}
	if a.mismatch = m.toBranch(a, r, i); a.mismatch != nil {
		a.code = resolveMismatch
	}
	m.all = append(m.all, a)
	return a, a.mismatch
}

// readerUnion resolves a type other than a union to a branch of the reader's union.
func (m *matcher) readerUnion(a *action, r *Node) *damage.Error {
	index := matchBranch(a.writer, r.Branches)
	if index < 0 {
		return mismatched(a.writer, r, "")
	}
	return m.toBranch(a, r, index)
}

// toBranch resolves a type to a branch of the reader's union.
func (m *matcher) toBranch(a *action, r *Node, index int) *damage.Error {
	sub, err := m.resolve(a.writer, r.Branches[index])
	if err != nil {
		return err
	}
	a.code, a.index, a.sub, a.literal = resolveIndex, index, sub, binary.AppendVarint(nil, int64(index))
	return nil
}

// matchBranch returns the index of the branch that a type resolves to, or -1.
func matchBranch(w *Node, branches []*Node) int {
	named := -1
	for i, b := range branches {
		switch {
		case b.Kind != w.Kind:
		case w.Name == "" || w.Name == b.Name || slices.Contains(b.Aliases, w.Name):
			return i
		case named < 0 && sameName(w, b):
			named = i
		}
	}
	if named >= 0 {
		return named
	}
	return slices.IndexFunc(branches, func(b *Node) bool {
		_, ok := promotion(w.Kind, b.Kind)
		return ok
	})
}

// record resolves the fields of two records.
func (m *matcher) record(a *action, r *Node) *damage.Error {
	a.code = resolveInOrder
	a.fields = make([]fieldAction, len(a.writer.Fields))
	for i, f := range a.writer.Fields {
		a.fields[i] = fieldAction{name: f.Name, node: f.Type}
	}
	sources := matchFields(a.writer, r)
	last := -1
	for i := range r.Fields {
		f, from := &r.Fields[i], sources[i]
		if from < 0 {
			literal, err := m.defaults.of(f)
			if err != nil {
				return under(f.Name, err)
			}
			a.order = append(a.order, orderedField{nth: -1, literal: literal})
			continue
		}
		sub, err := m.resolve(a.writer.Fields[from].Type, f.Type)
		if err == nil {
			err = m.field(&a.fields[from], &a.writer.Fields[from], f)
		}
		if err != nil {
			return under(f.Name, err)
		}
		a.fields[from].sub = sub
		a.order = append(a.order, orderedField{nth: from})
		if from < last {
			a.code = resolveReorder
		}
		last = max(last, from)
	}
	if a.code == resolveReorder {
		a.countKept()
	} else {
		a.placeDefaults()
	}
	return nil
}

// matchFields returns, for each field of the reader's record, the index of the matching
// field of the writer, or -1. As in Java, aliases are matched before names. But the
// aliases of a field whose own name matches are not used.
func matchFields(w, r *Node) []int {
	written := make(map[string]int, len(w.Fields))
	for i, f := range slices.Backward(w.Fields) {
		written[f.Name] = i
	}
	sources := make([]int, len(r.Fields))
	claimed := make(map[int]bool)
	for i, f := range r.Fields {
		sources[i] = -1
		if _, ok := written[f.Name]; ok {
			continue
		}
		for _, alias := range f.Aliases {
			if from, ok := written[alias]; ok && !claimed[from] {
				sources[i], claimed[from] = from, true
				break
			}
		}
	}
	for i, f := range r.Fields {
		if from, ok := written[f.Name]; ok && !claimed[from] {
			sources[i], claimed[from] = from, true
		}
	}
	return sources
}

// countKept changes nth in the reader's order to count only the fields that the reader
// has, because the resolver records only these.
func (a *action) countKept() {
	kept := make([]int, len(a.fields))
	n := 0
	for i := range a.fields {
		kept[i] = n
		if a.fields[i].sub != nil {
			n++
		}
	}
	for i := range a.order {
		if o := &a.order[i]; o.nth >= 0 {
			o.nth = kept[o.nth]
		}
	}
}

// placeDefaults puts each default before the next field of the writer, or after the last
// one.
func (a *action) placeDefaults() {
	var literal []byte
	for _, o := range a.order {
		if o.nth < 0 {
			literal = append(literal, o.literal...)
			continue
		}
		a.fields[o.nth].literal, literal = literal, nil
	}
	a.literal, a.order = literal, nil
}
