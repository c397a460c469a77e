package main

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
)

// comparedInput is an input, and what the output has of it.
type comparedInput struct {
	name   string
	schema string      // schema to which its rows were resolved, or ""
	lost   []ocf.Range // ranges that the conversion left out
	empty  bool        // it had no bytes when it was converted
	whole  bool        // it was lost as a whole, because its header could not be read
	extra  bool        // the output was not made from it
	unique bool        // the conversion left out files with the same bytes
}

// findCompared returns the inputs that --against names, in the order in which the outputs
// were made from them. It records files that are not in the output in r.
func (f *verifyCommand) findCompared(ctx context.Context, l *dataset.Listing, against []string, r *verified) ([]comparedInput, error) {
	files, skipped, err := input.Expand(ctx, input.Search{Resolve: f.Resolve, Inputs: against, Hidden: true})
	if err != nil {
		return nil, err
	}
	made, index, schema, exclude, err := madeFrom(ctx, l, r)
	if err != nil {
		return nil, err
	}
	known, restored := make(map[string]bool, len(made)), make(map[string]bool)
	for _, in := range made {
		known[in.name] = true
		restored[in.name] = restored[in.name] || !in.whole
	}
	// A file that was lost as a whole may have been restored and converted later.
	r.Losses = slices.DeleteFunc(r.Losses, func(l manifest.Loss) bool { return l.Whole && restored[l.Input] })
	if files, err = f.otherNames(ctx, files, made, index, known); err != nil {
		return nil, err
	}
	names, other, err := f.onlyAvro(ctx, files, known, exclude)
	if err != nil {
		return nil, err
	}
	for _, s := range skipped {
		switch {
		case known[s.Path]: // the conversion named it
			names = append(names, s.Path)
		//guard: reports a skipped file unless another file has the same bytes
		case s.Same == "":
			other = append(other, s)
		}
	}
	slices.Sort(names)
	m := matchInputs(made, names, schema)
	if slices.ContainsFunc(l.Parts, func(p dataset.Part) bool { return p.Output < 0 }) {
		m = inPathOrder(made, names, schema) // a column file has no manifest
	}
	slices.Sort(m.missing)
	r.NotNamed = slices.Compact(m.missing)
	inputs := m.inputs
	for _, name := range m.extra {
		inputs = append(inputs, comparedInput{name: name, schema: schema, extra: true})
		//guard: lists an Avro file without rows that the output was not made from
		other = append(other, input.Skipped{Path: name, Reason: "the output was not made from it"})
	}
	if len(l.Outputs) > 0 && !m.byPath {
		f.Log.Warn("the inputs are not at the paths that the output was made from; they are matched by file name, or compared in the order of their paths",
			"given", len(names), "made_from", len(made))
	}
	slices.SortFunc(other, func(a, b input.Skipped) int { return strings.Compare(a.Path, b.Path) })
	r.NotContained = other
	f.listSkipped("not in the output", other)
	listFirst(f.app, "the output was also made from a file that --against does not name", r.NotNamed, func(name string) []any { return []any{"path", name} })
	return inputs, nil
}

// otherNames finds files that had another name when the output was made from them. It leaves
// out files that still exist under the other name, and copies that the conversion left out.
func (f *verifyCommand) otherNames(ctx context.Context, files []input.File, made []comparedInput, inputs *manifest.Known, known map[string]bool) ([]input.File, error) {
	skipped := slices.ContainsFunc(made, func(in comparedInput) bool { return in.unique })
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f.Name] = true
	}
	found := make([]manifest.Match, len(files))
	err := parallel.Do(ctx, len(files), input.Readers, func(ctx context.Context, i int) (err error) {
		in := files[i].Facts
		if known[in.Path] {
			return nil
		}
		open := func(ctx context.Context, in *manifest.Input) error {
			if opened, _, err := input.Describe(ctx, f.Resolve, in.Path); err == nil { // an error is reported later
				opened.Real = in.Real
				*in = opened
			}
			return nil
		}
		sum := func(ctx context.Context, in *manifest.Input) error { return input.Sum(ctx, f.Resolve, in) }
		found[i], err = input.Find(ctx, &in, func() manifest.Match { return inputs.Find(&in, "", skipped) }, open, sum)
		return err
	})
	if err != nil {
		return nil, err
	}
	left := make([]input.File, 0, len(files))
	for i, f := range files {
		was := found[i]
		switch {
		case was.Relation == manifest.SameContent:
			continue
		case was.Relation != manifest.SameFile:
		case there[was.Path]:
			continue
		default:
			there[was.Path], known[f.Name] = true, true
			for j := range made {
				if made[j].name == was.Path {
					made[j].name = f.Name
				}
			}
		}
		left = append(left, f)
	}
	return left, nil
}

