package mapper

import (
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// Workspaces keeps the memory of tasks that have mapped their input for later tasks. A
// process then needs memory only for the tasks that map at the same time. All tasks
// must have the Mapping, Writer, BlockSize, MaxInputBlock, OnDamage, Workers, Memory and
// Pool of the first. The zero value is ready for use by several goroutines.
type Workspaces struct {
	mu   sync.Mutex
	free []*workspace
}

// workspace is the memory of a task.
type workspace struct {
	workers  workers
	memory   memory
	blocks   *admission
	scanner  ocf.Scanner
	encoders *encoders
	sorter   *spill.Sorter // of rows that are kept whole; nil if the format takes columns
	bufs     *column.Buffers
	// trialBufs take the values of trial walks; nil if damage ends the task.
	trialBufs *column.Buffers
	// pages hold the column blocks, open or under way.
	pages []byte
}

// trialBlock is the size of blocks of trial walks, which are thrown away. columnMemory
// includes their memory.
const trialBlock = 512

// typicalRow is the size in bytes of a row and its key by which memory for sorting is divided.
const typicalRow = 56

// mostAhead bounds the input blocks that are read ahead. It lets every worker find a
// block while the reader wakes up.
func mostAhead(workers int) int { return 8 + 4*workers }

func newWorkspace(cfg *Config) *workspace {
	ahead := mostAhead(cfg.Workers)
	blocks := cfg.Workers * blocksPerWorker
	// A block under way is held raw and stored.
	fit := max(cfg.Memory/4, int64(len(cfg.Mapping.Columns)*cfg.BlockSize/2)) / int64(2*cfg.BlockSize)
	columns, ok := cfg.Writer.(format.ColumnWriter)
	layout, whole := column.Interleaved, !ok // if rows are kept whole, columns are thrown away
	if whole {
		fit = 0 // the sorter has the memory
	} else {
		layout = columns.Layout()
	}
	blocks = max(int(min(int64(blocks), fit)), 2)
	w := &workspace{
		workers: workers{
			encode: make(chan job, blocks),
			decode: make(chan job, ahead),
			states: make([]worker, cfg.Workers),
		},
		memory: memory{share: cfg.Pool.NewShare(cfg.Memory / 2)},
		bufs:   column.NewBuffers(cfg.Mapping.Columns, layout, cfg.BlockSize),
	}
	w.blocks = newAdmission(ahead, cfg.Memory/4, w.memory.share)
	w.encoders = newEncoders(&w.workers, blocks)
	w.provide(cfg.BlockSize)
	if whole && cfg.Spill != nil {
		w.sorter = spill.NewSorter(cfg.Memory/4, typicalRow, w.memory.take, w.memory.Give)
	}
	if cfg.OnDamage != Fail {
		w.trialBufs = column.NewBuffers(cfg.Mapping.Columns, layout, trialBlock)
		w.trialBufs.Provide(nil, trialBlock, &w.memory)
	}
	return w
}

// provide gives the column blocks memory of the system. If there is none, they grow on
// the heap.
func (w *workspace) provide(blockSize int) {
	blocks := len(w.bufs.Cols) + len(w.encoders.free)
	pages, err := budget.Pages(blocks * column.BlockMemory(blockSize))
	if err == nil {
		w.pages = pages
	}
	w.bufs.Provide(w.pages, blockSize, &w.memory)
}

// close gives the memory back; the workspace must not be used any more.
func (w *workspace) close() {
	_ = budget.ReleasePages(w.pages) // fails only for memory that Pages did not return
	w.pages = nil
	w.memory.share.Close()
}

// take returns the memory of an earlier task, or new memory.
func (s *Workspaces) take(cfg *Config) *workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		return newWorkspace(cfg)
	}
	w := s.free[last]
	s.free = s.free[:last]
	return w
}

// Close gives back the memory of tasks that have ended. Tasks may follow.
func (s *Workspaces) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.free {
		w.close()
	}
	s.free = nil
}

// release keeps the memory of a task that has mapped all its input.
func (s *Workspaces) release(w *workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, w)
}
