package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/input"
)

const catLong = `Print the rows of column files and Avro files as JSON (one line per row), CSV, a
table, an Avro object container file, an Arrow stream or a Parquet file.

An argument is a file, a directory or a quoted pattern (*, ?, [a-z]). A
directory is an output of convert, with its increments in directories named
increment-…. It must have _SUCCESS, which convert writes last, unless you give
--partial. The argument - is standard input. A file that you redirect with < may
be of any kind. A pipe must carry an Avro file. cat stops reading the pipe once
it has printed the rows that you ask for. cat prints the rows of several
arguments in the order of the arguments. It sorts the matches of a pattern by
path, where numbers sort by value: part-2 comes before part-10.

A directory may also be a tree: outputs in directories named key=value, such as
dt=2026-01-01/hour=7. Each key becomes a column after those of the rows. The
type of the column is long if all values are integers, date if all are dates,
and otherwise string. The value __HIVE_DEFAULT_PARTITION__ is null, and %XX is
decoded. If the rows have a field with the name of a key, the field replaces the
key. All outputs must have the same keys in the same order. Keys come from one
part of each path: for a directory, the part below it; for a pattern, the part
from its first wildcard on; for several arguments, the part below their common
directory. So mail/dt=2026-01-01 alone gives no column dt. With
--where 'dt >= date("2026-01-01")' cat reads only directories that meet the
condition.

cat reads only the columns that you ask for. With --where it reads the columns
of the condition, and reads the other columns only where rows match. --columns
names a field by its path in the schema, in which arrays, maps and unions are
not written (received.host), or by its column (received[]#host). A record stands
for all its fields. Fields are printed in the order of the schema. With
--schema, the names in --columns and --where are still those of the files' own
schema.

--where takes a condition such as  size > 1000 and folder <> 'SPAM'. You may
write it in the words of SQL or with the operators of C. A condition can also
test items of arrays and values of maps: see rowtocol help conditions. --offset
and --limit count only the rows that match.

In JSON, an optional value is the value itself or null, bytes are base64, and
dates and decimals are strings. With --json-unions, cat prints Avro's own JSON
encoding, which Avro's libraries read. CSV can hold only simple and optional
fields: choose them with --columns. A table looks like that of rowtocol head.
Arrow and Parquet keep nested types. A union of several types becomes a dense
union in Arrow, and a struct with a field for each type in Parquet. Few engines
know dense unions: use --unions struct for DuckDB and Polars. Spark reads no
times of day and no nanoseconds from Parquet: use --times spark. A Parquet file
is like those of convert --format parquet, but has several row groups if there
are many rows. Its strings must be UTF-8.

With --output, the file gets its name once all rows are written. If cat meets
damage, it ends with exit code 3; standard output then has the rows before the
damage. If the program that reads a pipe closes it early, cat ends with exit
code 0 and without a message. On a terminal, control characters are printed as
escapes. --stats prints on standard error what was read. --json prints the
JSON object of the run as the last line of standard error, or on standard output
if you give --output.`

const catExample = `  # the first ten rows, all fields
  rowtocol cat --limit 10 mail.columns

  # two fields of the matching rows, and how much was read for them
  rowtocol cat --columns from,received.host --where 'seen && size > 1000' \
    --stats mail.columns

  # a CSV file, and an Avro file of rows 300 to 399
  rowtocol cat --to csv --columns id,date,subject mail.columns > mail.csv
  rowtocol cat --to avro --offset 300 --limit 100 --output part.avro \
    mail.columns

  # a tree of outputs, mail.tree/dt=…/hour=…, and one month of it
  rowtocol cat --columns dt,hour,from --where 'hour < 6' mail.tree
  rowtocol cat --to parquet --output july.parquet 'mail.tree/dt=2026-07-*'

  # a Parquet file for Spark, and an Arrow stream for DuckDB or Polars
  rowtocol cat --to parquet --times spark --output mail.parquet mail.columns
  rowtocol cat --to arrow --unions struct mail.columns > mail.arrows

  # rows of several schema versions, resolved to one, in columns again
  rowtocol cat --schema mail-v3.avsc --to parquet --output v3.parquet \
    mail.columns

  # an Avro file from a pipe
  curl -s https://example.org/mail.avro | rowtocol cat --columns from,subject -`

