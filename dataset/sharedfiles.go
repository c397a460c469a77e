package dataset

import (
	"context"
	"sync"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store"
)

// openFiles are the files of a part. The readers of a query share those on remote storage, and what is
// read ahead in them.
type openFiles struct {
	files  []*file
	pieces *pieces            // nil for local files
	end    context.CancelFunc // ends the reads

	// sharedFiles.mu guards the fields below.
	active int // number of open parts whose context has not ended
	users  int // number of open parts
}

// sharedFiles are the files on remote storage that the readers of a query have open.
type sharedFiles struct {
	mu    sync.Mutex
	parts map[*Part]*openFiles
}

// newOpenFiles returns the files of a part, which can be read until the context ends.
func newOpenFiles(ctx context.Context, p *Part) *openFiles {
	f := new(openFiles)
	ctx, f.end = context.WithCancel(ctx)
	for i := range p.Files {
		of := &p.Files[i]
		f.files = append(f.files, &file{name: of.Name, size: of.Bytes, pool: budget.OpenFiles(), open: func() (store.File, error) {
			return p.Store.Open(ctx, of.Name)
		}})
	}
	return f
}

// open returns the files of a part for a reader, until its context ends or it calls release. If the
// contexts of all readers have ended, reads of the files end.
func (r *sharedFiles) open(ctx context.Context, p *Part, memory *budget.Pool) (f *openFiles, release func()) {
	if store.CapabilitiesOf(p.Store).Local {
		f = newOpenFiles(ctx, p)
		return f, f.close
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f = r.parts[p]; f == nil || f.active == 0 {
		f = newOpenFiles(context.WithoutCancel(ctx), p)
		f.pieces = newPieces(memory.NewHeap())
		if r.parts == nil {
			r.parts = make(map[*Part]*openFiles)
		}
		r.parts[p] = f
	}
	f.active++
	f.users++
	deactivate := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		//guard: ends reads that no reader waits for
		if f.active--; f.active == 0 {
			f.end()
		}
	}
	stop := context.AfterFunc(ctx, deactivate)
	return f, func() {
		if stop() {
			deactivate()
		}
		r.release(p, f)
	}
}

// release ends a use of files. The last one closes them.
func (r *sharedFiles) release(p *Part, f *openFiles) {
	r.mu.Lock()
	f.users--
	last := f.users == 0
	if last && r.parts[p] == f {
		delete(r.parts, p)
	}
	r.mu.Unlock()
	if last {
		f.close()
	}
}

// close ends the reads in progress and closes the files.
func (f *openFiles) close() {
	//guard: stops the reads that are in progress
	f.end()
	if f.pieces != nil {
		f.pieces.close()
	}
	for _, f := range f.files {
		f.Close()
	}
}
