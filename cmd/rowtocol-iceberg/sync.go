package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/tables"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/store"
)

const syncLong = `Make a table hold exactly the rows that the _SUCCESS files of DEST list: those
of its output and increments, or of its partitions. One sync is one snapshot of
the table: new files are appended, and replaced files are replaced. If the table
holds all that already, sync does nothing. sync makes the table if there is
none. It evolves the columns as the schema of the output did. It never writes to
DEST, and never removes files of DEST.

A property of the table names what it holds, and changes together with the
files. So a sync that was killed, or ran twice at once, adds each file once. If
another program changed the files of the table, or made the table with rows of
its own, the exit code is 9.

Catalogs:

  sql     a SQLite file: --uri sqlite:////data/cat.db --warehouse /data/tables
  rest    a server: --uri https://catalog.example.org --warehouse NAME
  hadoop  a directory: --warehouse hdfs://nn/tables
  hive    a metastore: --uri thrift://host:9083 --warehouse hdfs://nn/tables
  glue    AWS Glue

Other properties of the catalog, such as scope and prefix, are flags
--catalog-property. Secrets, such as token and credential, are refused on the
command line, where other users see them. Give them in the job file, or in the
variables of PyIceberg: PYICEBERG_CATALOG__DEFAULT__TOKEN is the token of the
catalog that --catalog-name calls default.

Outputs that a table holds need convert --times iceberg and --keep-replaced. If
the job file of convert has a section table, both are set.`

const syncExample = `  # a table in a SQLite file
  rowtocol-iceberg sync --catalog sql --uri sqlite:////data/catalog.db \
    --warehouse /data/tables --table mail.messages /data/mail.parquet

  # everything from the job file that rowtocol convert has, too
  rowtocol-iceberg sync --config job.yaml`

// syncCommand is rowtocol-iceberg sync.
type syncCommand struct {
	*cli.App
	options    tables.Options
	properties []string
}

const (
	// defaultSnapshots is the number of snapshots that a table keeps.
	defaultSnapshots = 100
	// defaultMetadata is how long metadata stays that nothing names. A query takes less time.
	defaultMetadata = 48 * time.Hour
)

func newSyncCommand(a *cli.App) *cobra.Command {
	s := &syncCommand{App: a, options: tables.Options{KeepMetadata: defaultMetadata}}
	cmd := &cobra.Command{
		Use:         "sync [DEST]",
		Short:       "Make an Iceberg table hold what DEST holds",
		Long:        syncLong,
		Example:     syncExample,
		Args:        a.Takes(cobra.MaximumNArgs(1)),
		Annotations: map[string]string{cli.JobSuffix: "-sync"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return s.execute(cmd.Context()) },
	}
	a.Begins(cmd, s.begin)
	flags, o := cmd.Flags(), &s.options
	flags.StringVar(&o.Destination, "dest", "", "`directory` of the output, instead of the argument DEST")
	flags.StringVar(&o.Table, "table", "", "`name` of the table, with its namespace: ns.name")
	flags.StringVar(&o.Catalog.Kind, "catalog", "", "kind of the catalog: "+strings.Join(catalogs.Kinds, ", "))
	flags.StringVar(&o.Catalog.Name, "catalog-name", "default", "`name` of the catalog, in a SQLite file and in variables of PyIceberg")
	flags.StringVar(&o.Catalog.URI, "uri", "", "`address` of the catalog")
	flags.StringVar(&o.Catalog.Warehouse, "warehouse", "", "`directory` of new tables, or the server's name for it")
	flags.StringArrayVar(&s.properties, "catalog-property", nil, "`KEY=VALUE`: a property of the catalog; repeatable")
	flags.IntVar(&o.KeepSnapshots, "keep-snapshots", defaultSnapshots, "remove older snapshots than the last `number` from the table; 0 keeps all")
	flags.Var((*cli.TimeSpan)(&o.KeepMetadata), "keep-metadata", "leave metadata that the table no longer needs for this `duration`, for programs that are reading it; 0 keeps all")
	a.AddExitNothing(flags)
	a.AddMaxRuntime(flags)
	a.Watchers.Add(flags)
	cli.Complete(cmd, "catalog", catalogs.Kinds...)
	return cmd
}

// begin takes the argument, and logs the start of the run.
func (s *syncCommand) begin(args []string) error {
	o := &s.options
	if len(args) > 0 {
		//guard: rejects a destination from both a flag and the argument
		if s.OnCommandLine("dest") {
			return cli.Usagef("--dest and DEST are given: give one of them")
		}
		o.Destination = args[0]
	}
	if o.Destination == "" {
		return cli.Usagef("sync needs a destination: as the argument DEST, or as --dest, which a job file can hold")
	}
	s.Run.Dest, s.Run.Table = store.Showable(o.Destination), o.Table
	s.LogStart("dest", s.Run.Dest, "table", o.Table, "catalog", o.Catalog.Kind, "uri", store.Showable(o.Catalog.URI), "warehouse", store.Showable(o.Catalog.Warehouse))
	return nil
}

