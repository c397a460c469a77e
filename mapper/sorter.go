package mapper

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/rowtocol/rowtocol/internal/kway"
	"github.com/rowtocol/rowtocol/spill"
)

// sorter puts rows in the order of their keys, equal ones in the order in which they came,
// in bounded memory: what fits is sorted there and appended as a run to a column of a spill,
// and the runs are merged at the end.
//
// A row is a record:
//
//	| bytes of the key: 4 | bytes of the datum: 4 | key | datum |
type sorter struct {
	memory  *memory // for what is larger than a run's share of the merge
	spill   *spill.Spill
	records []byte
	order   []place
	runs    []run
	large   []byte // of memory, for the datum of the row that comes next
}

// place is a record in memory.
type place struct {
	prefix uint64 // of the key, the first 8 bytes: most keys differ there
	at     int
}

const (
	recordHead = 8
	placeSize  = 16
	// recordShare is the part of the memory that the records take; the rest is for
	// their order.
	recordShare = 0.8
	// leastWindow is the least of a run that is read at once to merge it.
	leastWindow = 4 << 10
)

func newSorter(m *memory, size int64) *sorter {
	records := int64(float64(size) * recordShare)
	return &sorter{memory: m, records: make([]byte, 0, records), order: make([]place, 0, (size-records)/placeSize)}
}

// start begins with the rows of a row group.
func (s *sorter) start(to *spill.Spill) {
	s.spill, s.records, s.order, s.runs = to, s.records[:0], s.order[:0], s.runs[:0]
}

// add takes a row, which is not kept.
func (s *sorter) add(key, datum []byte) error {
	size := recordHead + len(key) + len(datum)
	if len(s.records)+size > cap(s.records) || len(s.order) == cap(s.order) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	at := len(s.records)
	if size <= cap(s.records) {
		s.records = append(appendHead(s.records, key, datum), datum...)
		s.order = append(s.order, place{prefixOf(key), at})
		return nil
	}
	// The record is a run of its own.
	s.records = appendHead(s.records, key, nil)
	binary.BigEndian.PutUint32(s.records[4:], uint32(len(datum)))
	err := s.spill.Append(runsColumn, s.records)
	s.records = s.records[:0]
	if err == nil {
		err = s.spill.Append(runsColumn, datum)
	}
	s.endRun()
	return err
}

// appendHead appends a record without its datum.
func appendHead(dst, key, datum []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(key)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(datum)))
	return append(dst, key...)
}

func prefixOf(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// record returns what is at the front of b, which has it whole.
func record(b []byte) (key, datum, all []byte) {
	k, d := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	b = b[:recordHead+k+d]
	return b[recordHead : recordHead+k], b[recordHead+k:], b
}

// sort sorts the records in memory.
func (s *sorter) sort() {
	slices.SortFunc(s.order, func(a, b place) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		x, _, _ := record(s.records[a.at:])
		y, _, _ := record(s.records[b.at:])
		//guard: rows of equal keys would change their order from run to run
		return cmp.Or(bytes.Compare(x, y), cmp.Compare(a.at, b.at))
	})
}

// flush makes the records in memory a run.
func (s *sorter) flush() error {
	if len(s.order) == 0 {
		return nil
	}
	s.sort()
	for _, p := range s.order {
		_, _, all := record(s.records[p.at:])
		if err := s.spill.Append(runsColumn, all); err != nil {
			return err
		}
	}
	s.records, s.order = s.records[:0], s.order[:0]
	s.endRun()
	return nil
}

// endRun makes what was appended since the last run another one.
func (s *sorter) endRun() {
	from := int64(0)
	if n := len(s.runs); n > 0 {
		from = s.runs[n-1].end
	}
	s.runs = append(s.runs, run{sorter: s, number: len(s.runs), next: from, end: s.spill.Size(runsColumn)})
}

