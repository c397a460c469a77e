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
)

const lookupLong = `Print the rows with the given keys, by a key index that convert --index made:
of the index and of each column that is asked for, only the blocks on the way
to the rows are read. DEST is a committed output, with its increments, or a tree
of outputs; all of them need the index.

A key is the value of the index's field, as cat prints it. Of an index on
several fields it is their values with commas between or as a JSON array, or
those of the first of them: 7,SPAM or '["a,b",3]'. Times may be the number that
is stored, bytes be x'0aff'. Put -- before keys that begin with -. The key -
stands for keys on standard input, a line for each. --range FROM..TO are the
keys from FROM to TO, both included; without FROM or TO there is no bound. A
key with .. in it is written as a JSON array there.
--prefix is for fields that are text or bytes.

The rows of one key after another are printed, each key's in the order of the
dataset, and so are those of a range or a prefix, all of which are found before
the first is read. Keys that are not there print nothing, and are no failure:
--exit-nothing gives it a code if there is no row at all. --columns, --limit and
--to are those of cat. --stats tells what was read, the index included.`

const lookupExample = `  rowtocol convert --index id --index folder,id mail.avro mail.columns
  rowtocol lookup mail.columns 17 19
  rowtocol lookup --by id --columns from,subject --to csv mail.columns - < ids
  rowtocol lookup --by folder,id --prefix SP mail.columns
  rowtocol lookup --by id --range 100..199 --to avro mail.columns > some.avro`

// lookupForms are the forms of rows that lookup prints.
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
		Short:       "Print the rows with some keys, by an index",
		Long:        lookupLong,
		Example:     lookupExample,
		Annotations: map[string]string{printsRows: "yes"},
		Args:        a.takes(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ranged, f.prefixed = cmd.Flags().Changed("range"), cmd.Flags().Changed("prefix")
			return f.execute(cmd.Context(), args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.by, "by", "", "`fields` of the index to use; needed if the keys fit more than one index, or none")
	flags.StringVar(&f.keys, "range", "", "the keys `FROM..TO`, both included")
	flags.StringVar(&f.prefix, "prefix", "", "the keys that begin with a `text`")
	flags.StringArrayVar(&f.columns, "columns", nil, "`fields` to read, separated by commas; repeatable (default all)")
	flags.Int64Var(&f.query.Limit, "limit", -1, "most rows to print; -1 is no limit")
	flags.StringVar(&f.to, "to", "json", "`format`: "+strings.Join(lookupForms, ", "))
	flags.BoolVar(&f.tagged, "json-unions", false, "JSON as Avro encodes it, with the types of unions")
	flags.StringVar(&f.codec, "output-codec", "snappy", "`codec` of Avro output: "+strings.Join(avroCodecs, ", "))
	flags.BoolVar(&f.stats, "stats", false, "print on standard error what was read")
	flags.IntVar(&f.exitNothing, "exit-nothing", 0, "exit `code` when no row was found")
	complete(cmd, "to", lookupForms...)
	complete(cmd, "output-codec", avroCodecs...)
	return cmd
}

func (f *lookupCommand) checkLookup(keys []string) error {
	if err := checkChoice("to", f.to, lookupForms); err != nil {
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
		return usagef("give keys, --range or --prefix, one of them")
	case f.ranged && !isRange(f.keys):
		return usagef("--range: %q is not FROM..TO with one .. in it; write a key that has dots there as a JSON array: '[\"a..b\"]..[\"c\"]'", f.keys)
	case slices.Contains(keys, stdinName) && len(keys) > 1:
		return usagef("- reads all keys from standard input; give no others beside it")
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
	if f.stdout.terminal && format.binary {
		return usagef("--to %s is not for a terminal; redirect it", f.to)
	}
	f.terminalWidth = f.width()
	in, err := f.openInput(ctx, []string{dest})
	if err != nil {
		return err
	}
	asks := f.asks(keys)
	f.by = strings.Join(strings.FieldsFunc(f.by, func(r rune) bool { return r == ',' || r == ' ' }), ",")
	if f.by == "" {
		f.by = lookup.Choose(in.data, asks)
	}
	table, err := lookup.Open(in.data, f.by, f.pool)
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
		f.log.Warn(fmt.Sprintf("%s with null in one of the fields %s cannot be found by them", plural(n, "row"), table.Fields()))
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
		f.status = statusNothing
	}
	return err
}

// indexBytes is the size of all indexes of a dataset.
func indexBytes(d *dataset.Dataset) (n int64) {
	for _, r := range d.Outputs() {
		for _, x := range r.Index {
			n += x.Bytes
		}
	}
	return n
}
