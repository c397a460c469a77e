package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const (
	defaultRowGroup = 128 << 20
	defaultMaxBlock = 512 << 20
)

// Asked is the part of a request that the user gives.
type Asked struct {
	// Inputs are files, directories and glob patterns, on any store.
	Inputs []string
	// Dest is the directory to fill. Its parent must exist.
	Dest string
	// Output shapes the output. RowGroupSize 0 is 128 MiB, MaxInputBlock 0 is
	// 512 MiB and OnDamage "" is fail. BlockSize 0 lets the plan choose; a size
	// larger than the memory allows is lowered, with a warning.
	Output manifest.Options
	// Schema is the JSON of a reader's Avro schema, to which the rows of inputs
	// with other schemas are resolved; empty if all inputs must have the same schema.
	Schema string
	// AllowEmpty accepts inputs without an Avro file, and patterns without a match. If
	// there is no Avro file at all, the output is empty.
	AllowEmpty bool
	// Filter leaves out some of the files that Inputs name. If no file remains, the error is
	// failure.Input.
	Filter input.Filter
}

// InputFilter returns Filter with the patterns of Output, which plans and outputs keep.
func (a *Asked) InputFilter() input.Filter {
	f := a.Filter
	f.Exclude = a.Output.Exclude
	return f
}

// Request is a conversion to plan.
type Request struct {
	Asked
	// SchemaKept says that Schema comes from the output at the destination and not from
	// the user: see manifest.Request.
	SchemaKept bool
	// Nonce, if set, makes the plan differ from earlier plans of the same request.
	Nonce string
	// Increment makes the plan one of an increment to the outputs at the destination.
	Increment bool
	// Known, if set, are inputs that the destination has already, by the outputs that have
	// their rows. Unchanged inputs are left out. If an input changed, the error is a *Changed.
	// A file with the same size and time of modification is not opened: see
	// manifest.Input.Relate.
	Known *manifest.Known
	// Taken, if set, holds the inputs of all partitions. Partition is the name of the one that
	// is surveyed. Files that another partition has are left out, and the inputs of this
	// request are added to Taken.
	Taken     *Taken
	Partition string
	// Sums, if set, returns inputs that earlier surveys read, with their whole CRC-32C.
	Sums func() *manifest.Known
	// AllowWaiting accepts an input if the filter leaves out all its files. Unlike AllowEmpty,
	// it does not accept other inputs without an Avro file.
	AllowWaiting bool
	// Formats are the formats that Output can name.
	Formats format.Registry
	// Memory bounds planning, and then the tasks; nil is a pool of DefaultMemory.
	Memory *budget.Pool
	// Resolve finds the store of a location; nil is store.Resolve, which knows
	// only local disks.
	Resolve input.Resolve
}

// Survey is a request with the result of reading the headers of its inputs.
type Survey struct {
	// Request decides whether an output is finished, or can be resumed.
	Request manifest.Request
	// Dest is the location of the destination.
	Dest store.Location
	// Warnings are for the user, even if the request is refused later.
	Warnings []string
	// Skipped are the files and directories that were found and are not inputs.
	Skipped []input.Skipped
	// Mapping is how the rows fill columns; nil if there are no inputs.
	Mapping *shred.Mapping

	config  Request // the argument of NewSurvey, with defaults
	first   string  // location of the first input that has a header
	leftOut []manifest.LeftOut
	writer  format.Writer
	empty   format.Group // empty row group of Mapping's columns; nil if there are no inputs
	filling *filling     // filling of the last plan's row groups; nil if there are no inputs

	mu      sync.Mutex       // guards the fields below
	answers []manifest.Input // inputs whose whole CRC-32C this survey used: see Sums
	read    bool             // whether this survey read an input to get its CRC-32C
}

// NewSurvey finds the inputs and reads their headers. It refuses invalid options and
// schemas that cannot be converted.
func NewSurvey(ctx context.Context, r Request) (*Survey, error) {
	s, err := survey(ctx, r)
	if err != nil {
		return nil, failure.Judge(err)
	}
	return s, nil
}

