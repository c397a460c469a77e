package lookup

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/rowtocol/rowtocol/avro/rowkey"
)

// place is a row that a request found.
type place struct {
	ask  int // number of the request
	part int
	row  int64
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.ask, q.ask), p.compareRow(q))
}

func (p place) compareRow(q place) int {
	return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.row, q.row))
}

const (
	// placeMemory is the memory of a place in bytes, including spare capacity of slices, and of
	// its elements in Rows.
	placeMemory = 64
	// rangeMemory is the memory of a range of keys in bytes, without the bytes of the keys.
	rangeMemory = 64
)

// search is a search for the rows of several requests.
type search struct {
	table  *Table
	found  *Rows
	places []place
}

// FindAll finds the rows of several requests, and looks for them in the order of their keys, so
// that it reads each block of the index once. Errors are those of Find. After an error of one
// request, no rows are returned.
func (t *Table) FindAll(ctx context.Context, asks []RangeFunc) (*Rows, error) {
	s := &search{table: t, found: &Rows{memory: t.memory}}
	err := t.eachOutput(func(r *outputIndex) error { return s.findIn(ctx, r, asks) })
	if err == nil {
		err = s.order()
	}
	if err != nil {
		s.found.Release()
		return nil, err
	}
	return s.found, nil
}

// requested is the range of keys of a request.
type requested struct {
	rowkey.Range
	ask int
}

// findIn finds the rows of all requests in an output.
func (s *search) findIn(ctx context.Context, r *outputIndex, asks []RangeFunc) error {
	all, reserved, err := s.ranges(r.spec, asks)
	defer func() { s.table.memory.Release(reserved) }()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b requested) int { return bytes.Compare(a.From, b.From) })
	for i := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := len(s.places)
		err := r.find(ctx, all[i].Range, func(part int, row int64) error {
			return s.add(first, place{all[i].ask, part, row})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ranges returns the ranges of all requests, and how many bytes it reserved for them.
func (s *search) ranges(spec *rowkey.Spec, asks []RangeFunc) (all []requested, reserved int64, err error) {
	size := int64(len(asks)) * rangeMemory
	if err := s.table.memory.Reserve(size); err != nil {
		return nil, 0, err
	}
	reserved = size
	all = make([]requested, len(asks))
	for i, ask := range asks {
		keys, err := ask(spec)
		if err != nil {
			return nil, reserved, err
		}
		size := int64(cap(keys.From) + cap(keys.To))
		if err := s.table.memory.Reserve(size); err != nil {
			return nil, reserved, err
		}
		reserved += size
		all[i] = requested{keys, i}
	}
	return all, reserved, nil
}

// add adds a row. The places from first on are those of the same request in the same output.
func (s *search) add(first int, p place) error {
	if err := s.found.reserve(placeMemory); err != nil {
		return err
	}
	s.places = append(s.places, p)
	limit := s.table.limit
	if of := s.places[first:]; limit > 0 && len(of) >= trimFrom && int64(len(of)/2) >= limit {
		slices.SortFunc(of, place.compareRow)
		s.found.drop(int64(len(of))-limit, placeMemory)
		s.places = s.places[:first+int(limit)]
	}
	return nil
}

// order makes Only and Order of the places.
func (s *search) order() error {
	slices.SortFunc(s.places, place.compare)
	for i := 1; i < len(s.places); i++ {
		//guard: rejects an index with a row listed twice, for one of several requests
		if s.places[i] == s.places[i-1] {
			return s.table.listedTwice(s.places[i].part, s.places[i].row)
		}
	}
	if limit := s.table.limit; limit > 0 && limit < s.found.Count {
		s.found.drop(s.found.Count-limit, placeMemory)
		s.places = s.places[:limit]
	}
	byRow := make([]int, len(s.places))
	for i := range byRow {
		byRow[i] = i
	}
	slices.SortFunc(byRow, func(i, j int) int { return s.places[i].compareRow(s.places[j]) })
	s.found.Only, s.found.Order = map[int][]int64{}, make([]int, len(s.places))
	number := -1
	for n, i := range byRow {
		p := s.places[i]
		if n == 0 || p.compareRow(s.places[byRow[n-1]]) != 0 {
			s.found.Only[p.part] = append(s.found.Only[p.part], p.row)
			number++
		}
		s.found.Order[i] = number
	}
	return nil
}
