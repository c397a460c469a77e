package mapper

import (
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// Workspaces keeps the memory of tasks that have mapped their input, for later tasks. A
// process then needs memory only for the tasks that map at the same time. All tasks
// must have the same Mapping, Writer, BlockSize, MaxInputBlock, OnDamage, Workers, Memory
// and Pool. The zero value is ready for use by several goroutines.
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
	// trialBufs take the values of trial walks. It is nil if damage ends the task.
	trialBufs *column.Buffers
	// pages hold the column blocks that are open or being encoded.
	pages []byte
}

// trialBlock is the size of the blocks of trial walks, which are discarded. columnMemory
// includes their memory.
const trialBlock = 512

// typicalRow is a typical size in bytes of a row with its key. The memory for sorting is divided
// by it.
const typicalRow = 56

// mostAhead returns the most input blocks that are read ahead: enough for every worker
// while the reader wakes up.
func mostAhead(workers int) int { return 8 + 4*workers }

func newWorkspace(cfg *Config) *workspace {
	ahead := mostAhead(cfg.Workers)
	blocks := cfg.Workers * blocksPerWorker
	// A block that is being encoded is in memory twice, raw and stored.
	fit := max(cfg.Memory/4, int64(len(cfg.Mapping.Columns)*cfg.BlockSize/2)) / int64(2*cfg.BlockSize)
	columns, ok := cfg.Writer.(format.ColumnWriter)
	layout, whole := column.Interleaved, !ok // if rows are kept whole, columns are discarded
	if whole {
		fit = 0 // the sorter uses this memory
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

// provide gives the column blocks memory outside the Go heap. If the system has none,
// the blocks grow on the heap.
func (w *workspace) provide(blockSize int) {
	blocks := len(w.bufs.Cols) + len(w.encoders.free)
	pages, err := budget.Pages(blocks * column.BlockMemory(blockSize))
	if err == nil {
		w.pages = pages
	}
	w.bufs.Provide(w.pages, blockSize, &w.memory)
}

// close releases the memory. The workspace must not be used after it.
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

// Close releases the memory of tasks that have ended. Further tasks may follow.
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