func survey(ctx context.Context, r Request) (*Survey, error) {
	r.Memory, r.Known = cmp.Or(r.Memory, budget.New(DefaultMemory)), cmp.Or(r.Known, manifest.NewKnown())
	s := &Survey{Request: manifest.Request{Options: r.Output, Schema: r.Schema, SchemaKept: r.SchemaKept}, config: r}
	err := completeOptions(&s.Request.Options)
	if err != nil {
		return nil, err
	}
	if s.writer, err = r.Formats.Writer(r.Output.Format, r.Output.FormatOptions); err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	if s.Dest, err = input.Locate(r.Resolve, r.Dest); err != nil {
		return nil, err
	}
	//guard: refuses a destination that JSON cannot hold
	if !utf8.ValidString(s.Dest.Path) {
		return nil, failure.New(failure.Usage, "destination %q: the name is not UTF-8, and a plan cannot hold it", s.Dest.Path)
	}
	files, skipped, err := input.Expand(ctx, input.Search{Resolve: r.Resolve, Inputs: r.Inputs, Dest: &s.Dest, AllowEmpty: r.AllowEmpty, Filter: r.InputFilter()})
	if errors.Is(err, input.ErrNoMatch) {
		err = fmt.Errorf("%w; with --allow-empty that is no error", err)
	}
	if err != nil {
		return nil, err
	}
	s.Skipped = skipped
	if r.Partition == "" { // a pattern may be for another partition
		for _, pattern := range input.Unmatched(r.Output.Exclude, skipped) {
			s.Warnings = append(s.Warnings, fmt.Sprintf("--exclude %s leaves nothing out", pattern))
		}
	}
	for _, out := range skipped {
		if out.Named {
			s.Warnings = append(s.Warnings, fmt.Sprintf("input %s is left out: %s", out.Path, out.Reason))
		}
	}
	taken, err := s.readHeaders(ctx, files)
	if err != nil {
		return nil, err
	}
	if r.Taken != nil {
		r.Taken.Add(r.Partition, s.Request.Inputs)
	}
	withRows := slices.DeleteFunc(slices.Clone(taken), func(h header) bool { return h.lost || h.known })
	lost := s.lostFile()
	//guard: refuses to lose files when nothing says which columns the output has
	if len(withRows) == 0 && lost != nil && s.Request.Schema == "" {
		return nil, failure.New(failure.Input, "no input has a header that can be read, and without --schema nothing else says which columns the output has; the first is %s: %s", lost.Path, lost.Unreadable)
	}
	if err := s.checkArguments(taken, r.Inputs); err != nil {
		return nil, err
	}
	if len(withRows) == 0 && lost == nil {
		if !r.AllowWaiting && !slices.ContainsFunc(taken, func(h header) bool { return h.known }) {
			s.Warnings = append(s.Warnings, "the inputs hold no Avro file")
		}
		return s, nil
	}
	schema, err := s.schemaOf(withRows)
	if err != nil {
		return nil, err
	}
	return s, s.mapColumns(schema)
}

// lostFile returns the first input that is lost as a whole, or nil. A task records the loss, so
// the plan needs columns even if no input has rows.
func (s *Survey) lostFile() *manifest.Input {
	i := slices.IndexFunc(s.Request.Inputs, func(in manifest.Input) bool { return in.Unreadable != "" })
	if i < 0 {
		return nil
	}
	return &s.Request.Inputs[i]
}

// OnlyWaiting reports whether the request has no inputs because the filter leaves files out.
func (s *Survey) OnlyWaiting() bool {
	return s.config.AllowWaiting && len(s.Request.Inputs) == 0 && slices.ContainsFunc(s.Skipped, func(out input.Skipped) bool { return out.By != nil })
}

// completeOptions sets defaults and refuses options that are invalid in every format.
func completeOptions(o *manifest.Options) error {
	o.RowGroupSize = cmp.Or(o.RowGroupSize, defaultRowGroup)
	o.MaxInputBlock = cmp.Or(o.MaxInputBlock, defaultMaxBlock)
	o.OnDamage = cmp.Or(o.OnDamage, "fail")
	switch {
	//guard: rejects sizes out of range
	case o.RowGroupSize < 0 || o.RowGroupSize > maxSplit:
		return failure.New(failure.Usage, "a row group of %d bytes", o.RowGroupSize)
	//guard: rejects sizes out of range
	case o.MaxInputBlock < 0:
		return failure.New(failure.Usage, "input blocks of at most %d bytes", o.MaxInputBlock)
	//guard: rejects sizes out of range
	case o.BlockSize < 0 || o.BlockSize > 1<<30:
		return failure.New(failure.Usage, "column blocks of %d bytes", o.BlockSize)
	//guard: rejects a value that tasks do not know
	case !slices.Contains([]string{"", SkipCopies, RefuseCopies}, o.Copies):
		return failure.New(failure.Usage, "copies %q: want skip, refuse or nothing", o.Copies)
	//guard: rejects a value that tasks do not know
	case !slices.Contains([]string{"fail", "skip", "quarantine"}, o.OnDamage):
		return failure.New(failure.Usage, "on damage %q: want fail, skip or quarantine", o.OnDamage)
	}
	return nil
}

