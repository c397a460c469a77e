package dataset

import (
	"cmp"
	"math"
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/format/column"
)

// Plan is a query that was checked against its dataset. It is immutable, and may be used
// concurrently.
type Plan struct {
	dataset  *Dataset
	query    Query
	sections []*sectionPlan
	files    *sharedFiles // of the readers of a run; nil before it
}

// sectionPlan is what a query reads of a section.
type sectionPlan struct {
	*section
	mapping    *shred.Mapping    // columns of the chosen fields
	columns    []int             // for each column of mapping, its number in the section
	where      *where.Predicate  // the condition; nil without one. Readers evaluate their own.
	reread     []bool            // per column of the section, whether its blocks are read twice
	inFiles    int               // number of columns that are read from the files
	schema     *shred.Schema     // schema of the returned rows
	resolution *shred.Resolution // resolves rows of mapping to schema; nil if they are the same
	// projection takes the chosen fields out of whole rows; nil if all are chosen.
	projection *shred.Resolution
}

// Plan checks a query on all rows of the dataset that it may need.
func (d *Dataset) Plan(q Query) (*Plan, error) {
	p, err := d.newPlan(q)
	if err != nil {
		return nil, err
	}
	for i := len(p.sections) - 1; i >= 0; i-- {
		if err := p.sections[i].resolve(p); err != nil {
			return nil, err
		}
		//guard: refuses to mix rows of two schemas
		if i+1 < len(p.sections) && !p.sections[i+1].schema.Same(p.sections[i].schema) {
			return nil, d.differs(i + 1)
		}
	}
	return p, nil
}

// Only returns the plan limited to some rows: see Query.Only.
func (p *Plan) Only(rows map[int][]int64) (*Plan, error) {
	if err := p.dataset.checkOnly(rows); err != nil {
		return nil, err
	}
	limited := *p
	limited.query.Only = rows
	return &limited, nil
}

// InBatches returns the plan with other batches: see Query.BatchRows and Query.Copies.
func (p *Plan) InBatches(rows, copies int) *Plan {
	other := *p
	other.query.BatchRows, other.query.Copies = rows, copies
	return &other
}

// begin returns the plan for one run, whose readers share files.
func (p *Plan) begin() *Plan {
	run := *p
	run.files = new(sharedFiles)
	return &run
}

// newPlan is Plan without schemas of rows.
func (d *Dataset) newPlan(q Query) (*Plan, error) {
	switch {
	case q.Offset < 0:
		return nil, queryf("offset %d is negative", q.Offset)
	case q.BatchRows < 0:
		return nil, queryf("BatchRows %d is negative", q.BatchRows)
	case len(d.sections) == 0 && q.Columns != nil:
		return nil, queryf("the dataset is an output of no inputs and has no columns")
	}
	if err := d.checkOnly(q.Only); err != nil {
		return nil, err
	}
	p := &Plan{dataset: d, query: q, sections: make([]*sectionPlan, len(d.sections))}
	for i := len(d.sections) - 1; i >= 0; i-- {
		s, err := d.sections[i].plan(d, &p.query)
		if err != nil {
			return nil, err
		}
		p.sections[i] = s
	}
	return p, nil
}

// plan plans to read the section for a query.
func (s *section) plan(d *Dataset, q *Query) (*sectionPlan, error) {
	p := &sectionPlan{section: s}
	columns := q.Columns
	if columns == nil && q.Schema != nil {
		columns = d.wanted(s, q.Schema.Root())
	}
	var err error
	if p.mapping, p.columns, err = s.choose(columns); err != nil {
		return nil, err
	}
	if q.Where != "" {
		if p.where, err = where.Parse(q.Where, s.mapping); err != nil {
			return nil, &queryError{err}
		}
	}
	p.count()
	return p, p.project(d, columns)
}

// project finds the projection of whole rows to the fields that paths name, without keys.
func (p *sectionPlan) project(d *Dataset, paths []string) error {
	if paths == nil || !slices.ContainsFunc(d.Parts()[p.first:p.end], mayKeepRows) {
		return nil
	}
	paths = slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		return slices.ContainsFunc(p.keys, func(k int) bool { return d.list.keys[k].name == path })
	})
	m, _, err := p.files.Project(paths)
	if err != nil {
		return &queryError{err}
	}
	by, err := shred.ResolveProjection(p.files.Schema, m.Schema)
	if err != nil {
		return in(p.name, err)
	}
	if !by.Identity() {
		p.projection = by
	}
	return nil
}

// wholeColumns returns the columns to which whole rows are shredded: those of the condition and, if
// chosen is set, those of the chosen fields.
func (p *sectionPlan) wholeColumns(chosen bool) (columns []int) {
	wanted := make([]bool, len(p.files.Columns))
	want := func(columns []int) {
		for _, col := range columns {
			for ; col >= 0 && col < len(wanted); col = p.files.Columns[col].Parent {
				wanted[col] = true
			}
		}
	}
	if p.where != nil {
		want(p.where.Columns())
	}
	if chosen {
		want(p.columns)
	}
	for col, is := range wanted {
		if is {
			columns = append(columns, col)
		}
	}
	return columns
}

