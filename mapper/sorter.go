package mapper

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

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
	memory  *memory // for rows that are larger than a run, or their share of the merge
	spill   *spill.Spill
	records []byte
	order   []place
	runs    []run
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

// merge merges the runs. Each reads through its share of the memory.
func (s *sorter) merge(visit func(key, datum []byte) error) error {
	memory := s.records[:cap(s.records)]
	share := len(memory) / len(s.runs)
	heap := make(mergeHeap, 0, len(s.runs))
	for i := range s.runs {
		r := &s.runs[i]
		r.window = memory[i*share : i*share : (i+1)*share]
		if err := r.read(); err != nil {
			return err
		}
		heap = append(heap, r)
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		heap.down(i)
	}
	for len(heap) > 0 {
		r := heap[0]
		if err := visit(r.key, r.datum); err != nil {
			return err
		}
		if r.more() {
			if err := r.read(); err != nil {
				return err
			}
		} else {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		heap.down(0)
	}
	return nil
}

// giveBack gives back the memory that runs took beyond their share.
func (s *sorter) giveBack() {
	for i := range s.runs {
		s.memory.Give(s.runs[i].taken)
		s.runs[i].taken, s.runs[i].window = nil, nil
	}
}

// run is a sorted run, and the place in it.
type run struct {
	sorter    *sorter
	number    int
	next, end int64  // what is not read of the spill's column
	window    []byte // what was read, from at on not yet given
	at        int
	taken     []byte // memory of the task for window; nil if that is the sorter's

	prefix     uint64
	key, datum []byte
}

func (r *run) more() bool { return r.at < len(r.window) || r.next < r.end }

// read goes to the next record.
func (r *run) read() error {
	if err := r.have(recordHead); err != nil {
		return err
	}
	head := r.window[r.at:]
	size := recordHead + int(binary.BigEndian.Uint32(head)) + int(binary.BigEndian.Uint32(head[4:]))
	if err := r.have(size); err != nil {
		return err
	}
	r.key, r.datum, _ = record(r.window[r.at:])
	r.prefix = prefixOf(r.key)
	r.at += size
	return nil
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
			return fmt.Errorf("a row of %d bytes: %w", n, err)
		}
		rest = memory[:copy(memory[:cap(memory)], rest)]
		r.sorter.memory.Give(r.taken)
		r.taken, r.window = memory, rest
	} else {
		r.window = r.window[:copy(r.window[:cap(r.window)], rest)]
	}
	r.at = 0
	more := min(int64(cap(r.window)-len(r.window)), r.end-r.next)
	got, err := r.sorter.spill.CopyTo((*windowWriter)(r), runsColumn, r.next, more)
	r.next += got
	if err == nil && len(r.window) < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// windowWriter fills the window of a run.
type windowWriter run

// Write implements io.Writer.
func (w *windowWriter) Write(p []byte) (int, error) {
	w.window = append(w.window, p...)
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom, which saves a copy.
func (w *windowWriter) ReadFrom(from io.Reader) (total int64, err error) {
	for len(w.window) < cap(w.window) {
		n, err := from.Read(w.window[len(w.window):cap(w.window)])
		w.window = w.window[:len(w.window)+n]
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

// mergeHeap has the run with the first record at its front.
type mergeHeap []*run

func (h mergeHeap) before(i, j int) bool {
	a, b := h[i], h[j]
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	if c := bytes.Compare(a.key, b.key); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

// down moves the run at i behind those that come before it.
func (h mergeHeap) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h.before(child, first) {
				first = child
			}
		}
		if first == i {
			return
		}
		h[i], h[first] = h[first], h[i]
		i = first
	}
}
