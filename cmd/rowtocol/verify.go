package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/avro/witness"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
)

const verifyLong = `Decode every block of a column file, and check every size, count and checksum.
For a directory, also compare the files with _SUCCESS (names, sizes, rows,
schema, and the CRC-32C of the stored bytes), and check that each key index
finds every row by its key. For several arguments, patterns and trees of
directories (see rowtocol cat --help), verify checks all outputs. In a tree it
also reports files and directories that belong to no output. If verify finds a
difference, the exit code is 6.

With --against, verify also decodes the inputs with an independent library, and
compares every row with the row from the columns. The library is goavro, or
hamba/avro for rows that goavro cannot decode or that convert --schema resolved.
If verify finds damage in the columns, it ends without this comparison. For an
output with increments, or for a tree, give the inputs of all outputs. There are
sound Avro files that neither library can decode: verify counts the rows that
neither can decode, and reports them as not compared. verify also names files in
INPUT that the output was not made from, even hidden files and files that are
not Avro.

Before you delete inputs, run verify with --require-complete. The exit code is
then also 6 if rows were not compared, if INPUT has files that the output was
not made from, if the output lacks damaged ranges that --on-damage left out, if
it lacks fields, if values have another meaning than in INPUT, or if values are
not exact (rounded, replaced by an enum's default, or changed by --invalid-utf8
replace). Without --require-complete, verify reports these cases, and they do
not change the exit code.`

// verifyCommand is rowtocol verify.
type verifyCommand struct {
	*app
	against  []string
	complete bool
	maxBlock cli.ByteSize
}

// verifySuffix ends the name of the job, which is that of convert for the same DEST.
const verifySuffix = "-verify"

func newVerifyCommand(a *app) *cobra.Command {
	f := &verifyCommand{app: a, maxBlock: 512 << 20}
	cmd := &cobra.Command{
		Use:   "verify FILE|DIR...",
		Short: "Check every block, checksum and count; compare with the inputs",
		Long:  verifyLong,
		Example: `  rowtocol verify mail.columns
  rowtocol verify mail.columns --against mail-1.avro --against mail-2.avro
  rowtocol verify mail.columns/part-00000-0-*.trv`,
		Args:        a.Takes(cobra.MinimumNArgs(1)),
		Annotations: map[string]string{cli.JobSuffix: verifySuffix},
		RunE:        func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args) },
	}
	a.Begins(cmd, func(names []string) error {
		f.Run.Dest = store.Showable(names[0])
		f.Watchers.JobName = cmp.Or(f.Watchers.JobName, f.Run.Dest+verifySuffix)
		f.LogStart("dest", f.Run.Dest, cli.InputsAttr(names), "against", cli.Shown(f.against))
		return nil
	})
	cmd.Flags().StringArrayVar(&f.against, "against", nil, "compare with this `INPUT`, row by row: a file, directory or pattern; repeatable")
	cmd.Flags().BoolVar(&f.complete, "require-complete", false, "also end with exit code 6 if a row was not compared, or if the output lacks or changed anything that is in the inputs of --against")
	cmd.Flags().Var(&f.maxBlock, "max-input-block", "limit for a decompressed block of an input")
	a.Watchers.AddMetrics(cmd.Flags())
	return cmd
}

// verified is the result of verify in the final JSON object.
type verified struct {
	*cli.Figures
	Path       string          `json:"path"`
	Files      int             `json:"files"`
	Bytes      int64           `json:"bytes"`
	Rows       int64           `json:"rows"`
	Holds      string          `json:"holds,omitempty"` // what a Bloom file or delta file holds
	Indexes    int             `json:"indexes"`         // key indexes, each of one output
	Damage     []*cli.Reported `json:"damage"`          // in file order
	Unverified []string        `json:"unverified"`      // files whose blocks have no valid checksum
	Against    *witness.Result `json:"against,omitempty"`
	// Complete is set if every row was compared, and the output lacks nothing of the files of
	// --against.
	Complete *bool `json:"complete,omitempty"`
	// NotContained lists files of --against that the output does not hold. NotNamed lists
	// files that the output was made from and that --against does not name.
	NotContained []input.Skipped `json:"not_contained,omitempty"`
	NotNamed     []string        `json:"not_named,omitempty"`
	Losses       []manifest.Loss `json:"losses,omitempty"` // losses that --on-damage allowed
	// LeftOut lists fields of --against that the output lacks. Changed lists places where
	// values mean something else in the output. Inexact counts values that the output does
	// not hold exactly.
	LeftOut []manifest.LeftOut `json:"left_out,omitempty"`
	Changed []string           `json:"changed,omitempty"`
	Inexact shred.Inexact      `json:"inexact,omitzero"`

	sorted bool // the files store whole rows, sorted by key
}

