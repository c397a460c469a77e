package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/plan"
)

// requestFlags holds the flags that make a request.
type requestFlags struct {
	outcomes
	req               job.Request // values of the flags
	blockSize         cli.ByteSize
	schema, recursive string
	moved             []string
}

var (
	onDamageChoices = []string{"fail", "skip", "quarantine"}
	copiesChoices   = []string{takeCopies, plan.SkipCopies, plan.RefuseCopies}
)

// takeCopies is the value of --copies that is not stored in plans.
const takeCopies = "take"

func (f *requestFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.req.Output
	o.RowGroupSize, o.MaxInputBlock = 128<<20, 512<<20
	flags.StringVar(&o.Format, "format", formats[0].Name(), "`format` of the output: "+strings.Join(formats.Names(), " or "))
	for name, c := range choices() {
		switch {
		case c.Switch:
			flags.Bool(name, false, c.Usage)
		case c.Repeatable:
			flags.StringArray(name, nil, c.Usage)
		default:
			flags.String(name, c.Default, c.Usage)
		}
		if len(c.Values) > 0 {
			cli.Complete(cmd, name, c.Values...)
		}
	}
	flags.Var(&f.blockSize, "block-size", "number of bytes after which a column's block ends (default 64KiB, or less if --memory is too small for the columns)")
	flags.Var((*cli.LargeSize)(&o.RowGroupSize), "row-group-size", "size at which a row group (a file, or with cfile a directory of files) ends; only its last row may exceed it")
	flags.StringVar(&o.OnDamage, "on-damage", "fail", "`what` to do about damaged input: fail; skip, which leaves it out; or quarantine, which leaves it out and keeps its bytes in DEST")
	flags.Int64Var(&o.MaxLostRows, "max-lost-rows", -1, "fail if more `rows` than this are lost to damage; -1 is no limit")
	flags.Var((*cli.ByteSize)(&o.MaxInputBlock), "max-input-block", "limit for a decompressed input block, and for a row after it is resolved to --schema")
	flags.StringVar(&f.recursive, "recursive", "", "keep the recursive part of a schema as one column of Avro-encoded `bytes` (default: refuse such a schema)")
	flags.StringVar(&f.schema, "schema", "", "resolve all rows to the Avro schema in this `file`, by Avro's rules: defaults, aliases and wider types")
	flags.StringArrayVar(&o.Index, "index", nil, "make a key index on these `fields` for lookup: paths of simple fields, separated by commas; repeatable")
	flags.BoolVar(&o.Strict, "strict", false, "if other readers may refuse the schema, or an input has fields that the output lacks, fail instead of warning")
	flags.StringVar(&o.Copies, "copies", takeCopies, "`what` to do about an input with the same bytes as another input, or as an input that DEST has: take (convert it, with a warning), skip or refuse")
	flags.BoolVar(&f.req.AllowEmpty, "allow-empty", false, "accept directories without an Avro file, and patterns without a match")
	flags.BoolVar(&f.req.Incremental, "incremental", false, "convert only inputs that DEST does not have yet, as an increment next to what DEST holds")
	addMoved(flags, &f.moved)
	addFilter(flags, &f.req.Filter, &o.Exclude)
	named := func(args []string) []string { return slices.Concat(f.req.Inputs, args) }
	completeFields(cmd, "index", true, named)
	completeFields(cmd, "key", true, named)
	cli.Complete(cmd, "format", formats.Names()...)
	cli.Complete(cmd, "on-damage", onDamageChoices...)
	cli.Complete(cmd, "recursive", "bytes")
	cli.Complete(cmd, "copies", copiesChoices...)
}

// checkRecursive checks the flag of commands that make columns of a schema.
func checkRecursive(as string) error {
	if as == "" {
		return nil
	}
	return cli.CheckChoice("recursive", as, []string{"bytes"})
}

// choices returns the options of all formats, by name. If formats differ in an option, or do not
// have it, its usage names the formats.
func choices() map[string]format.Choice {
	all := make(map[string]format.Choice)
	for _, f := range formats {
		for _, c := range f.Choices() {
			c.Usage = f.Name() + ": " + c.Usage
			if first, ok := all[c.Name]; ok {
				c.Usage = first.Usage + "; " + strings.ReplaceAll(c.Usage, "`", "")
				c.Values = append(slices.Clip(first.Values), c.Values...)
			}
			all[c.Name] = c
		}
	}
	return all
}

// formatsWith returns the names of the formats that have an option.
func formatsWith(option string) (names []string) {
	for _, f := range formats {
		if slices.ContainsFunc(f.Choices(), func(c format.Choice) bool { return c.Name == option }) {
			names = append(names, f.Name())
		}
	}
	return names
}

