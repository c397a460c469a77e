package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/publish"
)

// keptForTable is how long replaced files stay for the snapshots of a table that name them, if the
// user does not say so. A sync removes these snapshots, and it may run a day later.
const keptForTable = 48 * time.Hour

// addKeepReplaced adds the flag for how long replaced files stay.
func addKeepReplaced(flags *pflag.FlagSet, o *publish.Options) {
	flags.Var((*cli.TimeSpan)(&o.KeepReplaced), "keep-replaced", "leave the files of a replaced output and its increments in DEST for this `duration`, for programs that are reading them (default 48h if the job file has a table, else 0)")
}

// keepForTable keeps replaced files if the output becomes a table.
func (a *app) keepForTable(o *publish.Options) {
	if a.HasTable() && !a.Flags.Changed("keep-replaced") {
		o.KeepReplaced = keptForTable
	}
}
