package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// faults is a catalog whose calls fail.
type faults struct {
	catalog.Catalog
	// before and after are called before and after each call that changes the catalog, with
	// the number of the call. Their errors become those of the call.
	before, after func(ctx context.Context, call int) error
	calls         int
}

func (c *faults) around(ctx context.Context, do func() error) error {
	c.calls++
	call := c.calls
	if err := c.before(ctx, call); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return c.after(ctx, call)
}

func (c *faults) CreateTable(ctx context.Context, name table.Identifier, s *iceberg.Schema, o ...catalog.CreateTableOpt) (t *table.Table, err error) {
	err = c.around(ctx, func() (err error) {
		t, err = c.Catalog.CreateTable(ctx, name, s, o...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (c *faults) CommitTable(ctx context.Context, name table.Identifier, r []table.Requirement, u []table.Update) (m table.Metadata, location string, err error) {
	err = c.around(ctx, func() (err error) {
		m, location, err = c.Catalog.CommitTable(ctx, name, r, u)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return m, location, nil
}

func none(context.Context, int) error { return nil }

// failAt returns an error in one call.
func failAt(n int, err error) func(context.Context, int) error {
	return func(_ context.Context, call int) error {
		if call == n {
			return err
		}
		return nil
	}
}

// hangAt waits in one call until the context ends.
func hangAt(n int) func(context.Context, int) error {
	return func(ctx context.Context, call int) error {
		if call == n {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
}

// Each call that changes the catalog fails, before or after it did its work, or does not end.
func TestEachCallFails(t *testing.T) {
	lost := errors.New("the connection was lost")
	conflict := fmt.Errorf("409: %w", table.ErrCommitFailed)
	eachCatalog(t, func(t *testing.T, kind string) {
		for _, tt := range []struct {
			name          string
			before, after func(call int) func(context.Context, int) error
		}{
			{"lost before", func(n int) func(context.Context, int) error { return failAt(n, lost) }, nil},
			{"lost after", nil, func(n int) func(context.Context, int) error { return failAt(n, lost) }},
			{"conflict", func(n int) func(context.Context, int) error { return failAt(n, conflict) }, nil},
			{"hangs before", hangAt, nil},
			{"hangs after", nil, hangAt},
		} {
			for call := 1; call <= 3; call++ {
				t.Run(fmt.Sprint(tt.name, call), func(t *testing.T) {
					f := newFixture(t)
					o := f.options(kind)
					o.CallTimeout = 200 * time.Millisecond
					c := f.open(o)
					broken := &faults{Catalog: c.Catalog, before: none, after: none}
					if tt.before != nil {
						broken.before = tt.before(call)
					}
					if tt.after != nil {
						broken.after = tt.after(call)
					}
					c.Catalog = broken
					for i := range 2 {
						f.input("", i*10, i*10+10)
						f.convert("", increment)
						r, err := syncIn(t.Context(), c, catalog.ToIdentifier(o.Table), o)
						testenv.Must(t, err)
						if r.Nothing {
							t.Errorf("%+v", r)
						}
						f.check(o, int64(i*10+10))
					}
					if broken.calls < 3 {
						t.Errorf("%d calls", broken.calls)
					}
				})
			}
		}
	})
}

// A catalog that always fails ends the sync, and a later one goes on.
func TestCatalogThatStaysDown(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	f.input("", 0, 10)
	f.convert("", first)
	c := f.open(o)
	works := c.Catalog
	c.Catalog = &faults{Catalog: works, before: none, after: func(context.Context, int) error { return errors.New("502") }}
	// The table is created, then committed, though each call reports a failure.
	_, err := syncIn(t.Context(), c, catalog.ToIdentifier(o.Table), o)
	testenv.Must(t, err)
	f.check(o, 10)
	f.input("", 10, 20)
	f.convert("", replacement)
	c.Catalog = &faults{Catalog: works, after: none, before: func(context.Context, int) error { return errors.New("502") }}
	r, err := syncIn(t.Context(), c, catalog.ToIdentifier(o.Table), o)
	if failure.KindOf(err) != failure.Storage || r.Tries != DefaultTries {
		t.Errorf("%+v, %v of kind %v", r, err, failure.KindOf(err))
	}
	f.sync(o)
	f.check(o, 20)
}

// Failures end a sync when its patience is over. Conflicts do not.
func TestPatience(t *testing.T) {
	f := newFixture(t)
	o := f.options("sql")
	o.Pause, o.Tries = 20*time.Millisecond, 1000
	f.input("", 0, 10)
	f.convert("", first)
	c := f.open(o)
	works := c.Catalog
	for _, tt := range []struct {
		err      error
		calls    int // that fail
		patience time.Duration
		kind     error // of the error of the sync
		min, max int   // tries
	}{
		{errors.New("502"), 1000, 100 * time.Millisecond, failure.Storage, 2, 5},
		{errors.New("502"), 1000, 0, failure.Storage, 1, 1},
		{table.ErrCommitFailed, 2, 0, nil, 3, 3},
	} {
		c.Catalog = &faults{Catalog: works, after: none, before: func(_ context.Context, call int) error {
			if call <= tt.calls {
				return tt.err
			}
			return nil
		}}
		o.Patience = tt.patience
		r, err := syncIn(t.Context(), c, catalog.ToIdentifier(o.Table), o)
		if failure.KindOf(err) != tt.kind || r.Tries < tt.min || r.Tries > tt.max {
			t.Errorf("%v, patience %v: %d tries, %v", tt.err, tt.patience, r.Tries, err)
		}
	}
	f.check(o, 10)
}

// A storage that is down is retried for the patience of the store once, not in each try.
func TestOutage(t *testing.T) {
	const limit = 15 * time.Minute
	for _, down := range []string{"hadoop", "dest"} { // the table, or the destination
		t.Run(down, func(t *testing.T) {
			f := newFixture(t)
			o := f.options("hadoop")
			f.input("", 0, 10)
			f.convert("", first)
			f.sync(o)
			var slept time.Duration
			st := store.WithRetry(store.Intercept(store.Local(), func(c *store.Call) error {
				if strings.HasPrefix(c.Path, filepath.Join(f.dir, down)) {
					return store.ErrUnavailable
				}
				return c.Do()
			}), store.Patience{Limit: limit, Sleep: func(_ context.Context, d time.Duration) error {
				slept += d
				return nil
			}})
			o.Resolve = func(location string) (store.Location, error) {
				at, err := store.Resolve(location)
				at.Store = st
				return at, err
			}
			o.Patience = limit
			r, err := Sync(t.Context(), o)
			if failure.KindOf(err) != failure.Storage || r.Tries != 1 || slept < limit || slept > limit+time.Minute {
				t.Errorf("%d tries, which waited %v: %v", r.Tries, slept, err)
			}
		})
	}
}

// Several syncs at once, while the destination changes.
func TestSyncsAtOnce(t *testing.T) {
	eachCatalog(t, func(t *testing.T, kind string) {
		f := newFixture(t)
		o := f.options(kind)
		o.Tries = 1000
		for round := range 5 {
			f.input("", round*10, round*10+10)
			f.convert("", increment)
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					if _, err := Sync(t.Context(), o); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			f.check(o, int64(round*10+10))
		}
	})
}

// The destination changes between reading it and the end of the commit.
func TestDestinationChanges(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			f := newFixture(t)
			o := f.options("sql")
			f.input("", 0, 10)
			f.convert("", increment)
			f.sync(o)
			c := f.open(o)
			change := func(_ context.Context, call int) error {
				if call == 1 {
					f.input("", 20, 30)
					f.convert("", increment)
				}
				return nil
			}
			broken := &faults{Catalog: c.Catalog, before: none, after: none}
			if when == "before" {
				broken.before = change
			} else {
				broken.after = change
			}
			c.Catalog = broken
			f.input("", 10, 20)
			f.convert("", increment)
			r, err := syncIn(t.Context(), c, catalog.ToIdentifier(o.Table), o)
			testenv.Must(t, err)
			if r.Added != 2 || r.Tries != 2 {
				t.Errorf("%+v", r)
			}
			f.check(o, 30)
		})
	}
}
