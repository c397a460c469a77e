package lookup

import (
	"context"
	"errors"
	"strings"

	"github.com/rowtocol/rowtocol/budget"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/rowkey"
)

// scanShare is the part of the rows from which on reading all of them in their order costs
// less than seeking those that an index finds.
const scanShare = 16

// Narrowed are the rows that a condition can hold for, by an index.
type Narrowed struct {
	*Rows
	table *Table
}

// Fields are those of the index.
func (n *Narrowed) Fields() string { return n.table.Fields() }

// BytesRead is how many bytes of the index's files were read.
func (n *Narrowed) BytesRead() int64 { return n.table.BytesRead() }

// Close gives the memory of the rows back, which are not used after it.
func (n *Narrowed) Close() { n.table.Close() }

// errMany ends the search for rows that are too many.
var errMany = errors.New("too many rows")

// Narrow finds the rows of a dataset that a condition can hold for, by an index whose first field
// the condition bounds; nil if there is none, or if these rows are too many to be sought. The
// condition is one that fits the dataset. The caller closes what it returns.
func Narrow(ctx context.Context, d *dataset.Dataset, condition string, memory *budget.Pool) (*Narrowed, error) {
	fields, spans, err := bounded(d, condition)
	if err != nil || fields == "" {
		return nil, err
	}
	t, err := Open(d, fields, memory)
	if errors.Is(err, ErrNoIndex) {
		return nil, nil // not all outputs have it
	}
	if err != nil {
		return nil, err
	}
	for _, p := range d.Parts() {
		t.most += p.Rows
	}
	t.most = max(t.most/scanShare, 1)
	rows, err := t.Find(ctx, func(s *rowkey.Spec) (r rowkey.Range, err error) {
		for _, span := range spans {
			r = r.Intersect(s.Span(span.Low, span.High))
		}
		return r, nil
	})
	if err != nil {
		t.Close()
		if errors.Is(err, errMany) || errors.As(err, new(*budget.Error)) {
			return nil, nil
		}
		return nil, err
	}
	return &Narrowed{rows, t}, nil
}

// bounded returns the fields of an index of the first output whose first field the condition
// bounds, and how; none if there is no such index. Of several it is the one on which most is
// demanded.
func bounded(d *dataset.Dataset, condition string) (fields string, spans []where.Span, err error) {
	all, err := d.Spans(condition)
	if err != nil || len(all) == 0 {
		return "", nil, err
	}
	for _, r := range d.Runs() {
		for _, x := range indexes(&r) {
			of := demands(all, x.Fields)
			if bounds(of) > bounds(spans) {
				fields, spans = x.Fields, of
			}
		}
		if fields != "" {
			break
		}
	}
	return fields, spans, nil
}

// bounds is how many values bound a field.
func bounds(spans []where.Span) (n int) {
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

// demands are those of the first of some fields.
func demands(all []where.Span, fields string) (of []where.Span) {
	first, _, _ := strings.Cut(fields, ",")
	for _, s := range all {
		if s.Path == first {
			of = append(of, s)
		}
	}
	return of
}
