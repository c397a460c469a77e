package lookup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/index"
	"github.com/rowtocol/rowtocol/store"
)

// ErrNoIndex is returned if a dataset does not have the requested index, or if no index
// is named and it has several. Errors that wrap it say more.
var ErrNoIndex = errors.New("no such index")

// noIndex is an ErrNoIndex with the reason.
type noIndex string

func (e noIndex) Error() string        { return string(e) }
func (e noIndex) Is(target error) bool { return target == ErrNoIndex }

// Table is a key index of a dataset: the indexes of its outputs on the same fields. It
// must be used by one goroutine.
type Table struct {
	fields  string
	outputs []*outputIndex
	memory  *budget.Heap
	read    int64
	maxRows int64 // most rows that may be found before errTooMany; 0 is no limit
	limit   int64 // most rows to return, the first rows of the dataset; 0 is no limit
}

// Limit makes Find return at most rows rows, the first of the dataset, and FindAll the first in
// its order. If rows is 0 or less, there is no limit.
func (t *Table) Limit(rows int64) { t.limit = max(rows, 0) }

// outputIndex is the index of one output.
type outputIndex struct {
	path   string
	index  index.Index
	spec   *rowkey.Spec
	reader *index.Reader
	parts  map[partID]part
}

// partID identifies a part in an index.
type partID struct{ task, group uint32 }

// part is a part of a dataset: its number in Dataset.Parts, and its rows.
type part struct {
	number int
	rows   int64
}

// positionMemory is the memory of a found position in bytes, including spare capacity of slices.
const positionMemory = 24