// catFlags holds the flags of cat.
type catFlags struct {
	query             dataset.Query // the query, without columns and schema
	columns           []string
	schema            string
	to, codec, output string
	unions, times     string
	tagged, overwrite bool
	partial, stats    bool
	terminalWidth     int // columns of the terminal that shows the rows; 0 if there is none
}

// addCondition adds the flags that select rows.
func (f *catFlags) addCondition(flags *pflag.FlagSet) {
	flags.Var((*conditionValue)(&f.query.Where), "where", "select rows that meet the `condition`; see rowtocol help conditions")
	flags.BoolVar(&f.partial, "partial", false, "also read directories without _SUCCESS: all column files in them")
}

// addChoice adds the flags that select rows and fields.
func (f *catFlags) addChoice(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addCondition(flags)
	flags.StringArrayVar(&f.columns, "columns", nil, "`fields` to read, separated by commas; repeatable (default all)")
	completeFields(cmd, "columns", false, func(args []string) []string { return args })
	flags.StringVar(&f.schema, "schema", "", "convert the rows to the Avro schema in this `file`: its defaults and aliases apply, and types may become wider (int to long)")
}

// catFormats lists the values of --to. write writes all rows. If it returns nil, the output
// is complete.
var catFormats = []struct {
	name   string
	binary bool
	write  func(context.Context, *catInput, *catFlags, io.Writer) error
}{
	{"json", false, newEncoding(func(s *shred.Schema, f *catFlags) (export.Encoding, error) {
		return export.JSON(s, export.JSONOptions{UnionTags: f.tagged}), nil
	}).write},
	{"csv", false, newEncoding(func(s *shred.Schema, _ *catFlags) (export.Encoding, error) { return export.CSV(s) }).write},
	{"table", false, writeTable},
	{"avro", true, newEncoding(func(s *shred.Schema, f *catFlags) (export.Encoding, error) { return export.Avro(s, f.codec) }).write},
	{"arrow", true, writeArrow},
	{"parquet", true, writeParquet},
}

// avroCodecs lists the codecs of Avro's specification.
var avroCodecs = []string{"null", "deflate", "snappy", "zstandard", "bzip2", "xz"}

func formatNames() []string {
	var names []string
	for _, f := range catFormats {
		names = append(names, f.name)
	}
	return names
}

// catCommand is rowtocol cat. Other commands that read rows embed it.
type catCommand struct {
	*app
	catFlags
}

func newCatCommand(a *app) *cobra.Command {
	f := &catCommand{app: a}
	cmd := &cobra.Command{
		Use:         "cat FILE|DIR|-...",
		Short:       "Print all or some rows, with all or some fields",
		Long:        catLong,
		Example:     catExample,
		Annotations: map[string]string{cli.PrintsRows: "yes"},
		Args:        a.Takes(cobra.MinimumNArgs(1)),
		RunE:        func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	f.addChoice(cmd)
	flags.Int64Var(&f.query.Offset, "offset", 0, "number of `rows` to skip before the first")
	flags.Int64Var(&f.query.Limit, "limit", -1, "print at most this many `rows`; -1 is no limit")
	flags.StringVar(&f.to, "to", "json", "`format`: "+strings.Join(formatNames(), ", "))
	flags.BoolVar(&f.tagged, "json-unions", false, "print Avro's own JSON encoding, with the types of unions")
	formFlags(cmd, &f.catFlags)
	flags.StringVar(&f.codec, "output-codec", "snappy", "`codec` of Avro output: "+strings.Join(avroCodecs, ", ")+"; for Parquet one of the first four")
	flags.StringVar(&f.output, "output", "", "write to this `file`, local or on HDFS; - is standard output (default -)")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file of --output if it exists, unless it is a column file")
	flags.BoolVar(&f.stats, "stats", false, "print on standard error what was read")
	cli.Complete(cmd, "to", formatNames()...)
	cli.Complete(cmd, "output-codec", avroCodecs...)
	return cmd
}

func (f *catFlags) check() error {
	if err := cli.CheckChoice("to", f.to, formatNames()); err != nil {
		return err
	}
	if err := cli.CheckChoice("output-codec", f.codec, avroCodecs); err != nil {
		return err
	}
	switch {
	case f.to == "parquet" && parquetCodecs[f.codec] == "":
		return cli.Usagef("--output-codec: %q is not a codec of Parquet, which has %s", f.codec, strings.Join(slices.Sorted(maps.Keys(parquetCodecs)), ", "))
	case f.tagged && f.to != "json":
		return cli.Usagef("--json-unions goes with --to json")
	case f.query.Offset < 0:
		return cli.Usagef("--offset must not be negative")
	case f.query.Limit < -1:
		return cli.Usagef("--limit must be a number of rows, or -1 for no limit")
	}
	return f.checkForm()
}

func (f *catCommand) execute(ctx context.Context, names []string) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.output == standardOutput {
		f.output = ""
	}
	f.RowsOut = f.output == ""
	format := catFormats[slices.Index(formatNames(), f.to)]
	if f.RowsOut && format.binary && f.Stdout.Terminal {
		return cli.Usagef("--to %s is not for a terminal; redirect it, or name a file with cat --output", f.to)
	}
	if f.RowsOut {
		f.terminalWidth = f.Width()
	}
	in, err := f.openInput(ctx, names)
	if err != nil {
		return err
	}
	defer in.close()
	write := func(w io.Writer) error { return format.write(ctx, in, &f.catFlags, w) }
	if f.RowsOut {
		err = f.toStdout(ctx, write)
	} else {
		err = f.toFile(ctx, names, in, write)
	}
	f.reportRead(in)
	return err
}

