package publishtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// fault is a kind of fault at one of a run's calls.
type fault int

const (
	freeze    fault = iota // the run stops before the call until the test continues it
	kill                   // the run makes no more calls
	late                   // the call fails, and takes effect when the test says so
	duplicate              // the call takes effect, and again when the test says so
	faultKinds
)

func (t fault) String() string {
	return [...]string{"freeze", "kill", "late", "duplicate"}[t]
}

// errLate is the error of a call that gets no answer.
var errLate = fmt.Errorf("no answer: %w", store.ErrUnavailable)

// errKilled is the error of all calls of a process that has ended.
var errKilled = fmt.Errorf("the process has ended")

// gate is a store as one process uses it, with a fault at the n-th call that the
// fault affects.
type gate struct {
	store.Store
	fault     fault
	at        int  // number of the call with the fault, from 1; 0 if there is none
	noFileIDs bool // whether files have no IDs, as over HttpFS
	frozen    chan struct{}
	wake      chan struct{}

	mu        sync.Mutex
	calls     int
	killed    bool
	lateCalls []func()
}

func newGate(st store.Store, what fault, at int) *gate {
	g := &gate{fault: what, at: at, noFileIDs: at%3 == 0, frozen: make(chan struct{}), wake: make(chan struct{})}
	g.Store = storetest.Inject(st, g.pass)
	return g
}

// doLateCalls does the calls that are still under way.
func (g *gate) doLateCalls() {
	g.mu.Lock()
	late := g.lateCalls
	g.lateCalls = nil
	g.mu.Unlock()
	for _, do := range late {
		do()
	}
}

// occurred reports whether the fault occurred.
func (g *gate) occurred() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at > 0 && g.calls >= g.at
}

// effect is the effect of a call on the storage.
type effect int

const (
	reads    effect = iota // nothing
	writes                 // a change by several requests to a name node
	requests               // a change by one request
)

// affects reports whether a fault makes a difference at a call with an effect. A run that is
// killed before it reads looks like one that is killed before its next change. Calls that
// make several requests are never done late as a whole.
func (t fault) affects(k effect) bool {
	return t == freeze || t == kill && k >= writes || k == requests
}

// effectOf returns the effect of an operation.
func effectOf(op storetest.Op) effect {
	switch op {
	case storetest.Create, storetest.Commit, storetest.Abort, storetest.WriteFile:
		return writes
	case storetest.Rename, storetest.Remove, storetest.RemoveAll, storetest.Mkdir:
		return requests
	}
	return reads
}

// pass does a call, or the fault.
func (g *gate) pass(c *storetest.Call) error {
	switch c.Op {
	case storetest.ReadAt, storetest.Close, storetest.Write:
		return c.Do()
	}
	k := effectOf(c.Op)
	if k == requests {
		c.Ctx = context.WithoutCancel(c.Ctx) // a request cannot be canceled
	}
	g.mu.Lock()
	if g.fault.affects(k) {
		g.calls++
	}
	now := g.fault.affects(k) && g.calls == g.at
	g.killed = g.killed || now && g.fault == kill
	killed := g.killed
	if now && (g.fault == late || g.fault == duplicate) {
		g.lateCalls = append(g.lateCalls, func() { _ = c.Do() })
	}
	g.mu.Unlock()
	switch {
	case killed:
		return errKilled
	case now && g.fault == freeze:
		close(g.frozen)
		<-g.wake
	case now && g.fault == late:
		return errLate
	}
	err := c.Do()
	if g.noFileIDs {
		c.Info.FileID = 0
	}
	return err
}