// count counts the columns that are read from files, and finds those that are read twice: the
// condition needs them, and they are chosen.
func (p *sectionPlan) count() {
	p.inFiles, p.reread = 0, nil
	end := len(p.files.Columns)
	for _, col := range p.columns {
		if col < end {
			p.inFiles++
		}
	}
	if p.where == nil {
		return
	}
	p.reread = make([]bool, len(p.section.mapping.Columns))
	for _, col := range p.where.Columns() {
		p.reread[col] = slices.Contains(p.columns, col)
		if col < end && !p.reread[col] {
			p.inFiles++
		}
	}
}

// resolve finds the schema of the returned rows.
func (p *sectionPlan) resolve(of *Plan) error {
	p.schema = p.mapping.Schema
	if of.query.Schema == nil {
		return nil
	}
	reader, err := p.withKeys(of.dataset, of.query.Schema)
	if err != nil {
		return err
	}
	by, err := shred.Resolve(p.schema, reader, shred.AllowChanges)
	if err != nil {
		return in(p.name, err)
	}
	if p.schema = reader; !by.Identity() {
		p.resolution = by
	}
	return nil
}

// wanted returns the fields of a section's record that a reader's record uses, and the
// section's keys. For other types it returns nil, which means all fields.
func (d *Dataset) wanted(s *section, reader *shred.Node) []string {
	writer := s.files.Schema.Root()
	if writer.Kind != shred.KindRecord || reader.Kind != shred.KindRecord {
		return nil
	}
	paths := []string{}
	for _, w := range writer.Fields {
		if slices.ContainsFunc(reader.Fields, func(r shred.Field) bool { return r.Name == w.Name || slices.Contains(r.Aliases, w.Name) }) {
			paths = append(paths, w.Name)
		}
	}
	for _, k := range s.keys {
		paths = append(paths, d.list.keys[k].name)
	}
	return paths
}

// withKeys adds the keys that the query chose to the reader's schema, if the schema can be
// extended. It leaves out a key whose name is that of a field.
func (p *sectionPlan) withKeys(d *Dataset, reader *shred.Schema) (*shred.Schema, error) {
	var fields []shred.NewField
	for i, k := range p.keys {
		key := &d.list.keys[k]
		if slices.Contains(p.columns, len(p.files.Columns)+i) && !hasField(reader, key.name) {
			fields = append(fields, key.field())
		}
	}
	if len(fields) == 0 || !reader.Extensible() {
		return reader, nil
	}
	return reader.Extend(fields)
}

// excludes reports whether the keys of a part exclude the condition.
func (p *sectionPlan) excludes(d *Dataset, part *Part) bool {
	if p.where == nil || len(p.keys) == 0 {
		return false
	}
	known := make(map[int]*column.Vector, len(p.keys))
	for i, c := range d.constants(p.section, part) {
		known[len(p.files.Columns)+i] = &c.value
	}
	return p.where.Excludes(known)
}

// Schema returns the schema of the rows. If the dataset is an output that was made without
// inputs, Schema returns the schema of the query, which may be nil.
func (p *Plan) Schema() *shred.Schema {
	if len(p.sections) == 0 {
		return p.query.Schema
	}
	return p.sections[0].schema
}

// Mapping returns the columns of the rows, in the order of the schema. If Schema returns nil,
// Mapping does too.
func (p *Plan) Mapping() (*shred.Mapping, error) {
	switch {
	case p.query.Schema != nil:
		m, err := shred.Map(p.Schema(), shred.Options{RecursiveBytes: true, Memory: p.dataset.list.memory.NewHeap()})
		if err != nil {
			return nil, in(p.dataset.list.Path, err)
		}
		return m, nil
	case len(p.sections) == 0:
		return nil, nil
	}
	return p.sections[0].mapping, nil
}

// Totals returns the statistics that are known before the rows are read: TotalRows and
// FileBytes.
func (p *Plan) Totals() (s Stats) {
	s.TotalRows = p.dataset.rows
	for i := range p.dataset.list.Parts {
		s.FileBytes += p.dataset.list.Parts[i].Bytes
	}
	return s
}

// limit returns the most rows that the query returns.
func (p *Plan) limit() int64 {
	if p.query.Limit < 0 {
		return math.MaxInt64
	}
	return p.query.Limit
}

// batchRows returns the most rows of a batch.
func (p *Plan) batchRows() int { return cmp.Or(p.query.BatchRows, defaultBatchRows) }

// workers returns the number of goroutines that read.
func (p *Plan) workers() int {
	if p.oneReader() {
		return 1
	}
	return max(p.query.Workers, 1)
}

// oneReader reports whether a condition and an offset or a limit meet. Then the first and the last row
// depend on all matches before, which one reader counts.
func (p *Plan) oneReader() bool {
	return p.query.Where != "" && (p.query.Offset > 0 || p.query.Limit >= 0)
}
