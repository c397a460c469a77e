package tables

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/files"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Options say what to sync.
type Options struct {
	// Destination is the location of the destination, and Resolve finds the store of a location.
	Destination string
	Resolve     files.Resolver
	// Memory is the pool for reading; nil is no limit.
	Memory  *budget.Pool
	Catalog catalogs.Options
	// Table is the name of the table, with its namespace: ns.name.
	Table string
	// KeepSnapshots is the most snapshots that the table keeps; 0 is no limit.
	KeepSnapshots int
	// KeepMetadata is how long files of metadata stay that nothing names any more.
	KeepMetadata time.Duration
	// Tries is the most tries; 0 means DefaultTries. The first pause between tries is Pause, and
	// each pause is twice as long as the one before; 0 means DefaultPause.
	Tries int
	Pause time.Duration
	// Patience is the time from the first failure of a catalog or a store to the last try. It
	// does not bound conflicts with other programs.
	Patience time.Duration
	// CallTimeout bounds each load and commit of the table; 0 means DefaultCallTimeout.
	CallTimeout time.Duration
	Log         *slog.Logger // nil logs nothing
}

// Defaults of Options.
const (
	DefaultTries       = 6
	DefaultPause       = 2 * time.Second
	DefaultCallTimeout = 5 * time.Minute
)

