package storetest

import (
	"slices"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// Op is a kind of call.
type Op = store.Op

// The operations of a Store, of a File and of a Writer.
const (
	Open      = store.OpOpen
	ReadAt    = store.OpReadAt
	Close     = store.OpClose
	Create    = store.OpCreate
	Write     = store.OpWrite
	Commit    = store.OpCommit
	Abort     = store.OpAbort
	Stat      = store.OpStat
	List      = store.OpList
	Rename    = store.OpRename
	Remove    = store.OpRemove
	RemoveAll = store.OpRemoveAll
	Mkdir     = store.OpMkdir
	ReadFile  = store.OpReadFile
	WriteFile = store.OpWriteFile
)

// Ops are the operations that can fail, for tests that fail each in turn.
var Ops = []Op{Open, ReadAt, Create, Write, Commit, Stat, List, Rename, Remove, RemoveAll, Mkdir, ReadFile, WriteFile}

// Call is one call to a store, a file or a writer.
type Call = store.Call

// Injector handles a call, like the function of store.Intercept.
type Injector = func(*Call) error

// Inject returns a store whose calls go through injectors. The Do of each injector calls the next
// injector, and the Do of the last calls the store. The result has no capabilities.
func Inject(st store.Store, injectors ...Injector) store.Store {
	for _, in := range slices.Backward(injectors) {
		st = store.Intercept(st, in)
	}
	return struct{ store.Store }{st}
}

// Counter counts calls and open files. Its zero value is ready to use.
type Counter struct {
	mu    sync.Mutex
	calls map[Op]int
	bytes int64
	open  int
	most  int
}

// Inject is an Injector that counts.
func (n *Counter) Inject(c *Call) error {
	n.count(c.Op)
	err := c.Do()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case c.Op == ReadAt:
		n.bytes += int64(c.N)
	case c.Op == Open && err == nil:
		n.open++
		n.most = max(n.most, n.open)
	case c.Op == Close:
		n.open--
	}
	return err
}

// count counts a call, and returns the number of calls of its operation so far.
func (n *Counter) count(op Op) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.calls == nil {
		n.calls = make(map[Op]int)
	}
	n.calls[op]++
	return n.calls[op]
}

// Calls returns how often an operation was called.
func (n *Counter) Calls(op Op) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[op]
}

// Bytes returns how many bytes were read from open files.
func (n *Counter) Bytes() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bytes
}

// OpenFiles returns how many files are open.
func (n *Counter) OpenFiles() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// MostFiles returns the largest number of files that were open at a time.
func (n *Counter) MostFiles() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.most
}
