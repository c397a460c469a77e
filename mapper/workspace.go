package mapper

import (
	"sync"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/spill"
)

// Workspaces hands the memory of tasks that have mapped their input on to
// later ones, so that a process needs as much as tasks map at a time. All
// tasks must have the Mapping, Writer, BlockSize, MaxInputBlock, OnDamage,
// Workers, Memory and Pool of the first. The zero value is ready for use by
// several goroutines.
type Workspaces struct {
	mu   sync.Mutex
	free []*workspace
}

// workspace is what a task needs memory for.
type workspace struct {
	workers  workers
	memory   memory
	blocks   *admission
	scanner  ocf.Scanner
	encoders *encoders
	sorter   *spill.Sorter // of rows that are kept whole; nil if the format takes columns
	bufs     *column.Buffers
	// trialBufs take what a trial walk makes; nil if damage ends the task.
	trialBufs *column.Buffers
	// pages are for column blocks, open or under way, that hold much.
	pages []byte
}

// trialBlock is the size of blocks of trial walks, which are thrown away: what is
// kept of them counts among what there is of a column beside its block.
const trialBlock = 512

// typicalRow is the size in bytes of a row and its key by which memory for sorting is divided.
const typicalRow = 56

// mostAhead bounds the input blocks that are read ahead, which are enough as
// long as a worker finds one whenever the reader has just been woken.
func mostAhead(workers int) int { return 8 + 4*workers }

func newWorkspace(cfg *Config) *workspace {
	ahead := mostAhead(cfg.Workers)
	blocks := cfg.Workers * blocksPerWorker
	// A block under way is held raw and stored.
	fit := max(cfg.Memory/4, int64(len(cfg.Mapping.Columns)*cfg.BlockSize/2)) / int64(2*cfg.BlockSize)
	columns, ok := cfg.Writer.(format.ColumnWriter)
	layout, whole := column.Interleaved, !ok // of rows that are kept whole, columns are thrown away
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
			each:   make([]worker, cfg.Workers),
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

// provide gives the column blocks memory, if the system has it; else they grow
// on the heap.
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
	_ = budget.ReleasePages(w.pages) // fails only for what is no memory of Pages
	w.pages = nil
	w.memory.share.Close()
}

// take returns memory of an earlier task, or new.
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

// giveBack keeps the memory of a task that has mapped all its input.
func (s *Workspaces) giveBack(w *workspace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, w)
}