// toFile writes the output under its name.
func (f *catCommand) toFile(ctx context.Context, names []string, in *catInput, write func(io.Writer) error) error {
	at, err := input.Locate(f.Resolve, f.output)
	if err != nil {
		return err
	}
	if err := f.checkOutput(ctx, at, names); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	p, stop := f.StartProgress(ctx)
	defer stop()
	total := max(in.stats.TotalRows-f.query.Offset, 0)
	if f.query.Limit >= 0 {
		total = min(total, f.query.Limit)
	}
	in.progress = func(s dataset.Stats) {
		if f.query.Where != "" {
			p.SetOf(s.Rows, s.BytesRead, s.Passed, s.TotalRows)
		} else {
			p.SetOf(s.Rows, s.BytesRead, s.Rows, total)
		}
	}
	return f.newFile(ctx, at, f.overwrite, write)
}

// catted is the result of cat in the final JSON object.
type catted struct {
	Rows       int64  `json:"rows"`                 // number of printed rows
	TotalRows  *int64 `json:"total_rows,omitempty"` // rows of the inputs, if known
	BytesRead  int64  `json:"bytes_read"`
	FileBytes  int64  `json:"file_bytes"`
	BlocksRead int64  `json:"blocks_read"`
	Blocks     int64  `json:"blocks"`          // number of blocks of the requested columns in the opened files
	Index      string `json:"index,omitempty"` // fields of the index that found the rows
	Output     string `json:"output,omitempty"`
}

// tellInexact warns of values that --schema does not hold exactly.
func (f *catCommand) tellInexact(n shred.Inexact) {
	if n != (shred.Inexact{}) {
		f.Log.Warn("the types of --schema do not hold all values exactly: " + n.String())
	}
}

func (f *catCommand) reportRead(in *catInput) {
	s, index, byIndex := in.stats, "", ""
	if in.by != nil {
		index = in.by.Fields()
		byIndex = ", by the index " + index
		s.BytesRead += in.by.BytesRead()
		s.FileBytes += indexBytes(in.data)
	}
	// Bytes that are read twice, such as the start of a file with a long header, are counted
	// once, except in a lookup, which may need the same blocks for several keys.
	if s.BlocksRead = min(s.BlocksRead, s.Blocks); s.FileBytes > 0 && in.answer == nil { // FileBytes is 0 for a stream
		s.BytesRead = min(s.BytesRead, s.FileBytes)
	}
	f.tellInexact(s.Inexact)
	f.Result = catted{s.Rows, in.total(), s.BytesRead, s.FileBytes, s.BlocksRead, s.Blocks, index, f.output}
	if !f.stats || f.JSON {
		return
	}
	if total := in.total(); total != nil {
		fmt.Fprintf(f.Console, "%d of %s%s; read %s of %s, %d of %s of these columns\n",
			s.Rows, cli.Plural(*total, "row"), byIndex, cli.Human(s.BytesRead), cli.Human(s.FileBytes), s.BlocksRead, cli.Plural(s.Blocks, "block"))
	} else {
		fmt.Fprintf(f.Console, "%s; read %s of Avro\n", cli.Plural(s.Rows, "row"), cli.Human(s.BytesRead))
	}
}