// mapColumns sets everything that follows from the schema of the rows.
func (s *Survey) mapColumns(schema *shred.Schema) (err error) {
	warnings := schema.Warnings()
	if w, ok := s.writer.(format.Warner); ok {
		warnings = append(slices.Clip(warnings), w.Warnings(schema.JSON())...)
	}
	s.Warnings = append(s.Warnings, warnings...)
	if s.Request.Options.Strict && len(warnings) > 0 {
		return s.schemaFault(fmt.Errorf("with --strict: %s", strings.Join(warnings, "; ")))
	}
	memory := s.config.Memory.NewHeap()
	s.Mapping, err = shred.Map(schema, shred.Options{RecursiveBytes: s.Request.Options.RecursiveBytes, Memory: memory})
	if errors.As(err, new(*budget.Error)) {
		return failure.As(failure.Usage, err)
	}
	if err != nil {
		if _, bytesErr := shred.Map(schema, shred.Options{RecursiveBytes: true, Memory: memory}); bytesErr == nil {
			return fmt.Errorf("%w; --recursive bytes keeps that part as one column of bytes", s.schemaFault(err))
		}
		return s.schemaFault(err)
	}
	if _, err := rowkey.ParseAll(schema, s.Request.Options.Index); err != nil {
		return failure.New(failure.Usage, "--index: %w", err)
	}
	columns, want := len(s.Mapping.Columns), cmp.Or(s.Request.Options.BlockSize, manifest.DefaultBlockSize)
	//guard: makes no row group if memory has no room for its blocks
	if leastMemory(s.writer, min(want, minBlock), columns) > s.config.Memory.Size() {
		return nil
	}
	return s.newGroup(want)
}

// newGroup sets s.empty, whose sizes planning uses. It fails if the options do not fit
// the columns.
func (s *Survey) newGroup(blockSize int) (err error) {
	schema := s.Mapping.Schema.JSON()
	if w, ok := s.writer.(format.SortedWriter); ok && len(w.SortedBy()) > 0 {
		//guard: refuses an order of fields that the rows do not have
		if _, err := rowkey.Parse(s.Mapping.Schema, strings.Join(w.SortedBy(), ",")); err != nil {
			return failure.New(failure.Usage, "--sorted-by: %w", err)
		}
	}
	switch w := s.writer.(type) {
	case format.ColumnWriter:
		s.empty, err = w.NewRowGroup(schema, s.Mapping.Columns, blockSize)
	case format.RowWriter:
		//guard: refuses an index of sorted rows
		if len(s.Request.Options.Index) > 0 {
			return failure.New(failure.Usage, "--index is for formats of columns; rows in the format %s are sorted by their key, and cat --where finds them", s.Request.Options.Format)
		}
		//guard: refuses a key that the rows do not have
		if _, err := rowkey.Parse(s.Mapping.Schema, strings.Join(w.Key(), ",")); err != nil {
			return failure.As(failure.Usage, err)
		}
		s.empty, err = w.NewRows(schema)
	}
	return failure.As(failure.Usage, err)
}

// Plan converts a sample of the inputs, decides sizes, and cuts the inputs into tasks.
// base is the ID of the output at the destination, or empty. holds are the IDs of all
// outputs and increments there, which the new output replaces unless it is an increment.
func (s *Survey) Plan(ctx context.Context, base string, holds ...string) (*manifest.Plan, error) {
	p := &manifest.Plan{
		Version: manifest.Version, Revision: manifest.Revision, Nonce: s.config.Nonce, Request: s.Request, Dest: s.Dest.Origin + s.Dest.Path, Base: base, Increment: s.config.Increment,
		BlockSize: cmp.Or(s.Request.Options.BlockSize, manifest.DefaultBlockSize), Warnings: slices.Clone(s.Warnings), LeftOut: s.leftOut,
	}
	if !s.config.Increment {
		p.Replaces = holds
	}
	if s.Mapping != nil {
		if err := s.setTasks(ctx, p); err != nil {
			return nil, failure.Judge(err)
		}
	}
	var err error
	p.ID, err = p.Sum()
	return p, err
}

// setTasks sets the sizes and the tasks of a plan that has inputs.
func (s *Survey) setTasks(ctx context.Context, p *manifest.Plan) error {
	p.Schema, p.Columns = s.Mapping.Schema.JSON(), len(s.Mapping.Columns)
	want := p.BlockSize
	p.BlockSize = BlockSize(s.writer, want, p.Columns, s.config.Memory.Size())
	if p.BlockSize < want {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d columns do not fit into %d MiB of memory with blocks of %d bytes; blocks of %d bytes are used",
			p.Columns, s.config.Memory.Size()>>20, want, p.BlockSize))
	}
	//guard: refuses a plan that needs more memory than there is
	if need := leastMemory(s.writer, p.BlockSize, p.Columns); need > s.config.Memory.Size() {
		return failure.New(failure.Usage, "%d columns with blocks of %d bytes: %s", p.Columns, p.BlockSize, budget.TooLittle(need, s.config.Memory.Size()))
	}
	if err := s.newGroup(p.BlockSize); err != nil {
		return err
	}
	if err := s.checkFixed(p); err != nil {
		return err
	}
	f, err := s.sample(ctx, p.BlockSize)
	if err != nil {
		return err
	}
	s.filling = f
	room := f.maxInput(p.Request.Options.RowGroupSize)
	p.SplitSize = splitSize(p.Request.Inputs, room)
	p.Ratio = f.ratio(p.SplitSize, float64(p.Request.Options.RowGroupSize))
	p.Tasks = cut(p.Request.Inputs, p.SplitSize)
	return nil
}
