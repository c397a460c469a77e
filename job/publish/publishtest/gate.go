package publishtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// trouble is what happens to a run at one of its calls.
type trouble int

const (
	freeze trouble = iota // it stops before the call, until it is woken
	kill                  // it makes no call any more
	late                  // the call fails, and is done when the test says so
	twice                 // the call is done, and again when the test says so
	troubles
)

func (t trouble) String() string {
	return [...]string{"freeze", "kill", "late", "twice"}[t]
}

// errLate is the error of a call that has not been answered.
var errLate = fmt.Errorf("no answer: %w", store.ErrUnavailable)

// errKilled is the error of all calls of a process that has ended.
var errKilled = fmt.Errorf("the process has ended")

// gate is a store as one process uses it, in trouble at the n-th call at which
// the trouble makes a difference.
type gate struct {
	store.Store
	trouble trouble
	at      int  // counted from 1; 0 for no trouble
	bare    bool // files have no numbers, as over HttpFS
	frozen  chan struct{}
	wake    chan struct{}

	mu     sync.Mutex
	calls  int
	killed bool
	ghosts []func()
}

func newGate(st store.Store, what trouble, at int) *gate {
	g := &gate{trouble: what, at: at, bare: at%3 == 0, frozen: make(chan struct{}), wake: make(chan struct{})}
	g.Store = storetest.Inject(st, g.pass)
	return g
}

// land does what is under way.
func (g *gate) land() {
	g.mu.Lock()
	ghosts := g.ghosts
	g.ghosts = nil
	g.mu.Unlock()
	for _, do := range ghosts {
		do()
	}
}

// met reports whether the trouble came.
func (g *gate) met() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at > 0 && g.calls >= g.at
}

// kind is what a call does to the storage.
type kind int

const (
	reads    kind = iota // nothing
	writes               // it changes something, by several requests to a name node
	requests             // it is one request that changes something
)

// matters reports whether a trouble at a call of a kind makes a difference. Who
// is killed before it reads is not told from who is killed before the change
// after that, and what takes several requests is never done late as a whole.
func (t trouble) matters(k kind) bool {
	return t == freeze || t == kill && k >= writes || k == requests
}

// kindOf is what an operation does.
func kindOf(op storetest.Op) kind {
	switch op {
	case storetest.Create, storetest.Commit, storetest.Abort, storetest.WriteFile:
		return writes
	case storetest.Rename, storetest.Remove, storetest.RemoveAll, storetest.Mkdir:
		return requests
	}
	return reads
}

// pass lets a call through.
func (g *gate) pass(c *storetest.Call) error {
	switch c.Op {
	case storetest.ReadAt, storetest.Close, storetest.Write:
		return c.Do()
	}
	k := kindOf(c.Op)
	if k == requests {
		c.Ctx = context.WithoutCancel(c.Ctx) // what is under way stays so
	}
	g.mu.Lock()
	if g.trouble.matters(k) {
		g.calls++
	}
	now := g.trouble.matters(k) && g.calls == g.at
	g.killed = g.killed || now && g.trouble == kill
	killed := g.killed
	if now && (g.trouble == late || g.trouble == twice) {
		g.ghosts = append(g.ghosts, func() { _ = c.Do() })
	}
	g.mu.Unlock()
	switch {
	case killed:
		return errKilled
	case now && g.trouble == freeze:
		close(g.frozen)
		<-g.wake
	case now && g.trouble == late:
		return errLate
	}
	err := c.Do()
	if g.bare {
		c.Info.FileID = 0
	}
	return err
}
