package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

const (
	defaultRowGroup = 128 << 20
	defaultMaxBlock = 512 << 20
	defaultBlock    = 64 << 10
	minBlock        = 4 << 10

	minSplit = 4 << 10
	maxSplit = 1 << 50
)

// MakePlan looks at the inputs and says what is to be done; it changes
// nothing. The same inputs and options give the same plan, whatever the
// machine, but for a memory that forces smaller column blocks.
func MakePlan(ctx context.Context, r Request) (*manifest.Plan, error) {
	p, _, err := makePlan(ctx, r)
	return p, judged(err)
}

// makePlan returns also the columns of the rows; nil if there are no inputs.
func makePlan(ctx context.Context, r Request) (*manifest.Plan, *shred.Mapping, error) {
	p := &manifest.Plan{Version: manifest.Version, Options: r.Options}
	p.Options.ReaderSchema = r.Schema != ""
	if err := completeOptions(&p.Options); err != nil {
		return nil, nil, err
	}
	dest, err := r.resolve(r.Dest)
	if err != nil {
		return nil, nil, err
	}
	info, err := dest.Store.Stat(ctx, dest.Path)
	switch {
	case err == nil && !info.Dir:
		return nil, nil, failf(ErrUsage, "destination %s is a file", r.Dest)
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return nil, nil, fmt.Errorf("destination %s: %w", r.Dest, err)
	}
	files, err := r.expandInputs(ctx, dest)
	if err != nil {
		return nil, nil, err
	}
	schema, err := r.readInputs(ctx, files, p)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Inputs) == 0 {
		p.Warnings = append(p.Warnings, "the inputs hold no .avro file")
		p.Options.BlockSize = cmp.Or(p.Options.BlockSize, defaultBlock)
		return p, nil, seal(p)
	}
	columns, err := r.fitSchema(ctx, p, schema)
	if err != nil {
		return nil, nil, err
	}
	return p, columns, seal(p)
}

func seal(p *manifest.Plan) (err error) {
	p.ID, err = p.Sum()
	return err
}

// completeOptions sets defaults and refuses what makes no sense in any format.
func completeOptions(o *manifest.Options) error {
	if o.RowGroupSize == 0 {
		o.RowGroupSize = defaultRowGroup
	}
	if o.MaxInputBlock == 0 {
		o.MaxInputBlock = defaultMaxBlock
	}
	if o.OnDamage == "" {
		o.OnDamage = "fail"
	}
	switch {
	case o.RowGroupSize < 0 || o.RowGroupSize > maxSplit:
		return failf(ErrUsage, "a row group of %d bytes", o.RowGroupSize)
	case o.MaxInputBlock < 0:
		return failf(ErrUsage, "input blocks of at most %d bytes", o.MaxInputBlock)
	case o.BlockSize < 0 || o.BlockSize > 1<<30:
		return failf(ErrUsage, "column blocks of %d bytes", o.BlockSize)
	}
	_, err := onDamage(o.OnDamage)
	return err
}

