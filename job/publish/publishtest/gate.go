package publishtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowtocol/rowtocol/store"
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
	return &gate{Store: st, trouble: what, at: at, bare: at%3 == 0, frozen: make(chan struct{}), wake: make(chan struct{})}
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

// pass lets a call through.
func (g *gate) pass(k kind, do func() error) error {
	g.mu.Lock()
	if g.trouble.matters(k) {
		g.calls++
	}
	now := g.trouble.matters(k) && g.calls == g.at
	g.killed = g.killed || now && g.trouble == kill
	killed := g.killed
	if now && (g.trouble == late || g.trouble == twice) {
		g.ghosts = append(g.ghosts, func() { _ = do() })
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
	return do()
}

func (g *gate) Open(ctx context.Context, p string) (f store.File, err error) {
	err = g.pass(reads, func() error { f, err = g.Store.Open(ctx, p); return err })
	return f, err
}

func (g *gate) Create(ctx context.Context, p string, o store.CreateOptions) (w store.Writer, err error) {
	err = g.pass(writes, func() error { w, err = g.Store.Create(ctx, p, o); return err })
	if err != nil {
		return nil, err
	}
	return gateWriter{w, g}, nil
}

func (g *gate) Stat(ctx context.Context, p string) (info store.Info, err error) {
	err = g.pass(reads, func() error { info, err = g.Store.Stat(ctx, p); return err })
	if g.bare {
		info.FileID = 0
	}
	return info, err
}

func (g *gate) List(ctx context.Context, p string) (infos []store.Info, err error) {
	err = g.pass(reads, func() error { infos, err = g.Store.List(ctx, p); return err })
	return infos, err
}

func (g *gate) ReadFile(ctx context.Context, p string, max int64) (b []byte, err error) {
	err = g.pass(reads, func() error { b, err = g.Store.ReadFile(ctx, p, max); return err })
	return b, err
}

func (g *gate) WriteFile(ctx context.Context, p string, b []byte, exclusive bool) error {
	return g.pass(writes, func() error { return g.Store.WriteFile(ctx, p, b, exclusive) })
}

func (g *gate) Rename(ctx context.Context, from, to string) error {
	return g.pass(requests, func() error { return g.Store.Rename(context.WithoutCancel(ctx), from, to) })
}

func (g *gate) Remove(ctx context.Context, p string) error {
	return g.pass(requests, func() error { return g.Store.Remove(context.WithoutCancel(ctx), p) })
}

func (g *gate) RemoveAll(ctx context.Context, p string) error {
	return g.pass(requests, func() error { return g.Store.RemoveAll(context.WithoutCancel(ctx), p) })
}

func (g *gate) Mkdir(ctx context.Context, p string) error {
	return g.pass(requests, func() error { return g.Store.Mkdir(context.WithoutCancel(ctx), p) })
}

type gateWriter struct {
	store.Writer
	g *gate
}

func (w gateWriter) Commit(ctx context.Context) error {
	return w.g.pass(writes, func() error { return w.Writer.Commit(ctx) })
}

func (w gateWriter) Abort() error {
	return w.g.pass(writes, w.Writer.Abort)
}
