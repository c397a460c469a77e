package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const lookupLong = `Print the rows with the given keys, by a key index that convert --index made.
lookup reads only the index blocks that lead to the rows, and the blocks of the
requested columns that hold the rows. DEST is a committed output with its
increments, or a tree of outputs. Each output that has rows needs the index.

A key is the value of the index's field, as cat prints it. For an index on
several fields, give the values of all fields, or of the first few, separated by
commas or as a JSON array: SPAM,7 or '["a,b",3]'. You may write a time as the
number that is stored, and bytes as x'0aff'. Put -- before keys that begin with
-. If the only key is -, lookup reads keys from standard input, one per line.

In place of keys you may give --range or --prefix. --range FROM..TO selects the
keys from FROM to TO, both included. Without FROM or without TO, the range has
no bound on that side. In a range, write a key that contains .. as a JSON array.
--prefix selects keys that begin with a text. With an index on several fields,
write the values before it too: --prefix SPAM,ab. The field of the last value
must be a string, bytes, a fixed or an enum, but neither a decimal nor a
duration.

Rows are printed in the order of the keys that you give, and rows of one key in
the order of the dataset. Rows of a range or a prefix are printed in the order
of the dataset. For a range or a prefix, lookup finds the places of all rows
before it reads the first row, which takes memory for each row. The rows of
many keys are read together, and wait in up to a quarter of --memory. A key
without rows prints nothing and is not a failure. If no key has rows, the exit
code is that of --exit-nothing. --columns, --limit and --to work as in cat.
--stats prints what was read, including the index. With --json, the JSON object
of the run is the last line of standard error.`

const lookupExample = `  rowtocol convert --index id --index folder,id mail.avro mail.columns
  rowtocol lookup mail.columns 17 19
  rowtocol lookup --by id --columns from,subject --to csv mail.columns - < ids
  rowtocol lookup --by folder,id --prefix SP mail.columns
  rowtocol lookup --by id --range 100..199 --to avro mail.columns > some.avro`

// lookupForms lists the forms in which lookup prints rows.
var lookupForms = []string{"json", "csv", "table", "avro"}

// lookupCommand is rowtocol lookup.
type lookupCommand struct {
	catCommand
	by, keys, prefix string
	ranged, prefixed bool
}

func newLookupCommand(a *app) *cobra.Command {
	f := &lookupCommand{catCommand: catCommand{app: a, catFlags: catFlags{times: "exact"}}}
	cmd := &cobra.Command{
		Use:         "lookup DEST [KEY...]",
		Short:       "Print the rows with given keys, by an index",
		Long:        lookupLong,
		Example:     lookupExample,
		Annotations: map[string]string{cli.PrintsRows: "yes"},
		Args:        a.Takes(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ranged, f.prefixed = cmd.Flags().Changed("range"), cmd.Flags().Changed("prefix")
			return f.execute(cmd.Context(), args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.by, "by", "", "`fields` of the index to use; needed if the keys do not decide between several indexes")
	flags.StringVar(&f.keys, "range", "", "select the keys `FROM..TO`, both included")
	flags.StringVar(&f.prefix, "prefix", "", "select the keys that begin with this `text`")
	flags.StringArrayVar(&f.columns, "columns", nil, "`fields` to read, separated by commas; repeatable (default all)")
	flags.Int64Var(&f.query.Limit, "limit", -1, "print at most this many `rows`; -1 is no limit")
	flags.StringVar(&f.to, "to", "json", "`format`: "+strings.Join(lookupForms, ", "))
	flags.BoolVar(&f.tagged, "json-unions", false, "print Avro's own JSON encoding, with the types of unions")
	flags.StringVar(&f.codec, "output-codec", "snappy", "`codec` of Avro output: "+strings.Join(avroCodecs, ", "))
	flags.BoolVar(&f.stats, "stats", false, "print on standard error what was read")
	flags.IntVar(&f.ExitNothing, "exit-nothing", 0, "exit `code` if no row is found (default 0)")
	completeFields(cmd, "columns", false, func(args []string) []string { return args[:min(len(args), 1)] })
	cli.Complete(cmd, "to", lookupForms...)
	cli.Complete(cmd, "output-codec", avroCodecs...)
	return cmd
}

func (f *lookupCommand) checkLookup(keys []string) error {
	if err := cli.CheckChoice("to", f.to, lookupForms); err != nil {
		return err
	}
	ways := 0
	for _, given := range []bool{len(keys) > 0, f.ranged, f.prefixed} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return cli.Usagef("give either keys, --range or --prefix")
	case f.ranged && !isRange(f.keys):
		return cli.Usagef("--range: %q is not FROM..TO with one .. in it; write a key that contains .. as a JSON array: '[\"a..b\"]..[\"c\"]'", f.keys)
	case slices.Contains(keys, stdinName) && len(keys) > 1:
		return cli.Usagef("- reads all keys from standard input; give no other keys with it")
	}
	return f.check()
}

func isRange(text string) bool {
	_, _, ok := rowkey.CutRange(text)
	return ok
}

func (f *lookupCommand) execute(ctx context.Context, dest string, keys []string) error {
	if err := f.checkLookup(keys); err != nil {
		return err
	}
	format := catFormats[slices.Index(formatNames(), f.to)]
	if f.Stdout.Terminal && format.binary {
		return cli.Usagef("--to %s is not for a terminal; redirect it", f.to)
	}
	f.terminalWidth = f.Width()
	in, err := f.openInput(ctx, []string{dest})
	if err != nil {
		return err
	}
	asks := f.asks(keys)
	f.by = strings.Join(strings.FieldsFunc(f.by, func(r rune) bool { return r == ',' || r == ' ' }), ",")
	if f.by == "" {
		f.by = lookup.Choose(in.data, asks)
	}
	table, err := lookup.Open(in.data, f.by, f.Pool)
	if err != nil {
		return err
	}
	defer table.Close()
	for _, ask := range asks {
		if err := table.Check(ask); err != nil {
			return err
		}
	}
	if n := table.RowsWithoutKey(); n > 0 {
		f.Log.Warn(fmt.Sprintf("%s with null in one of the fields %s cannot be found by these fields", cli.Plural(n, "row"), table.Fields()))
	}
	finder := &finder{in: in, table: table, left: f.query.Limit, next: oneByOne(asks)}
	if asks == nil {
		finder.next = keysOf(&stdin{ctx: ctx, file: os.Stdin})
	}
	in.answer = finder.answer
	err = f.toStdout(ctx, func(w io.Writer) error { return format.write(ctx, in, &f.catFlags, w) })
	in.stats.BytesRead += table.BytesRead()
	in.stats.FileBytes += indexBytes(in.data)
	f.reportRead(in)
	if err == nil && in.stats.Rows == 0 {
		f.Status = cli.StatusNothing
	}
	return err
}

// indexBytes returns the size of all indexes of a dataset.
func indexBytes(d *dataset.Dataset) (n int64) {
	for _, r := range d.Outputs() {
		for _, x := range r.Index {
			n += x.Bytes
		}
	}
	return n
}