// onlyAvro separates Avro files, which are compared, from other files and from those that the
// patterns of exclude left out. It does not open files that the output was made from.
func (f *verifyCommand) onlyAvro(ctx context.Context, files []input.File, known map[string]bool, exclude []string) (names []string, other []input.Skipped, err error) {
	reasons := make([]string, len(files))
	err = parallel.Do(ctx, len(files), input.Readers, func(ctx context.Context, i int) error {
		if known[files[i].Name] {
			return nil
		}
		if reasons[i] = input.Excluded(exclude, files[i].Name); reasons[i] != "" || !files[i].Found {
			return nil
		}
		if _, _, err := input.Describe(ctx, f.Resolve, files[i].Name); err != nil {
			if reasons[i] = input.NotInput(err); reasons[i] == "" {
				return err
			}
		}
		return nil
	})
	for i, f := range files {
		if reasons[i] == "" {
			names = append(names, f.Name)
		} else {
			other = append(other, input.Skipped{Path: f.Name, Reason: reasons[i]})
		}
	}
	return names, other, err
}

// madeFrom returns the inputs of all outputs, in the order of conversion; an index of the
// inputs; the last schema to which rows were resolved; and the patterns that left inputs out. It
// adds inexact values to r.
func madeFrom(ctx context.Context, l *dataset.Listing, r *verified) (made []comparedInput, inputs *manifest.Known, schema string, exclude []string, err error) {
	inputs = manifest.NewKnown()
	for i := range l.Outputs {
		s, err := l.Outputs[i].Success(ctx)
		if err != nil {
			return nil, nil, "", nil, err
		}
		exclude = append(exclude, s.Request.Options.Exclude...)
		r.Inexact = r.Inexact.Plus(s.Inexact)
		took := comparedInput{unique: s.Request.Options.Copies == plan.SkipCopies}
		if s.Request.Schema != "" {
			took.schema = s.Schema
			schema = took.schema
		}
		lost := losses(s)
		for _, in := range s.Request.Inputs {
			took.name, took.lost, took.empty, took.whole = in.Path, lost[in.Path], in.Size == 0, in.Unreadable != ""
			made = append(made, took)
			inputs.Add("", in)
		}
	}
	return made, inputs, schema, exclude, nil
}

// matching says from which of the present files an output was made.
type matching struct {
	inputs  []comparedInput // inputs under their present names
	extra   []string        // files that are not inputs of the output
	missing []string        // names of inputs that do not exist
	byPath  bool
}

// matchInputs finds the inputs of an output among files. It matches moved inputs by their
// file names, or if these are ambiguous in the order of their paths.
func matchInputs(made []comparedInput, names []string, schema string) matching {
	byPath := matchBy(made, names, func(name string) string { return name })
	byPath.byPath = true
	if len(byPath.missing) == 0 {
		return *byPath
	}
	byName := matchBy(made, names, path.Base)
	if byName != nil && len(byName.missing) == 0 {
		return *byName
	}
	if len(made) != len(names) {
		if len(byPath.inputs) > 0 {
			return *byPath
		}
		if byName != nil && len(byName.inputs) > 0 {
			return *byName
		}
	}
	return inPathOrder(made, names, schema)
}

// matchBy matches inputs by keys of their names. It returns nil if the keys are ambiguous.
func matchBy(made []comparedInput, names []string, key func(string) string) *matching {
	now := make(map[string]string, len(names))
	for _, name := range names {
		now[key(name)] = name
	}
	if len(now) != len(names) {
		return nil
	}
	was := make(map[string]string, len(made))
	m := &matching{}
	for _, in := range made {
		k := key(in.name)
		if before, twice := was[k]; twice && before != in.name {
			return nil
		}
		was[k] = in.name
		name, ok := now[k]
		if !ok {
			m.missing = append(m.missing, in.name)
			continue
		}
		in.name = name
		m.inputs = append(m.inputs, in)
	}
	for _, name := range names {
		if _, ok := was[key(name)]; !ok {
			m.extra = append(m.extra, name)
		}
	}
	return m
}

// inPathOrder takes the files in order as the inputs. The comparison of rows shows whether
// the output holds them.
func inPathOrder(made []comparedInput, names []string, schema string) (m matching) {
	for _, name := range names {
		in := comparedInput{name: name, schema: schema}
		for _, was := range made {
			if was.name == name {
				in = was
			}
		}
		m.inputs = append(m.inputs, in)
	}
	return m
}

// losses returns the ranges of each input that an output left out.
func losses(s *manifest.Success) map[string][]ocf.Range {
	lost := make(map[string][]ocf.Range)
	for _, r := range s.Losses {
		lost[r.Input] = append(lost[r.Input], ocf.Range{Start: r.Start, End: r.End})
	}
	return lost
}