func (f *verifyCommand) execute(ctx context.Context, names []string) error {
	switch {
	case f.maxBlock == 0:
		return cli.Usagef("--max-input-block must be more than 0")
	//guard: refuses to call a comparison complete without inputs
	case f.complete && len(f.against) == 0:
		return cli.Usagef("--require-complete needs --against")
	}
	if err := f.StartTelling(ctx, names[0], f.against); err != nil {
		return err
	}
	l, err := f.list(ctx, names)
	if d := (*damage.Error)(nil); errors.As(err, &d) && d.Kind == damage.Unsupported {
		return err // exit code 6 would be wrong for an output of a newer version
	}
	if err != nil {
		return columnsDiffer(err)
	}
	r := &verified{Figures: &f.Figures, Path: l.Path, Damage: []*cli.Reported{}, Unverified: []string{}}
	f.Result = r
	found, err := f.verifyFiles(ctx, l, r)
	if err != nil {
		return err
	}
	indexes, err := f.verifyIndexes(ctx, l, r, len(found) == 0)
	if err != nil {
		return err
	}
	f.Run.Files, f.Run.Rows, f.Run.Bytes = r.Files, r.Rows, r.Bytes
	stray, err := strays(ctx, l)
	if err != nil {
		return err
	}
	found = slices.Concat(found, indexes, stray)
	f.Run.Differences = int64(len(found))
	for _, d := range found {
		r.Damage = append(r.Damage, cli.Describe(d))
		if !f.JSON {
			f.Printf("%v\n", d)
		}
	}
	for _, name := range r.Unverified {
		f.Log.Warn("the file's blocks have no valid checksum, so damage in them may go unnoticed", "file", name)
	}
	r.Losses = l.Losses()
	listFirst(f.app, "the output was made without a damaged range of an input", r.Losses, func(l manifest.Loss) []any {
		return []any{"input", l.Input, "start", l.Start, "end", l.End, "rows", l.Rows, "reason", l.Reason}
	})
	if len(found) > 0 {
		return failure.New(failure.Different, "%s: %s, the first: %w", l.Path, cli.Plural(len(found), "difference"), found[0])
	}
	f.Summary("%s: sound: %s, %s, %s%s\n", r.Path, cli.Plural(r.Files, "file"), cli.Plural(r.Rows, "row"), cli.Human(r.Bytes), withIndexes(r.Indexes))
	if r.Holds != "" {
		f.Summary("  holds %s\n", r.Holds)
	}
	if len(f.against) == 0 {
		return nil
	}
	return f.verifyAgainst(ctx, l, r)
}

// verifyFiles checks all files with the workers of the run. found lists the defects of the
// files in order. err is the error that stopped the work.
func (f *verifyCommand) verifyFiles(ctx context.Context, l *dataset.Listing, r *verified) (found []error, err error) {
	p, stop := f.StartProgress(ctx)
	defer stop()
	var total int64
	var done, rows atomic.Int64
	for _, p := range l.Parts {
		total += p.Bytes
	}
	checks, err := f.checkAll(ctx, len(l.Parts), func(ctx context.Context, run format.Runner, i int) fileCheck {
		c := f.check(ctx, run, l, &l.Parts[i])
		if !c.refused() {
			p.Set(rows.Add(c.rows), done.Add(c.bytes), total)
		}
		return c
	})
	if err != nil {
		return nil, err
	}
	for i, check := range checks {
		found = append(found, check.found...)
		r.Files, r.Bytes, r.Rows = r.Files+len(l.Parts[i].Files), r.Bytes+check.bytes, r.Rows+check.rows
		r.sorted = r.sorted || check.sorted
		if len(checks) == 1 {
			r.Holds = check.holds
		}
		if check.unverified {
			r.Unverified = append(r.Unverified, l.Parts[i].Name)
		}
	}
	return found, nil
}