// readInputs describes the inputs in p and returns the schema of their rows in
// the output.
func (r *Request) readInputs(ctx context.Context, files []inputFile, p *manifest.Plan) (*shred.Schema, error) {
	inputs := make([]manifest.Input, len(files))
	texts := make([]string, len(files))
	open := make([]bool, len(files))
	err := forEach(ctx, len(files), headerReaders, func(ctx context.Context, i int) error {
		in, h, err := r.readHeader(ctx, files[i].name)
		if errors.Is(err, store.ErrBeingWritten) && !files[i].named {
			open[i] = true
			return nil
		}
		if err == nil {
			inputs[i], texts[i] = in, h.Schema
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var sound []string // schemas of the inputs that are taken
	for i, in := range inputs {
		if open[i] {
			p.Warnings = append(p.Warnings, fmt.Sprintf("input %s is left out: %v", files[i].name, store.ErrBeingWritten))
			continue
		}
		p.Inputs, sound = append(p.Inputs, in), append(sound, texts[i])
	}
	if r.Schema != "" {
		return readerSchema(r.Schema, p.Inputs, sound)
	}
	return oneSchema(p.Inputs, sound)
}

// oneSchema parses the schemas of the inputs and returns it if they are the
// same; nil if there are none.
func oneSchema(inputs []manifest.Input, texts []string) (*shred.Schema, error) {
	var groups []schemaGroup
	known := make(map[string]int) // schema text → index in groups
	for i, text := range texts {
		g, ok := known[text]
		if !ok {
			s, err := shred.ParseSchema(text)
			if err != nil {
				return nil, wrap(ErrInput, inFile(inputs[i].Path, err))
			}
			g = slices.IndexFunc(groups, func(g schemaGroup) bool { return g.schema.Canonical() == s.Canonical() })
			if g < 0 {
				g = len(groups)
				groups = append(groups, schemaGroup{schema: s})
			}
			known[text] = g
		}
		groups[g].files = append(groups[g].files, inputs[i].Path)
	}
	switch len(groups) {
	case 0:
		return nil, nil
	case 1:
		return groups[0].schema, nil
	}
	return nil, schemasDiffer(groups)
}

// schemaGroup is the inputs of one schema.
type schemaGroup struct {
	schema *shred.Schema
	files  []string
}

// listedFiles is the number of files of a schema that a refusal names.
const listedFiles = 10

func schemasDiffer(groups []schemaGroup) error {
	var s strings.Builder
	fmt.Fprintf(&s, "the inputs have %d different schemas, but a job takes one:", len(groups))
	for _, g := range groups {
		root := g.schema.Root()
		name := root.Kind.String()
		if root.Name != "" {
			name += " " + root.FullName()
		}
		fmt.Fprintf(&s, "\n  %s (%08x), %d files:", name, crc32.ChecksumIEEE([]byte(g.schema.Canonical())), len(g.files))
		for _, f := range g.files[:min(len(g.files), listedFiles)] {
			fmt.Fprintf(&s, "\n    %s", f)
		}
		if more := len(g.files) - listedFiles; more > 0 {
			fmt.Fprintf(&s, "\n    and %d more", more)
		}
	}
	return failf(ErrInput, "%s", s.String())
}

// fitSchema decides what follows from the schema: columns, block size, split
// size, tasks. It returns the columns.
func (r *Request) fitSchema(ctx context.Context, p *manifest.Plan, schema *shred.Schema) (*shred.Mapping, error) {
	p.Schema = schema.JSON()
	odd := schema.Warnings()
	p.Warnings = append(p.Warnings, odd...)
	if p.Options.Strict && len(odd) > 0 {
		return nil, schemaFault(p, fmt.Errorf("with --strict: %s", strings.Join(odd, "; ")))
	}
	m, err := shred.Map(schema, shred.Options{RecursiveBytes: p.Options.RecursiveBytes})
	if err != nil {
		return nil, schemaFault(p, err)
	}
	p.Columns = len(m.Columns)
	want := cmp.Or(p.Options.BlockSize, defaultBlock)
	p.Options.BlockSize = blockSize(want, p.Columns, r.memory())
	if p.Options.BlockSize < want {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d columns do not fit into %d MiB of memory with blocks of %d bytes; blocks of %d bytes are used",
			p.Columns, r.memory()>>20, want, p.Options.BlockSize))
	}
	if need := openBlocks(p.Options.BlockSize, p.Columns); need > r.memory() {
		return nil, failf(ErrUsage, "%d columns need a memory of at least %d MiB, with column blocks of %d bytes", p.Columns, need>>20+1, p.Options.BlockSize)
	}
	f, err := r.format(p.Options)
	if err != nil {
		return nil, err
	}
	rg, err := f.NewRowGroup(p.Schema, m.Columns)
	if err != nil {
		return nil, wrap(ErrUsage, err)
	}
	head := rg.Size()
	if p.Ratio, err = r.sampleRatio(ctx, p, m, f.Layout(), rg); err != nil {
		return nil, err
	}
	p.SplitSize = splitSize(p.Options.RowGroupSize, head, p.Ratio)
	p.Tasks = cut(p.Inputs, p.SplitSize)
	return m, nil
}

func (r *Request) format(o manifest.Options) (format.Format, error) {
	if r.NewFormat == nil {
		return nil, failf(ErrUsage, "no format named")
	}
	f, err := r.NewFormat(o)
	return f, wrap(ErrUsage, err)
}

// openBlocks is the memory of the open blocks of all columns, and half as much
// again for those that are being encoded, in bytes.
func openBlocks(size, columns int) int64 { return int64(columns) * int64(size) * 3 / 2 }

// blockSize returns the size of column blocks: what is wanted, or the largest
// power of two below it with which the open blocks fit the memory; but not less
// than 4 KiB.
func blockSize(want, columns int, memory int64) int {
	fits := func(size int) bool { return openBlocks(size, columns) <= memory }
	if want <= minBlock || fits(want) {
		return want
	}
	size := minBlock
	for size*2 < want && fits(size*2) {
		size *= 2
	}
	return size
}

// splitSize returns how many input bytes fill 85 % of a row group, of which
// head bytes do not depend on the input.
func splitSize(ceiling, head int64, ratio float64) int64 {
	room := max(float64(ceiling)*0.85-float64(head), float64(ceiling)*0.1)
	if ratio <= 0 || room/ratio > maxSplit {
		return maxSplit
	}
	return max(int64(math.Round(room/ratio)), minSplit)
}

// cut makes the tasks. An input of more than size bytes is cut at multiples of
// size, its last piece being up to 1.1 times as large, exactly as Hadoop cuts
// files; smaller inputs are grouped whole, in order. No task mixes the two.
func cut(inputs []manifest.Input, size int64) []manifest.Task {
	var tasks []manifest.Task
	add := func(pieces ...manifest.Piece) {
		tasks = append(tasks, manifest.Task{ID: len(tasks), Pieces: pieces})
	}
	var group []manifest.Piece
	var sum int64
	flush := func() {
		if len(group) > 0 {
			add(group...)
			group, sum = nil, 0
		}
	}
	for i, in := range inputs {
		if in.Size <= size {
			if sum+in.Size > size {
				flush()
			}
			group = append(group, manifest.Piece{Input: i, End: in.Size})
			sum += in.Size
			continue
		}
		flush()
		start := int64(0)
		for float64(in.Size-start)/float64(size) > 1.1 {
			add(manifest.Piece{Input: i, Start: start, End: start + size})
			start += size
		}
		add(manifest.Piece{Input: i, Start: start, End: in.Size})
	}
	flush()
	return tasks
}
