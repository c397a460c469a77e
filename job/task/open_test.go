package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// opened is a store that counts the files that are open, and calls at with each
// number of files that were opened.
type opened struct {
	store.Store
	at             func(n int64)
	all, now, most atomic.Int64
}

func (o *opened) Open(ctx context.Context, path string) (store.File, error) {
	f, err := o.Store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	now := o.now.Add(1)
	for most := o.most.Load(); now > most && !o.most.CompareAndSwap(most, now); most = o.most.Load() {
	}
	o.at(o.all.Add(1))
	return openedFile{f, o}, nil
}

type openedFile struct {
	store.File
	of *opened
}

func (f openedFile) Close() error {
	f.of.now.Add(-1)
	return f.File.Close()
}

// Of many inputs of one task few are open at a time, with and without blocks, and
// in the end none, however it ends.
func TestInputsAreOpenedInTurn(t *testing.T) {
	const files = 300
	dir := t.TempDir()
	var inputs []string
	for i := range files {
		in, _ := writeInput(t, dir, fmt.Sprintf("%03d.avro", i), i%3)
		inputs = append(inputs, in)
	}
	p := newPlan(t, 1<<20, inputs...)
	oneTask(t, p)
	for _, tt := range []struct {
		name    string
		at      int64 // number of the file at which it happens
		happens func(cancel func())
	}{
		{"all", 0, nil},
		{"the end", 100, func(cancel func()) { cancel() }},
		{"a change", 200, func(func()) { _ = os.Truncate(inputs[200], 100) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		st := &opened{Store: store.Local(), at: func(n int64) {
			if n == tt.at {
				tt.happens(cancel)
			}
		}}
		o := options(t)
		o.Resolve = storetest.On(st)
		results, err := open(t, p, o).Run(ctx, store.Local(), t.TempDir(), []int{0})
		cancel()
		switch tt.name {
		case "all":
			if err != nil || results[0].RowsIn != files*100 || st.all.Load() != files {
				t.Errorf("%v, %d files opened", err, st.all.Load())
			}
		case "the end":
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		case "a change":
			failuretest.Want(t, err, failure.Input, "changed during the job")
		}
		if st.now.Load() != 0 || st.most.Load() > 8+4*int64(o.Workers)+2 {
			t.Errorf("%s: %d files stayed open, at most %d were", tt.name, st.now.Load(), st.most.Load())
		}
	}
}