// checkAll calls check for 0 to n-1 with the workers of the run. A check for which there was no
// memory next to others is repeated alone, without a Runner. checkAll returns the error that
// stopped the first check.
func (f *verifyCommand) checkAll(ctx context.Context, n int, check func(ctx context.Context, run format.Runner, i int) fileCheck) ([]fileCheck, error) {
	checks, run := make([]fileCheck, n), parallel.NewWorkers(f.Workers).Do
	err := run(ctx, n, func(ctx context.Context, i int) error {
		checks[i] = check(ctx, run, i)
		if checks[i].refused() {
			return nil
		}
		return checks[i].failed
	})
	for i := range checks {
		if err == nil && checks[i].refused() {
			checks[i] = check(ctx, nil, i)
			err = checks[i].failed
		}
	}
	return checks, err
}

// fileCheck is the result of the check of one file.
type fileCheck struct {
	bytes, rows int64
	unverified  bool
	sorted      bool    // the file stores whole rows, sorted by key
	holds       string  // what a Bloom file or delta file holds
	found       []error // defects of the file
	failed      error   // error that stopped the check
}

// refused reports whether there was no memory for the check.
func (f *fileCheck) refused() bool { return errors.As(f.failed, new(*budget.Error)) }

// add adds an error about the file's contents to found, and sets failed to the first other
// error.
func (f *fileCheck) add(err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			f.add(e)
		}
		return
	}
	var d *damage.Error
	switch {
	case err == nil:
	case errors.As(err, &d):
		f.found = append(f.found, err)
	case f.failed == nil:
		f.failed = err
	}
}

// check checks the stored bytes of a part's files, and what they mean.
func (f *verifyCommand) check(ctx context.Context, run format.Runner, l *dataset.Listing, part *dataset.Part) fileCheck {
	var both [2]fileCheck
	err := run.Do(ctx, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			both[0] = f.checkStored(ctx, run, part.Files, part.Store, func(name string, err error) error { return l.Lost(ctx, part, name, err) })
		} else {
			both[1] = checkRows(ctx, run, l, part)
		}
		return both[i].failed
	})
	c := both[1]
	c.bytes, c.found, c.failed = both[0].bytes, slices.Concat(both[0].found, c.found), err
	return c
}

// checkRows checks the contents of a part.
func checkRows(ctx context.Context, run format.Runner, l *dataset.Listing, part *dataset.Part) (f fileCheck) {
	p, err := l.Open(ctx, part)
	if err != nil {
		f.add(l.Lost(ctx, part, part.Name, err))
		return f
	}
	defer p.Close()
	f.rows = p.Rows()
	err = p.Verify(ctx, run)
	if errors.As(err, new(*budget.Error)) {
		err = fmt.Errorf("%s: %w", part.Name, err)
	}
	f.add(l.Lost(ctx, part, part.Name, err))
	f.unverified = p.Unverified()
	_, f.sorted = p.Part.(format.RowPart)
	if h, ok := p.Part.(format.Holder); ok {
		f.holds = h.Contents()
	}
	if part.Output >= 0 {
		f.add(checkSchema(part, p.Schema(), l.Outputs[part.Output].Schema()))
	}
	//guard: rejects a manifest that contradicts its files
	if part.Rows >= 0 && f.rows != part.Rows {
		f.add(damage.New(damage.Count, part.Name, -1, "the file has %d rows, _SUCCESS says %d", f.rows, part.Rows))
	}
	return f
}

// checkSchema compares the schema in a part with the schema in the manifest. A part may have no
// schema if its format does not store it.
func checkSchema(part *dataset.Part, found, listed string) error {
	if found == "" || found == listed {
		return nil
	}
	was, err := shred.ParseSchema(found)
	if err != nil {
		return in(part.Name, err)
	}
	of, err := shred.ParseSchema(listed)
	//guard: rejects a manifest with another schema than the rows
	if err != nil || !was.Same(of) {
		return damage.New(damage.Schema, part.Name, -1, "the file has another schema than _SUCCESS")
	}
	return nil
}

