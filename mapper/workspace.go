package mapper

import (
	"sync"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/internal/pages"
	"github.com/rowtocol/rowtocol/ocf"
)

// Workspaces hands the memory of tasks that have mapped their input on to
// later ones, so that a process needs as much as tasks map at a time. All
// tasks must have the Mapping, Format, BlockSize, MaxInputBlock, OnDamage,
// Workers, Memory and BlockMemory of the first. The zero value is ready for use
// by several goroutines.
type Workspaces struct {
	mu    sync.Mutex
	free  []*workspace
	large chan []byte // memory for the one large input block that may be under way
}

// workspace is what a task needs memory for.
type workspace struct {
	pool     workerPool
	blocks   *blockPool
	scanner  ocf.Scanner
	encoders *encoders
	bufs     *column.Buffers
	// trialBufs take what a trial walk makes; nil if damage ends the task.
	trialBufs *column.Buffers
	// memory is for column blocks, open or under way, that hold much.
	memory []byte
}

// mostAhead bounds the input blocks that are read ahead, which are enough as
// long as a worker finds one whenever the scanner has just been woken.
func mostAhead(workers int) int { return 8 + 4*workers }

func newWorkspace(cfg *Config) *workspace {
	ahead := mostAhead(cfg.Workers)
	blocks := cfg.Workers * blocksPerWorker
	// A block under way is held raw and stored.
	fit := max(cfg.Memory/4, int64(len(cfg.Mapping.Columns)*cfg.BlockSize/2)) / int64(2*cfg.BlockSize)
	blocks = max(int(min(int64(blocks), fit)), 2)
	w := &workspace{
		pool: workerPool{
			encode:  make(chan job, blocks),
			decode:  make(chan job, ahead),
			workers: make([]worker, cfg.Workers),
		},
		blocks: newBlockPool(ahead, cfg.Memory/4),
		bufs:   column.NewBuffers(cfg.Mapping.Columns, cfg.Writer.Layout(), cfg.BlockSize),
	}
	w.encoders = newEncoders(&w.pool, blocks)
	if cfg.OnDamage != Fail {
		w.trialBufs = column.NewBuffers(cfg.Mapping.Columns, cfg.Writer.Layout(), cfg.BlockSize)
	}
	w.provide(cfg.BlockSize)
	return w
}

// provide gives the column blocks memory, if the system has it; else they grow
// on the heap, as those of trial walks always do, which are small.
func (w *workspace) provide(blockSize int) {
	blocks := len(w.bufs.Cols) + len(w.encoders.free)
	memory, err := pages.New(blocks * column.BlockMemory(blockSize))
	if err != nil {
		return
	}
	w.memory = memory
	w.bufs.Provide(memory, blockSize)
}

// close gives the memory back; the workspace must not be used any more.
func (w *workspace) close() {
	_ = pages.Release(w.memory) // fails only for what is no memory of New
	w.memory = nil
}

// take returns memory of an earlier task, or new.
func (s *Workspaces) take(cfg *Config) *workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.free) - 1
	if last < 0 {
		w := newWorkspace(cfg)
		if s.large == nil {
			s.large = make(chan []byte, 1)
			s.large <- nil
		}
		w.blocks.large = s.large
		return w
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
