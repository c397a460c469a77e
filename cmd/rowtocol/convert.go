package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/trevni"
)

const convertLong = `Convert Avro object container files to column files, one per row group.

INPUT is a file, a directory or a quoted glob pattern; DEST is a directory, which
convert makes. All inputs must have the same schema, unless --schema names one
that all of them are resolved to, by Avro's rules. DEST/_SUCCESS is written
last: a reader that waits for it never sees part of a dataset. The same job
again finds it and does nothing; a job that was interrupted goes on where it
stopped.`

const convertExample = `  # a directory of files, with the defaults
  rowtocol convert /data/mail /data/mail.columns

  # what would be done
  rowtocol convert --dry-run '/data/mail/2026-*.avro' /data/mail.columns

  # one column stored with another codec, and an index of first values
  rowtocol convert --codec snappy --codec body=bzip2 --values date /data/mail /data/mail.columns

  # files of several generations of a schema, as the latest has them
  rowtocol convert --schema mail-v3.avsc /data/mail /data/mail.columns

  # from a scheduler: go on after damage, keep the damaged bytes, exit 99 when there is nothing to do
  rowtocol convert --config job.yaml --on-damage quarantine --exit-nothing 99 /data/mail /data/mail.columns`

// convertFlags are the flags of convert as they were given.
type convertFlags struct {
	codecs, meta, values          []string
	format, checksum, onDamage    string
	recursive, schema             string
	blockSize, rowGroup, maxBlock byteSize
	maxLost                       int64
	strict, overwrite, dryRun     bool
	nothing                       int
}

var onDamageChoices = []string{"fail", "skip", "quarantine"}