func (s *syncCommand) execute(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	o := &s.options
	s.Run.Catalog = store.Showable(cmp.Or(o.Catalog.URI, o.Catalog.Warehouse, o.Catalog.Kind))
	if err := s.StartTelling(ctx, o.Destination, []string{o.Destination}); err != nil {
		return err
	}
	o.Resolve, o.Memory, o.Log, o.Patience = s.Resolve, s.Pool, s.Log, s.Store.Patience.Limit
	if s.ForPeople() {
		o.Log = s.Console.Logger(slog.LevelWarn, s.Logs.Format)
	}
	done, err := tables.Sync(ctx, *o)
	s.report(done, err)
	return err
}

// check checks the flags, and reads the properties of the catalog.
func (s *syncCommand) check() error {
	o := &s.options
	p, err := s.catalogProperties()
	if err != nil {
		return err
	}
	o.Catalog.Properties = p
	o.Catalog.URI, o.Catalog.Warehouse = cmp.Or(o.Catalog.URI, p["uri"]), cmp.Or(o.Catalog.Warehouse, p["warehouse"])
	switch {
	case o.Table == "":
		return cli.Usagef("sync needs --table, or table.name in a job file")
	case o.Catalog.Kind == "":
		return cli.Usagef("sync needs --catalog, or table.catalog in a job file")
	case o.KeepSnapshots < 0:
		return cli.Usagef("--keep-snapshots must be 0 or more")
	}
	return cli.CheckChoice("catalog", o.Catalog.Kind, catalogs.Kinds)
}

// catalogProperties returns the properties of the flags, and below them those of the environment.
// Its errors do not begin with the name of the flag, so that no value is added to them.
func (s *syncCommand) catalogProperties() (map[string]string, error) {
	all := catalogs.Environment(s.options.Catalog.Name, os.Environ())
	for _, p := range s.properties {
		key, value, ok := strings.Cut(p, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("flag --catalog-property: write KEY=VALUE")
		}
		//guard: rejects a secret that other users of the machine see
		if catalogs.Secret(key) && s.OnCommandLine("catalog-property") {
			return nil, cli.Usagef("flag --catalog-property: %s is a secret, which other users see on a command line: give it in the job file or the environment", key)
		}
		all[key] = value
	}
	return all, nil
}

// synced is the result of sync in the final JSON object.
type synced struct {
	*cli.Figures
	Dest     string   `json:"dest"`
	Table    string   `json:"table"`
	Nothing  bool     `json:"nothing"`
	Created  bool     `json:"created"`
	Snapshot int64    `json:"snapshot"` // ID of the current snapshot
	Outputs  int      `json:"outputs"`  // outputs and increments in the table
	Files    int      `json:"files"`
	Rows     int64    `json:"rows"`
	Bytes    int64    `json:"bytes"`
	Added    int      `json:"added"`   // files
	Removed  int      `json:"removed"` // files
	Schema   []string `json:"schema"`  // changes of the columns, in words
	Expired  int      `json:"expired"` // snapshots removed from the table
	Swept    int      `json:"swept"`   // files of metadata removed
	Tries    int      `json:"tries"`
}

// report reports what a sync did, also before an error.
func (s *syncCommand) report(r tables.Result, err error) {
	o := &s.options
	s.Result = synced{
		Figures: &s.Figures, Dest: o.Destination, Table: o.Table, Nothing: r.Nothing, Created: r.Created, Snapshot: r.Snapshot, Outputs: r.Outputs,
		Files: r.Files, Rows: r.Rows, Bytes: r.Bytes, Added: r.Added, Removed: r.Removed, Schema: cli.OrEmpty(r.Schema), Expired: r.Expired, Swept: r.Swept, Tries: r.Tries,
	}
	if err == nil && !r.Nothing || r.Added+r.Removed > 0 {
		s.Run.Files, s.Run.Rows, s.Run.Bytes, s.Run.OutputID = r.Files, r.Rows, r.Bytes, fmt.Sprint(r.Snapshot)
	}
	switch {
	case err != nil:
	case r.Nothing:
		s.Status = cli.StatusNothing
		s.Summary("nothing to do: %s already holds the %s of %s\n", o.Table, cli.Plural(r.Rows, "row"), o.Destination)
	default:
		s.Summary("%s: %s in %s, %s (added: %d, removed: %d)\n", o.Table, cli.Plural(r.Rows, "row"), cli.Plural(r.Files, "file"), cli.Human(r.Bytes), r.Added, r.Removed)
		for _, change := range r.Schema {
			s.Summary("  %s\n", change)
		}
	}
}