// each calls visit with all rows, in order. They are valid during the call.
func (s *sorter) each(visit func(key, datum []byte) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for _, p := range s.order {
			key, datum, _ := record(s.records[p.at:])
			if err := visit(key, datum); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	defer s.giveBack()
	return s.merge(visit)
}

// merge merges the runs. Each reads through its share of the memory; a datum that does not fit
// there is read when its row comes.
func (s *sorter) merge(visit func(key, datum []byte) error) error {
	memory := s.records[:cap(s.records)]
	share := len(memory) / len(s.runs)
	heap := make(kway.Heap[*run], 0, len(s.runs))
	for i := range s.runs {
		r := &s.runs[i]
		r.window = memory[i*share : i*share : (i+1)*share]
		if err := r.read(); err != nil {
			return err
		}
		heap = append(heap, r)
	}
	heap.Order()
	for len(heap) > 0 {
		r := heap[0]
		datum, err := r.datum()
		if err == nil {
			err = visit(r.key, datum)
		}
		more := r.more()
		if err == nil && more {
			err = r.read()
		}
		if err != nil {
			return err
		}
		heap.Advance(more)
	}
	return nil
}

// giveBack gives back the memory that was taken beyond the runs' shares.
func (s *sorter) giveBack() {
	for i := range s.runs {
		s.memory.Give(s.runs[i].taken)
		s.runs[i].taken, s.runs[i].window = nil, nil
	}
	s.memory.Give(s.large)
	s.large = nil
}

// run is a sorted run, and the place in it.
type run struct {
	sorter    *sorter
	number    int
	next, end int64  // what is not read of the spill's column
	window    []byte // what was read, from at on not yet given
	at        int
	taken     []byte // memory of the task for window; nil if that is the sorter's

	prefix uint64
	key    []byte
	size   int // of the datum, which begins at at
}

// Before implements kway.Run. Rows of equal keys are in the order of their runs.
func (r *run) Before(other *run) bool {
	if r.prefix != other.prefix {
		return r.prefix < other.prefix
	}
	if c := bytes.Compare(r.key, other.key); c != 0 {
		return c < 0
	}
	return r.number < other.number
}

func (r *run) more() bool { return r.at < len(r.window) || r.next < r.end }

// read goes to the next record, of which it reads the key.
func (r *run) read() error {
	if err := r.have(recordHead); err != nil {
		return err
	}
	key := int(binary.BigEndian.Uint32(r.window[r.at:]))
	r.size = int(binary.BigEndian.Uint32(r.window[r.at+4:]))
	if err := r.have(recordHead + key); err != nil {
		return err
	}
	r.at += recordHead + key
	r.key = r.window[r.at-key : r.at]
	r.prefix = prefixOf(r.key)
	return nil
}

// datum reads the datum of the record and goes behind it. Datum and key are valid until the
// next record is read.
func (r *run) datum() ([]byte, error) {
	if end := r.at + r.size; end <= len(r.window) {
		r.at = end
		return r.window[end-r.size : end], nil
	}
	if held := len(r.key) + r.size; held <= cap(r.window) {
		r.at -= len(r.key) // which stays beside the datum
		if err := r.have(held); err != nil {
			return nil, err
		}
		r.key = r.window[r.at : r.at+len(r.key)]
		r.at += held
		return r.window[r.at-r.size : r.at], nil
	}
	if cap(r.sorter.large) < r.size {
		r.sorter.memory.Give(r.sorter.large)
		r.sorter.large = nil
		large, err := r.sorter.memory.take(r.size)
		if err != nil {
			return nil, fmt.Errorf("a row of %d bytes: %w", r.size, err)
		}
		r.sorter.large = large
	}
	datum := append(r.sorter.large[:0], r.window[r.at:]...)
	r.at = len(r.window)
	err := r.fill((*windowWriter)(&datum), r.size-len(datum))
	if err == nil && len(datum) < r.size {
		err = io.ErrUnexpectedEOF
	}
	return datum, err
}

// have reads until the window has so many bytes of what was not given.
func (r *run) have(n int) error {
	if len(r.window)-r.at >= n {
		return nil
	}
	rest := r.window[r.at:]
	if n > cap(r.window) {
		memory, err := r.sorter.memory.take(max(n, leastWindow))
		if err != nil {
			return fmt.Errorf("a key of %d bytes: %w", n, err)
		}
		rest = memory[:copy(memory[:cap(memory)], rest)]
		r.sorter.memory.Give(r.taken)
		r.taken, r.window = memory, rest
	} else {
		r.window = r.window[:copy(r.window[:cap(r.window)], rest)]
	}
	r.at = 0
	err := r.fill((*windowWriter)(&r.window), cap(r.window)-len(r.window))
	if err == nil && len(r.window) < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// fill reads at most so many bytes more of the run.
func (r *run) fill(w *windowWriter, n int) error {
	got, err := r.sorter.spill.CopyTo(w, runsColumn, r.next, min(int64(n), r.end-r.next))
	r.next += got
	return err
}

// windowWriter fills memory to its capacity.
type windowWriter []byte

// Write implements io.Writer.
func (w *windowWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom, which saves a copy.
func (w *windowWriter) ReadFrom(from io.Reader) (total int64, err error) {
	for len(*w) < cap(*w) {
		n, err := from.Read((*w)[len(*w):cap(*w)])
		*w = (*w)[:len(*w)+n]
		total += int64(n)
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
	return total, nil
}
