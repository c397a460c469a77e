// Package parallel runs a function concurrently for many numbers.
package parallel

import (
	"context"
	"errors"
	"sync"
)

// Workers limits the concurrent calls of several Do together. A function that Do calls may call Do
// again, with the same Workers.
type Workers struct {
	idle chan struct{} // as many elements as workers that may start
}

// NewWorkers returns n workers, at least one. The goroutine that calls Do is one of them.
func NewWorkers(n int) *Workers {
	w := &Workers{idle: make(chan struct{}, max(n, 1))}
	for range n - 1 {
		w.idle <- struct{}{}
	}
	return w
}

// Do calls fn for 0 to n-1 in order, with at most limit concurrent calls. When a call fails, Do
// makes no more calls and cancels the calls that run. It returns the error of the lowest number.
// Errors of the cancellation do not count.
func Do(ctx context.Context, n, limit int, fn func(ctx context.Context, i int) error) error {
	return NewWorkers(limit).Do(ctx, n, fn)
}

// Do is the function Do, with the calling goroutine and the workers that are idle when a call
// begins. While it waits for its last calls, the calling goroutine counts as idle.
func (w *Workers) Do(ctx context.Context, n int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &calls{workers: w, ctx: ctx, cancel: cancel, n: n, fn: fn, firstAt: n}
	c.run()
	w.idle <- struct{}{}
	c.running.Wait()
	<-w.idle
	if c.firstErr == nil {
		return context.Cause(ctx)
	}
	return c.firstErr
}

// calls are the calls of one Do.
type calls struct {
	workers *Workers
	ctx     context.Context
	cancel  context.CancelFunc
	n       int
	fn      func(ctx context.Context, i int) error
	running sync.WaitGroup // workers other than the calling goroutine

	mu       sync.Mutex // guards the fields below
	next     int
	firstAt  int
	firstErr error
}

// run makes calls until there are no more. Before each call, it lets an idle worker join.
func (c *calls) run() {
	for {
		i, more := c.take()
		if i == c.n {
			return
		}
		if more {
			c.invite()
		}
		if err := c.fn(c.ctx, i); err != nil {
			c.fail(i, err)
		}
	}
}

// invite starts a worker if one is idle.
func (c *calls) invite() {
	select {
	case <-c.workers.idle:
		c.running.Go(func() {
			c.run()
			c.workers.idle <- struct{}{}
		})
	default:
	}
}

// take returns the number of the next call, or n. more is true if there is a call after it.
func (c *calls) take() (i int, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == c.n || c.ctx.Err() != nil {
		return c.n, false
	}
	c.next++
	return c.next - 1, c.next < c.n
}

func (c *calls) fail(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancelled := c.ctx.Err() != nil && errors.Is(err, context.Canceled)
	if i < c.firstAt && !cancelled || c.firstErr == nil {
		c.firstAt, c.firstErr = i, err
	}
	c.cancel()
}
