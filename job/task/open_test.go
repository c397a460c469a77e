package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

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
		at      int // number of the file at which it happens
		happens func(cancel func())
	}{
		{"all", 0, nil},
		{"the end", 100, func(cancel func()) { cancel() }},
		{"a change", 200, func(func()) { _ = os.Truncate(inputs[200], 100) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := new(storetest.Counter)
		st := storetest.Inject(store.Local(), n.Inject, func(c *storetest.Call) error {
			err := c.Do()
			if c.Op == storetest.Open && n.Calls(storetest.Open) == tt.at {
				tt.happens(cancel)
			}
			return err
		})
		o := options(t)
		o.Resolve = storetest.On(st)
		results, err := open(t, p, o).Run(ctx, store.Local(), t.TempDir(), []int{0})
		cancel()
		switch tt.name {
		case "all":
			if err != nil || results[0].RowsIn != files*100 || n.Calls(storetest.Open) != files {
				t.Errorf("%v, %d files opened", err, n.Calls(storetest.Open))
			}
		case "the end":
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		case "a change":
			failuretest.Want(t, err, failure.Input, "changed during the job")
		}
		if n.OpenFiles() != 0 || n.MostFiles() > 8+4*o.Workers+2 {
			t.Errorf("%s: %d files stayed open, at most %d were", tt.name, n.OpenFiles(), n.MostFiles())
		}
	}
}
