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

// scanShare is the part of the rows from which on reading all of them in their order costs
// less than seeking those that an index finds.
const scanShare = 16

// Narrowed are the rows that a condition can hold for, and the index that found them. Its
// Close gives the memory of the rows back, which are not used after it.
type Narrowed struct {
	*Rows
	*Table
}

// errMany ends the search for rows that are too many.
var errMany = errors.New("too many rows")

// Narrow finds the rows of a dataset that a condition can hold for, by an index whose first field
// the condition bounds; nil if there is none, or if these rows are too many to be sought. The
// condition is one that fits the dataset. The caller closes what it returns.
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
	spans  []where.Span // of the first field
}

// candidates are the indexes of the first output that has any whose first field is bounded,
// those with the most bounds first.
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

// find finds the rows by the index; nil if not all outputs have it with all
// rows, or they are too many.
func (c candidate) find(ctx context.Context, d *dataset.Dataset, memory *budget.Pool) (*Narrowed, error) {
	t, err := Open(d, c.fields, memory)
	if errors.Is(err, ErrNoIndex) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	//guard: skips an index that leaves out rows
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
	if errors.Is(err, errMany) || errors.As(err, new(*budget.Error)) {
		return nil, nil
	}
	return nil, err
}

// boundCount is how many values bound a field.
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

// spansOnFirstField are the spans that are of the first of some fields.
func spansOnFirstField(all []where.Span, fields string) (of []where.Span) {
	first, _, _ := strings.Cut(fields, ",")
	for _, s := range all {
		if s.Path == first {
			of = append(of, s)
		}
	}
	return of
}