func (o Options) withDefaults() Options {
	if o.Tries <= 0 {
		o.Tries = DefaultTries
	}
	if o.Pause <= 0 {
		o.Pause = DefaultPause
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Result is what Sync did.
type Result struct {
	// Nothing is whether the table was as it should be, so that Sync did not try to change it.
	Nothing bool
	// Created is whether the table is new.
	Created bool
	// Snapshot is the ID of the current snapshot; 0 if there is none.
	Snapshot int64
	// Outputs, Files, Rows and Bytes are what the table holds.
	Outputs, Files int
	Rows, Bytes    int64
	// Added and Removed are numbers of files, without those of a commit whose answer was lost.
	Added, Removed int
	// Schema are the changes of the schema, in words.
	Schema []string
	// Expired is the number of snapshots removed from the table, and Swept that of files of
	// metadata removed from storage.
	Expired, Swept int
	// Tries is the number of tries.
	Tries int
}

// Sync makes a table hold what a destination holds. The kinds of errors are those of package
// failure.
func Sync(ctx context.Context, o Options) (Result, error) {
	name := strings.Split(o.Table, ".")
	if len(name) < 2 || catalog.ValidateTableIdentifier(name) != nil {
		return Result{}, failure.New(failure.Usage, "table %q: the name has the form namespace.name", o.Table)
	}
	files.Use(o.Resolve)
	c, err := catalogs.Open(ctx, o.Catalog)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = c.Close() }() // every change was committed
	return syncIn(ctx, c, name, o)
}

// syncIn is Sync in an open catalog.
func syncIn(ctx context.Context, c *catalogs.Catalog, name table.Identifier, o Options) (Result, error) {
	at, err := source.Locate(o.Resolve, o.Destination)
	if err != nil {
		return Result{}, err
	}
	s := &syncer{Options: o.withDefaults(), catalog: c, name: name, at: at}
	if err := s.checkPlace(c.Warehouse()); err != nil {
		return Result{}, err
	}
	err = s.run(ctx)
	return s.result, err
}

// syncer is the work of one Sync.
type syncer struct {
	Options
	catalog *catalogs.Catalog
	name    table.Identifier
	at      store.Location // the destination
	result  Result
	failing time.Time                   // the first failure of a catalog or a store; zero before it
	footers map[string]*pq.FileMetaData // of files that an earlier try read, by URI
	// attempted is whether this Sync tried to change the table. committed is whether a change is
	// known to have succeeded.
	attempted, committed bool
}

// checkPlace refuses metadata in the destination, and a destination in the metadata.
func (s *syncer) checkPlace(location string) error {
	if location == "" {
		return nil
	}
	at, err := s.Resolve(location)
	if err != nil {
		return nil //nolint:nilerr // only the catalog knows the warehouse
	}
	//guard: refuses metadata in a directory that other runs change and clean
	if at.Origin == s.at.Origin && (store.Within(at.Path, s.at.Path) || store.Within(s.at.Path, at.Path+"/metadata")) {
		return failure.New(failure.Usage, "%s and %s: metadata of a table must not lie in a destination, nor a destination in metadata", location, s.Destination)
	}
	return nil
}

// run tries until the table holds what the destination holds.
func (s *syncer) run(ctx context.Context) error {
	began, pause := time.Now(), s.Pause
	for s.result.Tries = 1; ; s.result.Tries++ {
		err := s.try(ctx)
		if err == nil {
			s.Log.Debug("synced", "tries", s.result.Tries, "seconds", time.Since(began).Seconds())
			return s.tidy(ctx)
		}
		if !s.again(err) {
			return err
		}
		if s.result.Tries == s.Tries || !s.patient(err) {
			return failure.As(failure.Storage, fmt.Errorf("after try %d: %w", s.result.Tries, err))
		}
		s.Log.Warn("the table is loaded again", "try", s.result.Tries, "error", err)
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// again reports whether another try may help.
func (s *syncer) again(err error) bool {
	return errors.Is(err, dataset.ErrChanging) || failure.KindOf(err) == failure.Storage
}

// patient reports whether there is time for another try. There is always time after a conflict,
// and none after an operation that a store retried for all its time.
func (s *syncer) patient(err error) bool {
	//guard: does not retry what was retried for long enough
	if store.Exhausted(err) {
		return false
	}
	if errors.Is(err, dataset.ErrChanging) || errors.Is(err, table.ErrCommitFailed) {
		return true
	}
	if s.failing.IsZero() {
		s.failing = time.Now()
	}
	//guard: ends the tries of a catalog that stays down
	return time.Since(s.failing) < s.Patience
}

// try is one try. It returns an error for which again is true if the destination or the
// table changed meanwhile.
func (s *syncer) try(ctx context.Context) error {
	// The table is loaded first: what the destination holds later is never older than what
	// another Sync committed before.
	t, err := s.load(ctx)
	if err != nil {
		return err
	}
	src, err := source.Read(ctx, s.at, s.Memory)
	if err != nil {
		return err
	}
	if t == nil {
		if len(src.Files) == 0 {
			s.result.Nothing = true
			return nil
		}
		if t, err = s.create(ctx, src); err != nil {
			return err
		}
	}
	if err := s.checkPlace(t.Location()); err != nil {
		return err
	}
	committed, err := s.update(ctx, t, src)
	if err != nil {
		return err
	}
	s.account(src)
	if !committed {
		s.result.Nothing = !s.attempted
		return nil
	}
	same, err := src.Unchanged(ctx, s.Memory)
	//guard: begins again if the destination changed during the commit
	if err == nil && !same {
		err = fmt.Errorf("%s changed while the table was committed: %w", src.URI, dataset.ErrChanging)
	}
	return err
}

func (s *syncer) account(src *source.Source) {
	r := &s.result
	r.Outputs, r.Files, r.Rows, r.Bytes = len(src.Outputs), len(src.Files), 0, 0
	for i := range src.Files {
		r.Rows, r.Bytes = r.Rows+src.Files[i].Rows, r.Bytes+src.Files[i].Bytes
	}
}

// load returns the table, or nil if there is none.
func (s *syncer) load(ctx context.Context) (*table.Table, error) {
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	t, err := s.catalog.LoadTable(ctx, s.name)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		return nil, nil
	}
	if err != nil {
		return nil, catalogs.Judge(fmt.Errorf("load table %s: %w", s.Table, err))
	}
	return t, nil
}
