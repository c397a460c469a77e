package memstore

import (
	"math/rand/v2"
	"path"
	"sync"
	"syscall"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore/disk"
)

// Disk is the storage that clients share. It may be used concurrently.
type Disk struct {
	mu sync.Mutex // guards everything below, nodes and clients included
	*disk.Disk
	boot int // number of cuts so far
}

// New returns an empty disk.
func New() *Disk { return &Disk{Disk: disk.New()} }

// Cut cuts the power. All clients end, and seed decides for each change that was not durable
// whether the change is kept, torn or lost. With seed 0 all are lost, with seed 1 all are kept. Cut
// returns the number of decisions. If it is 0, every seed has the same result.
func (d *Disk) Cut(seed uint64) (decided int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rand.New(rand.NewPCG(seed, 0))
	d.boot++
	d.Disk.Cut(func(outcomes int) int {
		decided++
		switch seed {
		case 0:
			return 0
		case 1:
			return outcomes - 1
		}
		return r.IntN(outcomes)
	})
	return decided
}

// place returns the place of a path, and the node there. The node is nil if there is none. The
// error is store.ErrNoParent or ENOTDIR if the place is not in a directory.
func (d *Disk) place(p string) (disk.Place, *disk.Node, error) {
	dir, err := d.Find(path.Dir(path.Clean("/" + p)))
	switch {
	case err != nil:
		return disk.Place{}, nil, store.ErrNoParent
	case !dir.Dir:
		return disk.Place{}, nil, syscall.ENOTDIR
	}
	at := disk.Place{Dir: dir, Name: path.Base(path.Clean("/" + p))}
	return at, dir.Entries[at.Name], nil
}

func infoOf(p string, n *disk.Node) store.Info {
	return store.Info{Name: path.Base(p), Path: p, Size: int64(len(n.Data)), Dir: n.Dir, ModTime: n.Changed, FileID: n.ID}
}
