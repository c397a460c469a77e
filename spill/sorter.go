package spill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Sorter sorts records, which are keys with values, by their keys. Records with equal keys stay
// in the order in which they were added. The memory is bounded: when it is full, its records are
// appended to a spill as a sorted run. Sorted runs are merged at the end. A record is stored as:
//
//	| bytes of the key: 4 | bytes of the value: 4 | key | value |
type Sorter struct {
	take    func(n int) ([]byte, error) // returns memory for a value that does not fit into a window
	release func([]byte)
	folder  *Folder
	options Options
	spill   *Spill // of one column; nil before the first sorted run
	records []byte
	order   []place
	ascents []int // offsets in records at which ascending keys begin; no more than mostAscents+1
	longest int   // bytes of the longest record without its value
	runs    []sortedRun
	scratch []byte // holds the front of a record: all but its value
	large   []byte // memory that take returned
}

// place is a record in memory.
type place struct {
	prefix uint64 // the first 8 bytes of the key; most keys differ in them
	at     int    // offset in Sorter.records
}

const (
	recordHead = 8
	placeSize  = 16
	// leastWindow is the least size in bytes of the window of a sorted run.
	leastWindow = 4 << 10
	// mostAscents is the most ascents that are merged. Records of more ascents are sorted.
	mostAscents = 32
	// checkRecords is the number of records between two checks of the context.
	checkRecords = 1024
)

// NewSorter returns a sorter that uses memory bytes. They are divided between records and their
// order by the typical size of a record. A value that does not fit into its run's window is read
// into memory that take returns, and that goes back through release.
func NewSorter(memory int64, typical int, take func(n int) ([]byte, error), release func([]byte)) *Sorter {
	places := memory / int64(typical+recordHead+placeSize)
	return &Sorter{take: take, release: release, records: make([]byte, 0, memory-places*placeSize), order: make([]place, 0, places)}
}

// Start begins sorting with no records. Sorted runs go to a spill in the folder.
func (s *Sorter) Start(f *Folder, o Options) { s.folder, s.options = f, o }

// Add copies a record. After an error, only Reset may be called.
func (s *Sorter) Add(key, value []byte) error {
	front := recordHead + len(key)
	//guard: rejects a key that a window may not hold
	if 2*front > cap(s.records) {
		return fmt.Errorf("spill: a key of %d bytes is too long for the %d bytes of memory for sorting", len(key), cap(s.records))
	}
	s.longest = max(s.longest, front)
	size := front + len(value)
	//guard: keeps the sorter within its memory
	if len(s.records)+size > cap(s.records) || len(s.order) == cap(s.order) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if size > cap(s.records) {
		return s.writeRun(func() error { return s.write(key, value) })
	}
	here := place{prefixOf(key), len(s.records)}
	if n := len(s.order); n == 0 || len(s.ascents) <= mostAscents && s.comesBefore(key, here, s.order[n-1]) {
		s.ascents = append(s.ascents, here.at)
	}
	s.order = append(s.order, here)
	s.records = append(appendFront(s.records, key, value), value...)
	return nil
}

// comesBefore reports whether key, whose place is here, comes before the key of another record
// in memory.
func (s *Sorter) comesBefore(key []byte, here, other place) bool {
	if here.prefix != other.prefix {
		return here.prefix < other.prefix
	}
	with, _ := s.record(other.at)
	return bytes.Compare(key, with) < 0
}

// appendFront appends a record without its value.
func appendFront(dst, key, value []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(key)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(value)))
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

// record returns the record at a place in memory.
func (s *Sorter) record(at int) (key, value []byte) {
	b := s.records[at:]
	k, v := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
	b = b[recordHead : recordHead+k+v]
	return b[:k], b[k:]
}

