package storetest

import (
	"bytes"

	"github.com/rowtocol/rowtocol/store"
)

// Fault is one injected failure.
type Fault struct {
	Op Op
	// N is the number of the call that fails, from 1 on. 0 means that every call fails.
	N int
	// Err is the error of the call. A nil Err on Write or ReadAt silently changes one
	// bit of the bytes instead.
	Err error
	// Late makes the call do its work and then return Err, like a network that loses the
	// answer. A failing Write writes half of its bytes, or with Late all of them. A failing
	// Commit never does its work, because it must leave the file to Abort.
	Late bool
}

// Fail returns an injector of failures.
func Fail(faults ...Fault) Injector {
	var calls Counter
	return func(c *Call) error {
		n := calls.count(c.Op)
		for i := range faults {
			if f := &faults[i]; f.Op == c.Op && (f.N == 0 || f.N == n) {
				return f.fail(c)
			}
		}
		return c.Do()
	}
}

// fail makes a call fail.
func (f *Fault) fail(c *Call) error {
	switch {
	case c.Op == Write && f.Err == nil:
		c.Data = bytes.Clone(c.Data)
		flip(c.Data)
		return c.Do()
	case c.Op == Write && !f.Late:
		c.Data = c.Data[:len(c.Data)/2]
	case c.Op == ReadAt && f.Err == nil:
		err := c.Do()
		flip(c.Data[:c.N])
		return err
	case c.Op == ReadAt, c.Op == Commit, !f.Late:
		return f.Err
	}
	if err := c.Do(); err != nil {
		return err
	}
	return f.Err
}

// flip changes one bit unless b is empty.
func flip(b []byte) {
	if len(b) > 0 {
		b[len(b)/2] ^= 1
	}
}

// Faulty is a store with injected failures that counts its calls.
type Faulty struct {
	store.Store
	*Counter
}

// NewFaulty wraps a store.
func NewFaulty(inner store.Store, faults ...Fault) Faulty {
	n := new(Counter)
	return Faulty{Inject(inner, n.Inject, Fail(faults...)), n}
}
