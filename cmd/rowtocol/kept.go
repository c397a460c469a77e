package main

import (
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/publish"
)

// addKeepReplaced adds the flag for how long replaced files stay.
func addKeepReplaced(flags *pflag.FlagSet, o *publish.Options) {
	flags.Var((*cli.TimeSpan)(&o.KeepReplaced), "keep-replaced", "leave the files of a replaced output and its increments in DEST for this `duration`, for programs that are reading them")
}