// formatOptions makes the format's document of options from the flags.
func (f *requestFlags) formatOptions() (json.RawMessage, error) {
	if err := cli.CheckChoice("format", f.req.Output.Format, formats.Names()); err != nil {
		return nil, err
	}
	chosenFormat, err := formats.Named(f.req.Output.Format)
	if err != nil {
		return nil, cli.Usagef("--format: %w", err)
	}
	known := make(map[string]bool)
	for _, c := range chosenFormat.Choices() {
		known[c.Name] = true
	}
	chosen := make(map[string][]string)
	for name := range choices() {
		flag := f.Flags.Lookup(name)
		switch {
		case !flag.Changed:
		case !known[name]:
			return nil, cli.Usagef("--%s is not an option of the format %s, but of %s", name, f.req.Output.Format, strings.Join(formatsWith(name), " and "))
		default:
			chosen[name] = []string{flag.Value.String()}
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				chosen[name] = list.GetSlice()
			}
		}
	}
	doc, err := chosenFormat.Options(chosen)
	if err != nil {
		return nil, cli.AsUsage(fmt.Errorf("%w%s", err, nearestChoice(chosenFormat, chosen)))
	}
	return doc, nil
}

// nearestChoice suggests a choice for the first value that is not one of its flag's choices.
func nearestChoice(f format.Format, chosen map[string][]string) string {
	for _, c := range f.Choices() {
		for _, v := range chosen[c.Name] {
			v = v[strings.LastIndexByte(v, '=')+1:]
			if len(c.Values) > 0 && !slices.Contains(c.Values, v) {
				return cli.DidYouMean(v, "", c.Values)
			}
		}
	}
	return ""
}

// damageHelp adds, to an error about damage, the flags that go on without the damaged block or
// file.
func damageHelp(err error, onDamage string) error {
	var d *damage.Error
	if onDamage != "fail" || !errors.As(err, &d) {
		return err
	}
	if errors.As(err, new(*input.HeaderError)) {
		return fmt.Errorf("%w; restore the file, leave it out by name with --exclude, or lose all of it with --on-damage skip or quarantine", err)
	}
	switch d.Kind {
	case damage.Magic, damage.Header, damage.Schema, damage.Unsupported:
		return err // the damage is not in a block
	}
	return fmt.Errorf("%w; --on-damage skip or quarantine goes on without the damaged block", err)
}

// smallRowGroup is the size below which row groups draw a warning.
const smallRowGroup = 1 << 20

// warnOfSize warns of row groups that make many small files.
func (f *requestFlags) warnOfSize() {
	if size := cli.ByteSize(f.req.Output.RowGroupSize); size < smallRowGroup {
		f.Log.Warn(fmt.Sprintf("--row-group-size is only %v, which makes many small files; the usual size is 128MiB", size))
	}
}

// request checks the flags, and completes the request.
func (f *requestFlags) request(ctx context.Context) (r job.Request, err error) {
	r = f.req
	r.Environment = f.environment()
	o := &r.Output
	switch {
	case o.RowGroupSize == 0:
		return r, cli.Usagef("--row-group-size must be more than 0")
	case o.MaxInputBlock == 0:
		return r, cli.Usagef("--max-input-block must be more than 0")
	case f.blockSize > 1<<30:
		return r, cli.Usagef("--block-size must be at most 1GiB")
	}
	err = cmp.Or(checkRecursive(f.recursive), cli.CheckChoice("on-damage", o.OnDamage, onDamageChoices), cli.CheckChoice("copies", o.Copies, copiesChoices))
	if err != nil {
		return r, err
	}
	o.BlockSize, o.RecursiveBytes, o.MaxLostRows = int(f.blockSize), f.recursive == "bytes", max(o.MaxLostRows, -1)
	if o.Copies == takeCopies {
		o.Copies = ""
	}
	if f.HasTable() {
		if err := f.chooseTableTimes(); err != nil {
			return r, err
		}
	}
	f.keepForTable(&r.Destination)
	if o.FormatOptions, err = f.formatOptions(); err != nil {
		return r, err
	}
	if r.Schema, err = f.readerSchema(ctx, f.schema); err != nil {
		return r, err
	}
	if o.Exclude, err = f.excluded(o.Exclude); err != nil {
		return r, err
	}
	r.Destination.Moved, err = f.moves(f.moved)
	return r, err
}

// excluded returns the patterns of --exclude, in an order that does not depend on that of the flags.
func (f *requestFlags) excluded(patterns []string) (all []string, err error) {
	for _, p := range patterns {
		pattern, err := input.LocateExclude(f.Resolve, p)
		if err != nil {
			return nil, fmt.Errorf("--exclude: %w", err)
		}
		all = append(all, pattern)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