// Open finds the index on the fields in all outputs of a dataset that have rows. If there is only
// one index, fields may be "". Files are opened when they are needed. The caller closes the table.
func Open(d *dataset.Dataset, fields string, memory *budget.Pool) (*Table, error) {
	fields, err := choose(d, fields)
	if err != nil {
		return nil, err
	}
	t := &Table{fields: fields, memory: memory.NewHeap()}
	for number := range d.Outputs() {
		if err := t.addOutput(d, number); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// remedy says how to make an index.
const remedy = "; convert --index makes one, with --overwrite if the output exists"

// choose returns the fields of the index to use. Each output with rows has this index.
func choose(d *dataset.Dataset, fields string) (string, error) {
	filled := map[int]bool{}
	for _, p := range d.Parts() {
		if p.Output < 0 {
			return "", noIndex(p.Name + " is not part of a committed output; only these have indexes")
		}
		filled[p.Output] = true
	}
	for number, r := range d.Outputs() {
		if !filled[number] {
			continue
		}
		var names []string
		for _, x := range indexes(&r) {
			names = append(names, x.Fields)
		}
		all := strings.Join(names, " and ")
		switch {
		case slices.Contains(names, fields):
		case fields == "" && len(names) == 1:
			fields = all
		case fields == "" && len(names) > 1:
			return "", noIndex(fmt.Sprintf("%s has the indexes %s; name one of them with --by", r.Path, all))
		case len(names) > 0:
			return "", noIndex(fmt.Sprintf("%s has no index on %s, only on %s%s", r.Path, fields, all, remedy))
		default:
			return "", noIndex(r.Path + " has no index" + remedy)
		}
	}
	return fields, nil
}

func indexes(r *dataset.Output) []index.Index {
	return index.IndexesOf(r.IndexFields, r.Index, r.Fingerprint)
}

// addOutput adds the index of an output if it has one.
func (t *Table) addOutput(d *dataset.Dataset, number int) error {
	output := &d.Outputs()[number]
	r := &outputIndex{path: output.Path, parts: map[partID]part{}}
	for _, x := range indexes(output) {
		if x.Fields == t.fields {
			r.index = x
		}
	}
	if r.index.Files == nil {
		return nil // the output has no rows
	}
	schema, err := shred.ParseSchema(output.Schema())
	if err != nil {
		return fmt.Errorf("%s: %w", output.Path, err)
	}
	if r.spec, err = rowkey.Parse(schema, t.fields); err != nil {
		return fmt.Errorf("%s: %w", output.Path, err)
	}
	for i, p := range d.Parts() {
		if p.Output == number {
			r.parts[partID{uint32(p.Task), uint32(p.RowGroup)}] = part{i, p.Rows}
		}
	}
	r.reader = index.NewReader(r.index, func(ctx context.Context, name string) (store.File, error) {
		f, err := d.OpenListed(ctx, number, name)
		if err != nil {
			return nil, err
		}
		return &countingFile{f, t}, nil
	}, t.memory)
	t.outputs = append(t.outputs, r)
	return nil
}

// countingFile is a file whose read bytes a table counts.
type countingFile struct {
	store.File
	table *Table
}

func (c *countingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := store.ReadRange(c.File, p, off) // the next read is not nearby
	c.table.read += int64(n)
	return n, err
}

// Check returns the error of Find if the request does not fit the key's fields, else nil.
func (t *Table) Check(ask RangeFunc) error {
	for _, r := range t.outputs {
		if _, err := ask(r.spec); err != nil {
			return err
		}
	}
	return nil
}

// Fields returns the fields of the index.
func (t *Table) Fields() string { return t.fields }

// BytesRead returns how many bytes of the index's files were read.
func (t *Table) BytesRead() int64 { return t.read }

// Close closes the files of the index.
func (t *Table) Close() {
	for _, r := range t.outputs {
		r.reader.Close()
	}
	t.memory.Close()
}

// Rows are rows of a dataset that were found. The caller calls Release.
type Rows struct {
	// Only has each row once, in the form of dataset.Query.Only.
	Only map[int][]int64
	// Count is the number of rows that requests found. A row counts for each request that
	// found it.
	Count int64
	// Order has Count elements: for each row of the first request, then of the second, and so
	// on, the number of that row in Only, counted in the order of the dataset. It is nil after
	// Find, whose rows are in the order of the dataset.
	Order []int

	memory   *budget.Heap
	reserved int64 // bytes
}

// reserve reserves bytes for a row more.
func (r *Rows) reserve(bytes int64) error {
	if err := r.memory.Reserve(bytes); err != nil {
		return fmt.Errorf("more than %d rows are found: %w", r.Count, err)
	}
	r.reserved += bytes
	r.Count++
	return nil
}

// drop releases the memory of rows, each of which has some bytes.
func (r *Rows) drop(rows, bytes int64) {
	r.Count -= rows
	r.reserved -= rows * bytes
	r.memory.Release(rows * bytes)
}

// Release releases the memory of the rows, which must not be used after it.
func (r *Rows) Release() {
	r.memory.Release(r.reserved)
	r.Only, r.Order, r.Count, r.reserved = nil, nil, 0, 0
}

// trim keeps the first rows of the dataset, up to the limit.
func (r *Rows) trim(limit int64) {
	left := limit
	for _, number := range slices.Sorted(maps.Keys(r.Only)) {
		rows := r.Only[number]
		slices.Sort(rows)
		n := min(left, int64(len(rows)))
		if r.Only[number] = rows[:n]; n == 0 {
			delete(r.Only, number)
		}
		left -= n
	}
	r.drop(r.Count-(limit-left), positionMemory)
}

// trimFrom is the least number of found rows at which rows beyond the limit are dropped. They
// are dropped only if they are at least half of the found rows.
const trimFrom = 1024

// RowsWithoutKey returns the number of rows that an index on several fields leaves out
// because one of the fields is null. No range of the other fields finds these rows. For an
// index on one field it returns 0: null is in no range.
func (t *Table) RowsWithoutKey() (rows int64) {
	if !strings.Contains(t.fields, ",") {
		return 0
	}
	for _, r := range t.outputs {
		for _, p := range r.parts {
			rows += p.rows
		}
		rows -= r.index.Entries()
	}
	return rows
}

// maxOpen limits the outputs whose indexes stay open between searches.
const maxOpen = 16

// Find finds the rows with keys in the range that ask returns. It calls ask for each
// output, because schemas may give the key's fields different types. It returns an error
// of ask unchanged. If the rows do not fit into memory, the error is a *budget.Error. If
// the index has a position without a row, the error is a *damage.Error.
func (t *Table) Find(ctx context.Context, ask RangeFunc) (*Rows, error) {
	found := &Rows{Only: map[int][]int64{}, memory: t.memory}
	err := t.eachOutput(func(r *outputIndex) error {
		keys, err := ask(r.spec)
		if err != nil {
			return err
		}
		return r.find(ctx, keys, func(part int, row int64) error { return t.add(found, part, row) })
	})
	if err == nil {
		if t.limit > 0 && found.Count > t.limit {
			found.trim(t.limit)
		}
		err = t.order(found)
	}
	if err != nil {
		found.Release()
		return nil, err
	}
	return found, nil
}

// eachOutput calls find for each output until it fails.
func (t *Table) eachOutput(find func(*outputIndex) error) error {
	for _, r := range t.outputs {
		err := find(r)
		if len(t.outputs) > maxOpen {
			r.reader.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a row that was found.
func (t *Table) add(found *Rows, part int, row int64) error {
	if t.maxRows > 0 && found.Count == t.maxRows {
		return errTooMany
	}
	if err := found.reserve(positionMemory); err != nil {
		return err
	}
	found.Only[part] = append(found.Only[part], row)
	if t.limit > 0 && found.Count >= trimFrom && found.Count/2 >= t.limit {
		found.trim(t.limit)
	}
	return nil
}

// order sorts the rows of each part and rejects duplicates.
func (t *Table) order(found *Rows) error {
	for number, rows := range found.Only {
		slices.Sort(rows)
		for i := 1; i < len(rows); i++ {
			//guard: rejects an index with a row listed twice
			if rows[i] == rows[i-1] {
				return t.listedTwice(number, rows[i])
			}
		}
	}
	return nil
}

// listedTwice returns the error about an index with a row listed twice.
func (t *Table) listedTwice(part int, row int64) error {
	return t.outputWithPart(part).damaged(nil, fmt.Sprintf("two keys lead to row %d of a part", row))
}

// outputWithPart returns the index of the output that has the part with this number.
func (t *Table) outputWithPart(number int) *outputIndex {
	return t.outputs[slices.IndexFunc(t.outputs, func(r *outputIndex) bool {
		for _, p := range r.parts {
			if p.number == number {
				return true
			}
		}
		return false
	})]
}

// find calls visit with the part and the number of each row in a range of keys.
func (r *outputIndex) find(ctx context.Context, keys rowkey.Range, visit func(part int, row int64) error) error {
	return r.reader.Find(ctx, keys, func(key []byte, p index.Position) error {
		in, ok := r.parts[partID{p.Task, p.Group}]
		//guard: rejects a row beyond the part
		if !ok || int64(p.Row) >= in.rows {
			return r.damaged(key, fmt.Sprintf("a key leads to row %d of row group %d of task %d, which does not exist", p.Row, p.Group, p.Task))
		}
		return visit(in.number, int64(p.Row))
	})
}

// damaged returns a *damage.Error of the file that has the key, or of the first file.
func (r *outputIndex) damaged(key []byte, reason string) error {
	name := r.index.Files[0].Name
	for _, f := range r.index.Files {
		if bytes.Compare(f.Keys.First, key) <= 0 {
			name = f.Name
		}
	}
	return damage.New(damage.Value, path.Join(r.path, name), -1, "%s", reason)
}
