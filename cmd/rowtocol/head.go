package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
)

const headLong = `Print the first rows of column files, outputs and Avro files as a table. head
reads no more than these rows need. The argument - is standard input. If
standard input is a pipe, it must carry an Avro file.

The first thousand rows decide how wide the columns of the table are. On a
terminal, head shortens long cells in the middle and leaves out columns that do
not fit. Elsewhere it prints all cells in full. A null is an empty cell, and an
empty text is "". Lists and records are JSON.

--columns, --where, --schema and the other formats of --to work as in cat. cat
can also print other rows than the first.`

const headExample = `  rowtocol head mail.columns
  rowtocol head -n 3 --columns from,subject mail.avro
  rowtocol head --where 'size > 1000' --to json mail.columns
  curl -s https://example.org/mail.avro | rowtocol head -`

func newHeadCommand(a *app) *cobra.Command {
	f := &catCommand{app: a, catFlags: catFlags{codec: "snappy"}}
	cmd := &cobra.Command{
		Use:         "head FILE|DIR|-...",
		Short:       "Print the first rows, as a table",
		Long:        headLong,
		Example:     headExample,
		Annotations: map[string]string{cli.PrintsRows: "yes"},
		Args:        a.Takes(cobra.MinimumNArgs(1)),
		RunE:        func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.Int64VarP(&f.query.Limit, "limit", "n", 10, "print at most this many `rows`; -1 is no limit")
	f.addChoice(cmd)
	formFlags(cmd, &f.catFlags)
	flags.StringVar(&f.to, "to", "table", "`format`: "+strings.Join(formatNames(), ", "))
	cli.Complete(cmd, "to", formatNames()...)
	return cmd
}