func (a *app) convertCommand() *cobra.Command {
	f := &convertFlags{rowGroup: 128 << 20, maxBlock: 512 << 20}
	cmd := &cobra.Command{
		Use:     "convert INPUT... DEST",
		Short:   "Convert Avro files to column files",
		Long:    convertLong,
		Example: convertExample,
		Args:    a.takes(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.convert(cmd, f, args[:len(args)-1], args[len(args)-1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "trevni", "`format` of the output")
	flags.StringArrayVar(&f.codecs, "codec", nil, "codec, or PATH=codec for one column: null, deflate, snappy, bzip2, zstandard; repeatable (default snappy)")
	flags.StringVar(&f.checksum, "checksum", trevni.ChecksumJava, "checksum of blocks: crc32 (as Java reads it), crc-32 or null")
	flags.Var(&f.blockSize, "block-size", "bytes of a column at which its block is closed (default 64KiB, less where --memory is too small for the columns)")
	flags.Var(&f.rowGroup, "row-group-size", "ceiling of an output file")
	flags.StringArrayVar(&f.values, "values", nil, "`column` to keep each block's first value of, so that readers can seek by value; repeatable")
	flags.StringArrayVar(&f.meta, "meta", nil, "`KEY=VALUE` for the file metadata; repeatable")
	flags.StringVar(&f.onDamage, "on-damage", "fail", "what damaged input does: fail, skip (go on after it) or quarantine (skip, and keep its bytes in DEST)")
	flags.Int64Var(&f.maxLost, "max-lost-rows", -1, "stop when damage has cost more rows than this; -1 is no limit")
	flags.Var(&f.maxBlock, "max-input-block", "largest decompressed input block, and row resolved to --schema")
	flags.StringVar(&f.recursive, "recursive", "", "bytes: keep the recursive part of a schema as one column of Avro-encoded bytes")
	flags.StringVar(&f.schema, "schema", "", "`file` with the Avro schema that the rows of all inputs are resolved to: defaults, aliases, promotions")
	flags.BoolVar(&f.strict, "strict", false, "refuse schemas that Java readers may refuse, instead of warning")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace an earlier output in DEST")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan and do nothing")
	flags.IntVar(&f.nothing, "exit-nothing", 0, "exit `code` when there was nothing to do")
	complete(cmd, "format", "trevni")
	complete(cmd, "codec", trevniCodecs...)
	complete(cmd, "checksum", trevni.ChecksumJava, trevni.ChecksumSpec, "null")
	complete(cmd, "on-damage", onDamageChoices...)
	complete(cmd, "recursive", "bytes")
	return cmd
}

// trevniCodecs are offered by shell completion; trevni.Options.Validate is
// the judge.
var trevniCodecs = []string{"null", "deflate", "snappy", "bzip2", "zstandard"}

// options checks the flags and makes the plan's options of them.
func (f *convertFlags) options() (manifest.Options, error) {
	o := manifest.Options{
		Format: f.format, RowGroupSize: int64(f.rowGroup), BlockSize: int(f.blockSize),
		Codec: "snappy", ColumnCodecs: map[string]string{}, Checksum: f.checksum,
		Values: f.values, OnDamage: f.onDamage, MaxInputBlock: int64(f.maxBlock),
		MaxLostRows: max(f.maxLost, -1), RecursiveBytes: f.recursive == "bytes", Strict: f.strict,
	}
	switch {
	case f.format != "trevni":
		return o, usagef("--format: %q is not a format; trevni is", f.format)
	case f.recursive != "" && f.recursive != "bytes":
		return o, usagef("--recursive: %q is not a choice; bytes is", f.recursive)
	case !slices.Contains(onDamageChoices, f.onDamage):
		return o, usagef("--on-damage: %q is not one of %s", f.onDamage, strings.Join(onDamageChoices, ", "))
	case f.rowGroup == 0:
		return o, usagef("--row-group-size must be more than 0")
	case f.maxBlock == 0:
		return o, usagef("--max-input-block must be more than 0")
	case f.blockSize > 1<<30:
		return o, usagef("--block-size must be at most 1GiB")
	case f.nothing < 0 || f.nothing > 255:
		return o, usagef("--exit-nothing must be an exit code, 0 to 255")
	}
	for _, c := range f.codecs {
		if i := strings.LastIndexByte(c, '='); i < 0 {
			o.Codec = c
		} else if i == 0 {
			return o, usagef("--codec %q: the column before = is missing", c)
		} else {
			o.ColumnCodecs[c[:i]] = c[i+1:]
		}
	}
	for _, m := range f.meta {
		key, value, ok := strings.Cut(m, "=")
		if !ok || key == "" {
			return o, usagef("--meta %q is not of the form KEY=VALUE", m)
		}
		o.Meta = append(o.Meta, manifest.KeyValue{Key: key, Value: value})
	}
	if err := trevniOptions(o).Validate(nil); err != nil {
		return o, &usageError{err}
	}
	return o, nil
}

// trevniOptions are the part of the options that is Trevni's.
func trevniOptions(o manifest.Options) trevni.Options {
	t := trevni.Options{Codec: o.Codec, ColumnCodecs: o.ColumnCodecs, Checksum: o.Checksum, Values: o.Values}
	for _, kv := range o.Meta {
		t.Meta = append(t.Meta, trevni.KeyValue{Key: kv.Key, Value: []byte(kv.Value)})
	}
	return t
}

func newFormat(o manifest.Options) (format.Format, error) {
	if o.Format != "trevni" {
		return nil, usagef("%q is not a format that this program writes", o.Format)
	}
	return trevni.NewFormat(trevniOptions(o)), nil
}

// converted is the result of convert in the final JSON object.
type converted struct {
	Dest     string          `json:"dest"`
	Plan     string          `json:"plan"`
	Nothing  bool            `json:"nothing"`
	Resumed  int             `json:"resumed_tasks"`
	Rows     int64           `json:"rows"`
	Bytes    int64           `json:"bytes"`
	Inputs   int             `json:"inputs"`
	Parts    []manifest.Part `json:"parts"`
	Losses   []manifest.Loss `json:"losses"`
	Warnings []string        `json:"warnings"`
}

func (a *app) convert(cmd *cobra.Command, f *convertFlags, inputs []string, dest string) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	schema, err := a.readerSchema(ctx, f.schema)
	if err != nil {
		return err
	}
	p, stop := a.startProgress(ctx)
	defer stop()
	req := job.Request{
		Inputs: inputs, Dest: dest, Options: options, Schema: schema, NewFormat: newFormat,
		Overwrite: f.overwrite, Workers: a.workers, Memory: int64(a.memory), TempDir: a.tempDir,
		Resolve:  a.resolve,
		Progress: func(s job.Progress) { p.set(s.Rows, s.Bytes, s.TotalBytes) },
	}
	if f.dryRun {
		plan, err := job.MakePlan(ctx, req)
		stop()
		if err != nil {
			return err
		}
		a.warn(plan.Warnings)
		a.printPlan(plan)
		return nil
	}
	outcome, err := job.Convert(ctx, req)
	stop()
	if outcome == nil || err != nil && !errors.Is(err, job.ErrLosses) {
		return err
	}
	a.warn(outcome.Warnings)
	a.printOutcome(outcome, dest)
	if outcome.Nothing && err == nil {
		a.status, a.nothing = "nothing", f.nothing
	}
	return err
}

func (a *app) warn(warnings []string) {
	for _, w := range warnings {
		a.log.Warn(w)
	}
}

func (a *app) printOutcome(o *job.Outcome, dest string) {
	m := o.Manifest
	if m == nil {
		m = &manifest.Success{}
	}
	a.result = converted{
		Dest: dest, Plan: m.Plan, Nothing: o.Nothing, Resumed: o.Resumed, Rows: m.Rows, Bytes: m.Bytes,
		Inputs: len(m.Inputs), Parts: orEmpty(m.Parts), Losses: orEmpty(m.Losses), Warnings: orEmpty(o.Warnings),
	}
	for _, l := range m.Losses {
		a.log.Warn("lost", "input", l.Input, "start", l.Start, "end", l.End, "rows", l.Rows, "reason", l.Reason, "quarantine", l.Quarantine)
	}
	switch {
	case a.json:
	case o.Nothing:
		a.printf("nothing to do: %s already holds the %d rows of these inputs\n", dest, m.Rows)
	default:
		resumed := ""
		if o.Resumed > 0 {
			resumed = fmt.Sprintf("; %d tasks were done before", o.Resumed)
		}
		a.printf("%s: %d rows in %d files, %s%s\n", dest, m.Rows, len(m.Parts), human(m.Bytes), resumed)
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// printPlan prints what --dry-run shows.
func (a *app) printPlan(plan *manifest.Plan) {
	a.result = plan
	if a.json {
		return
	}
	var bytes int64
	for _, in := range plan.Inputs {
		bytes += in.Size
	}
	o := plan.Options
	a.printf("plan %s\n", plan.ID)
	a.printf("  %d inputs, %s, %d columns\n", len(plan.Inputs), human(bytes), plan.Columns)
	a.printf("  %d tasks of about %s of input; output ratio %.2f, files up to %s\n",
		len(plan.Tasks), human(plan.SplitSize), plan.Ratio, byteSize(o.RowGroupSize))
	a.printf("  codec %s, checksum %s, column blocks of %s, on damage %s\n", o.Codec, o.Checksum, byteSize(o.BlockSize), o.OnDamage)
	for _, t := range plan.Tasks {
		a.printf("task %d\n", t.ID)
		for _, p := range t.Pieces {
			in := plan.Inputs[p.Input]
			if p.Start == 0 && p.End >= in.Size {
				a.printf("  %s\n", in.Path)
			} else {
				a.printf("  %s [%d, %d)\n", in.Path, p.Start, p.End)
			}
		}
	}
}
