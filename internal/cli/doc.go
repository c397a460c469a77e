// Package cli is what the programs of this module have in common: the common flags, their
// settings, logs, reports, signals and exit codes. A Program adds its commands.
//
// # A run
//
// Run is a whole run of a program, and App is its state.
//
//	signals        a signal or --max-runtime cancels the context of the run
//	root command   it has only the command that the arguments name
//	flags          command line, then environment (ROWTOCOL_...), then job file
//	log            text for people at a terminal, else JSON; every line has the ID of the run
//	watchers       the places of metrics and lineage are checked before the work begins
//	memory, stores the limit of memory is set; locations resolve to stores
//	the command    it does the work, and keeps its part of the final JSON object in App.Result
//	exit code      Classify gives each error a row of the table of exit codes
//	ending         the final JSON object, the error, metrics, lineage and the last line of the log
//
// If the work does not end after a signal, the run reports that, and ends without it.
package cli