// eachHeld calls visit with the records in memory, in order. If there are few ascents, it merges
// them, which is faster than sorting.
func (s *Sorter) eachHeld(ctx context.Context, visit func(key, value []byte) error) error {
	if len(s.ascents) <= mostAscents {
		runs := make([]sortedRun, len(s.ascents))
		for i, at := range s.ascents {
			end := len(s.records)
			if i+1 < len(s.ascents) {
				end = s.ascents[i+1]
			}
			runs[i] = sortedRun{sorter: s, number: i, window: s.records[at:end:end]}
		}
		return merge(ctx, runs, visit)
	}
	slices.SortFunc(s.order, func(a, b place) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		x, _ := s.record(a.at)
		y, _ := s.record(b.at)
		c := bytes.Compare(x, y)
		//guard: keeps the order of records with equal keys
		if c == 0 {
			c = cmp.Compare(a.at, b.at)
		}
		return c
	})
	for i, p := range s.order {
		if i%checkRecords == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		key, value := s.record(p.at)
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

// flush writes the records in memory to the spill as a sorted run.
func (s *Sorter) flush() error {
	if len(s.order) == 0 {
		return nil
	}
	err := s.writeRun(func() error { return s.eachHeld(context.Background(), s.write) })
	s.records, s.order, s.ascents = s.records[:0], s.order[:0], s.ascents[:0]
	return err
}

// writeRun calls write, and adds the records that write appends to the spill as a sorted run.
func (s *Sorter) writeRun(write func() error) (err error) {
	if s.spill == nil {
		if s.spill, err = s.folder.New(1, s.options); err != nil {
			return err
		}
	}
	from := s.spill.Size(0)
	err = write()
	s.runs = append(s.runs, sortedRun{sorter: s, number: len(s.runs), next: from, end: s.spill.Size(0)})
	return err
}

// write appends a record to the spill.
func (s *Sorter) write(key, value []byte) error {
	s.scratch = appendFront(s.scratch[:0], key, value)
	if len(value) <= leastWindow {
		return s.spill.Append(0, append(s.scratch, value...))
	}
	if err := s.spill.Append(0, s.scratch); err != nil {
		return err
	}
	return s.spill.Append(0, value)
}

// Each calls visit with each record, in order. Key and value are valid during the call of visit.
// Each ends with Reset.
func (s *Sorter) Each(ctx context.Context, visit func(key, value []byte) error) (err error) {
	defer func() { err = errors.Join(err, s.Reset()) }()
	if len(s.runs) == 0 {
		return s.eachHeld(ctx, visit)
	}
	return s.mergeAll(ctx, visit)
}

// mergeAll merges all sorted runs. While they are too many for windows that hold any key, it
// merges some at a time into longer runs.
func (s *Sorter) mergeAll(ctx context.Context, visit func(key, value []byte) error) error {
	if err := s.flush(); err != nil {
		return err
	}
	atOnce := max(cap(s.records)/max(leastWindow, s.longest), 2)
	for len(s.runs) > atOnce {
		runs := s.runs
		s.runs = nil
		for some := range slices.Chunk(runs, atOnce) {
			if err := s.writeRun(func() error { return s.mergeSome(ctx, some, s.write) }); err != nil {
				return err
			}
		}
	}
	return s.mergeSome(ctx, s.runs, visit)
}

// mergeSome merges sorted runs of the spill. Each run has an equal share of the memory as its
// window. A value that does not fit into the window is read when its record is visited.
func (s *Sorter) mergeSome(ctx context.Context, runs []sortedRun, visit func(key, value []byte) error) error {
	memory := s.records[:cap(s.records)]
	share := len(memory) / len(runs)
	for i := range runs {
		runs[i].window = memory[i*share : i*share : (i+1)*share]
	}
	return merge(ctx, runs, visit)
}

// merge calls visit with the records of sorted runs, in order.
func merge(ctx context.Context, runs []sortedRun, visit func(key, value []byte) error) error {
	heap := make(runHeap, len(runs))
	for i := range runs {
		heap[i] = &runs[i]
		if err := heap[i].read(); err != nil {
			return err
		}
	}
	heap.order()
	for n := 0; len(heap) > 0; n++ {
		if n%checkRecords == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := heap[0]
		value, err := r.value()
		if err == nil {
			err = visit(r.key, value)
		}
		more := r.at < len(r.window) || r.next < r.end
		if err == nil && more {
			err = r.read()
		}
		if err != nil {
			return err
		}
		heap.advance(more)
	}
	return nil
}

// Reset forgets all records, closes the spill, and releases memory that take returned. Call
// Start before Add again.
func (s *Sorter) Reset() (err error) {
	if s.large != nil {
		s.release(s.large)
	}
	if s.spill != nil {
		err = s.spill.Close()
	}
	s.large, s.spill, s.runs = nil, nil, s.runs[:0]
	s.records, s.order, s.ascents, s.longest = s.records[:0], s.order[:0], s.ascents[:0], 0
	return err
}

// sortedRun is a sorted run, and the position of a reader in it.
type sortedRun struct {
	sorter    *Sorter
	number    int
	next, end int64  // the range of the spill's column that is not read yet
	window    []byte // bytes that were read
	at        int    // position in the window; the value of the record begins there

	prefix uint64
	key    []byte // key of the record
	size   int    // bytes of the record's value
}

// before reports whether the current record of r comes before the current record of other.
// Records with equal keys are in the order of their runs.
func (r *sortedRun) before(other *sortedRun) bool {
	if r.prefix != other.prefix {
		return r.prefix < other.prefix
	}
	if c := bytes.Compare(r.key, other.key); c != 0 {
		return c < 0
	}
	return r.number < other.number
}

// read moves to the next record and reads its key.
func (r *sortedRun) read() error {
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

// value reads the value of the current record and moves past the record. Value and key are valid
// until the next call of read.
func (r *sortedRun) value() ([]byte, error) {
	if held := len(r.key) + r.size; r.at+r.size > len(r.window) && held <= cap(r.window) {
		r.at -= len(r.key) // the key stays with the value
		if err := r.have(held); err != nil {
			return nil, err
		}
		r.at += len(r.key)
		r.key = r.window[r.at-len(r.key) : r.at]
	}
	if end := r.at + r.size; end <= len(r.window) {
		r.at = end
		return r.window[end-r.size : end], nil
	}
	return r.largeValue()
}

// largeValue is value for a value that the window cannot hold.
func (r *sortedRun) largeValue() ([]byte, error) {
	s := r.sorter
	held := len(r.window) - r.at
	//guard: rejects a value longer than its file
	if int64(r.size-held) > r.end-r.next {
		return nil, io.ErrUnexpectedEOF
	}
	if cap(s.large) < r.size {
		if s.large != nil {
			s.release(s.large)
		}
		var err error
		if s.large, err = s.take(r.size); err != nil {
			s.large = nil
			return nil, fmt.Errorf("a row of %d bytes: %w", r.size, err)
		}
	}
	value := s.large[:r.size]
	copy(value, r.window[r.at:])
	r.at = len(r.window)
	return value, r.fill(value[held:])
}

// have reads until the window holds the next n bytes.
func (r *sortedRun) have(n int) error {
	if len(r.window)-r.at >= n {
		return nil
	}
	held := copy(r.window[:cap(r.window)], r.window[r.at:])
	all := held + int(min(int64(cap(r.window)-held), r.end-r.next))
	//guard: rejects a record longer than its file
	if n > all {
		return io.ErrUnexpectedEOF
	}
	r.window, r.at = r.window[:all], 0
	return r.fill(r.window[held:])
}

// fill reads the next bytes of the run.
func (r *sortedRun) fill(p []byte) error {
	err := r.sorter.spill.readAt(0, p, r.next)
	r.next += int64(len(p))
	return err
}

// runHeap is a heap of sorted runs. The first run has the record that comes first.
type runHeap []*sortedRun

// order makes h, which is in any order, a heap.
func (h runHeap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// advance restores the heap after the first run has moved to its next record. If the run has no
// more records, advance removes it.
func (h *runHeap) advance(more bool) {
	if !more {
		last := len(*h) - 1
		(*h)[0] = (*h)[last]
		*h = (*h)[:last]
	}
	h.down(0)
}

// down moves the run at i down to its place in the heap.
func (h runHeap) down(i int) {
	for {
		first := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[first]) {
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
