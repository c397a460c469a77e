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

// TestInputsAreOpenedInTurn checks that few of many inputs of a task, with and without blocks,
// are open at a time, and none after the task has ended in any way.
func TestInputsAreOpenedInTurn(t *testing.T) {
	const files = 300
	dir := t.TempDir()
	var inputs []string
	for i := range files {
		in, _ := writeInput(t, dir, fmt.Sprintf("%03d.avro", i), i%3)
		inputs = append(inputs, in)
	}
	p := newPlan(t, 1<<20, inputs...)
	mergeTasks(t, p)
	for _, tt := range []struct {
		name    string
		at      int // disturb is called after this number of files were opened
		disturb func(cancel func())
	}{
		{"all", 0, nil},
		{"canceled", 100, func(cancel func()) { cancel() }},
		{"changed input", 200, func(func()) { _ = os.Truncate(inputs[200], 100) }},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := new(storetest.Counter)
		st := storetest.Inject(store.Local(), n.Inject, func(c *storetest.Call) error {
			err := c.Do()
			if c.Op == storetest.Open && n.Calls(storetest.Open) == tt.at {
				tt.disturb(cancel)
			}
			return err
		})
		o := options(t)
		o.Resolve = storetest.ResolveTo(st)
		results, err := mustOpen(t, p, o).Run(ctx, store.Local(), t.TempDir(), []int{0})
		cancel()
		switch tt.name {
		case "all":
			if err != nil || results[0].RowsIn != files*100 || n.Calls(storetest.Open) != files {
				t.Errorf("%v, %d files opened", err, n.Calls(storetest.Open))
			}
		case "canceled":
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v, want %v", err, context.Canceled)
			}
		case "changed input":
			failuretest.Want(t, err, failure.Input, "changed during the job")
		}
		if n.OpenFiles() != 0 || n.MostFiles() > 8+4*o.Workers+2 {
			t.Errorf("%s: %d files stayed open, at most %d were", tt.name, n.OpenFiles(), n.MostFiles())
		}
	}
}
