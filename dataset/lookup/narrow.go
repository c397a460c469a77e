package lookup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/internal/budget"
)

// scanShare limits the rows to read by an index. If an index finds more than 1/scanShare of all
// rows, reading all rows in order is faster.
const scanShare = 16

// Narrowed has the rows that may match a condition, and the index that found them. After Close,
// which releases the memory of the rows, they must not be used.
type Narrowed struct {
	*Rows
	*Table
}

// errTooMany ends a search that finds too many rows.
var errTooMany = errors.New("too many rows")

// Narrow finds the rows of a dataset that may match a condition, by an index whose first field
// the condition bounds. It returns nil if there is no such index, or if it finds too many rows.
// The condition must fit the dataset. The caller closes the result.
func Narrow(ctx context.Context, d *dataset.Dataset, condition string, memory *budget.Pool) (*Narrowed, error) {
	spans, err := d.Spans(condition)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	for _, c := range candidates(d, spans) {
		n, err := c.find(ctx, d, memory)
		if n != nil || err != nil {
			return n, err
		}
	}
	return nil, nil
}

// candidate is an index whose first field a condition bounds.
type candidate struct {
	fields string
	spans  []where.Span // spans of the first field
}

// candidates returns the indexes whose first field is bounded, from the first output that has
// such indexes. The indexes with the most bounds are first.
func candidates(d *dataset.Dataset, spans []where.Span) (all []candidate) {
	for _, r := range d.Outputs() {
		for _, x := range indexes(&r) {
			if c := (candidate{x.Fields, spansOnFirstField(spans, x.Fields)}); len(c.spans) > 0 {
				all = append(all, c)
			}
		}
		if len(all) > 0 {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(boundCount(b.spans), boundCount(a.spans)) })
	return all
}

// find finds the rows by the index. It returns nil if an output lacks the index, if rows are
// missing from the index, or if there are too many rows.
func (c candidate) find(ctx context.Context, d *dataset.Dataset, memory *budget.Pool) (*Narrowed, error) {
	t, err := Open(d, c.fields, memory)
	if errors.Is(err, ErrNoIndex) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	//guard: returns no rows of an index that leaves out rows
	if t.RowsWithoutKey() > 0 {
		t.Close()
		return nil, nil
	}
	for _, p := range d.Parts() {
		t.maxRows += p.Rows
	}
	t.maxRows = max(t.maxRows/scanShare, 1)
	rows, err := t.Find(ctx, func(s *rowkey.Spec) (r rowkey.Range, err error) {
		for _, span := range c.spans {
			r = r.Intersect(s.Span(span.Low, span.High))
		}
		return r, nil
	})
	if err == nil {
		return &Narrowed{rows, t}, nil
	}
	t.Close()
	if errors.Is(err, errTooMany) || errors.As(err, new(*budget.Error)) {
		return nil, nil
	}
	return nil, err
}

// boundCount returns the number of values that bound a field.
func boundCount(spans []where.Span) (n int) {
	for _, s := range spans {
		if s.Low != nil {
			n++
		}
		if s.High != nil {
			n++
		}
	}
	return n
}

// spansOnFirstField returns the spans of the first of the fields.
func spansOnFirstField(all []where.Span, fields string) (first []where.Span) {
	path, _, _ := strings.Cut(fields, ",")
	for _, s := range all {
		if s.Path == path {
			first = append(first, s)
		}
	}
	return first
}