// checkStored compares the stored bytes of files with _SUCCESS. lost returns the error to report
// for a file that cannot be read.
func (f *verifyCommand) checkStored(ctx context.Context, run format.Runner, files []dataset.File, st store.Store, lost func(name string, err error) error) (c fileCheck) {
	sizes := make([]int64, len(files))
	found, err := run.Check(ctx, len(files), func(ctx context.Context, i int) (err error) {
		memory := f.Pool.NewHeap()
		defer memory.Close()
		if err := memory.Reserve(min(files[i].Bytes, store.SumBuffer)); err != nil {
			return fmt.Errorf("%s: %w", files[i].Name, err)
		}
		sizes[i], err = checkSum(ctx, st, &files[i])
		return lost(files[i].Name, err)
	})
	for i := range files {
		c.bytes += sizes[i]
		c.add(found[i])
	}
	c.failed = err
	return c
}

// checkSum compares a file's stored bytes with the size and the checksum in the manifest, if
// it has them.
func checkSum(ctx context.Context, st store.Store, f *dataset.File) (size int64, err error) {
	if f.Entry == nil {
		return f.Bytes, nil
	}
	size, crc, err := store.Sum(ctx, st, f.Name, f.Bytes)
	switch {
	case err != nil:
		return 0, err
	//guard: rejects a file of another size
	case size != f.Bytes:
		return size, damage.New(damage.Size, f.Name, min(size, f.Bytes), "the file has %d bytes, _SUCCESS says %d", size, f.Bytes)
	//guard: rejects a file with another checksum
	case crc != f.Entry.CRC32C:
		return size, damage.New(damage.Checksum, f.Name, -1, "the stored bytes have the CRC-32C %08x, _SUCCESS says %08x", crc, f.Entry.CRC32C)
	}
	return size, nil
}

// strays finds column files that no manifest lists, which Hadoop's input format would read
// as part of the data, and files next to the partition directories of a tree, which no
// reader takes.
func strays(ctx context.Context, l *dataset.Listing) (found []error, err error) {
	for _, name := range l.Strays {
		found = append(found, damage.New(damage.Trailing, name, -1, "it lies among directories named key=value, but is not one of them"))
	}
	parts := l.Parts
	for i := range l.Outputs {
		for len(parts) > 0 && parts[0].Output < i {
			parts = parts[1:]
		}
		n := 0
		for n < len(parts) && parts[n].Output == i {
			n++
		}
		inRun, err := straysOf(ctx, &l.Outputs[i], parts[:n])
		if err != nil {
			return nil, err
		}
		found = append(found, inRun...)
	}
	if len(found) == 0 {
		return nil, nil
	}
	//guard: fails if the output was replaced during the check
	if err := l.Unchanged(ctx); err != nil {
		return nil, err
	}
	return found, nil
}

// straysOf finds the strays of an output.
func straysOf(ctx context.Context, out *dataset.Output, parts []dataset.Part) (found []error, err error) {
	known := map[string]bool{}
	for _, p := range parts {
		known[p.Name] = true
		for _, f := range p.Files {
			known[f.Name] = true
		}
	}
	kept, err := publish.KeptIn(ctx, store.Location{Store: out.Store, Path: out.Path})
	if err != nil {
		return nil, err
	}
	look := func(dir string, isPart func(info store.Info) bool) error {
		infos, err := out.Store.List(ctx, dir)
		if err != nil {
			return err
		}
		for _, info := range infos {
			id, _ := manifest.OutputID(info.Name)
			//guard: rejects a part that is not listed
			if isPart(info) && !store.Hidden(info.Name) && !known[info.Path] && !kept[id] {
				found = append(found, damage.New(damage.Trailing, info.Path, -1, "the file is not one that _SUCCESS lists"))
			}
		}
		return nil
	}
	if err := look(out.Path, func(i store.Info) bool { return !i.Dir || formats.OfName(i.Name) != nil }); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Name == p.Files[0].Name {
			continue // not a directory
		}
		if err := look(p.Name, func(store.Info) bool { return true }); err != nil && !store.Absent(err) { // a missing part is already found
			return nil, err
		}
	}
	return found, nil
}
