package jobtest

import (
	"errors"
	"sync"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// crash is a store that stops working at its n-th change, as if the process
// were killed: that change and all later changes fail.
type crash struct {
	store.Store
	late bool

	mu   sync.Mutex
	left int // changes until the store stops working
	dead bool
}

func newCrash(st store.Store, left int, late bool) *crash {
	c := &crash{left: left, late: late}
	c.Store = storetest.Inject(st, c.inject)
	return c
}

var errCrash = errors.New("killed")

func (c *crash) inject(call *storetest.Call) error {
	switch call.Op {
	case storetest.Open, storetest.ReadAt, storetest.Close, storetest.Stat, storetest.List, storetest.ReadFile:
		return call.Do()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Op != storetest.Abort && !c.dead {
		c.left--
		if c.dead = c.left <= 0; c.dead && c.late {
			_ = call.Do()
		}
	}
	if c.dead {
		return errCrash
	}
	return call.Do()
}
