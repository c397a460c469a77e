package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/inspect"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

const inspectLong = `Show the header of a column file and a table of its columns. For a directory,
show the sums over all files of the output, and the share of each column. For
several arguments, patterns and trees of directories (see rowtocol cat --help),
show the sums over all outputs. With --json, inspect also prints the figures of
each output.

To know the number of values in a column of lists or optional values, inspect
must read the stored lengths. For a file, it always reads them. For a directory
this means reading most of the data, so inspect does it only with --count.

With --bytes, inspect prints every byte of one file, and what the bytes mean.

With --html, inspect writes the figures as one page for a browser, which loads
nothing from elsewhere. The page has a tree of the columns, a table that you can
sort and filter, and the row groups. If inspect meets damage, it writes no page.
inspect replaces an existing file only if the file is empty or begins like such
a page, with <!DOCTYPE html>.

For an Avro file that is the only argument, inspect shows the codec, the blocks
and the metadata. To do so, it reads and decompresses the whole file. The
argument - is an Avro file on standard input.`

func newInspectCommand(a *app) *cobra.Command {
	o := &inspectCommand{app: a}
	cmd := &cobra.Command{
		Use:   "inspect FILE|DIR|-...",
		Short: "Show header, columns, blocks and sizes",
		Long:  inspectLong,
		Example: `  rowtocol inspect mail.columns
  rowtocol inspect --sort stored mail.columns/part-00000-0-*.trv
  rowtocol inspect --html mail.html mail.columns
  rowtocol inspect mail.avro
  rowtocol inspect --bytes mail.columns/part-00000-0-*.trv | less
  rowtocol inspect --bytes mail.cfiles/part-00000-0-*.cfiles/00004.cf | less`,
		Args: a.Takes(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.execute(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&o.dump, "bytes", false, "print all bytes of a file with their meaning")
	cmd.Flags().BoolVar(&o.count, "count", false, "for a directory, also show the number of values in each column")
	cmd.Flags().StringVar(&o.order, "sort", "file", "`order` of the columns: file, stored (largest first) or name")
	cmd.Flags().StringVar(&o.html, "html", "", "write a page for a browser to this `file`, and print no table")
	cli.Complete(cmd, "sort", sortOrders...)
	return cmd
}

func (o *inspectCommand) execute(ctx context.Context, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.html == "" {
		o.EndWithReader()
	}
	if len(args) == 1 {
		f, err := o.openAvro(ctx, args[0])
		if err != nil {
			return err
		}
		if f != nil {
			return o.showAvro(ctx, f)
		}
	}
	for i := range args {
		args[i] = asFile(args[i])
	}
	l, err := o.list(ctx, args)
	if err != nil {
		return err
	}
	if o.dump {
		return o.printBytes(ctx, l)
	}
	o.names = args
	return o.show(ctx, l)
}

func (o *inspectCommand) printBytes(ctx context.Context, l *dataset.Listing) error {
	if l.Dir {
		return cli.Usagef("--bytes takes one file, not a directory or several files: %s", l.Path)
	}
	if o.JSON {
		return cli.Usagef("--bytes has no --json form")
	}
	f, err := l.Open(ctx, &l.Parts[0])
	if err != nil {
		return err
	}
	defer f.Close()
	err = f.Dump(heeding{ctx, o.Out})
	if errors.As(err, new(*budget.Error)) {
		err = in(l.Path, err)
	}
	return err
}

// heeding is a writer that fails after a context has ended.
type heeding struct {
	ctx context.Context
	w   io.Writer
}

func (h heeding) Write(b []byte) (int, error) {
	//guard: stops at a signal before the next write
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	return h.w.Write(b)
}

// inspected is the result of inspect in the final JSON object.
type inspected struct {
	*inspect.Figures
	HTML    string    `json:"html,omitempty"`    // location of the page
	Indexes []indexOf `json:"indexes,omitempty"` // indexes of all outputs
}

var sortOrders = []string{"file", "stored", "name"}

// inspectCommand is rowtocol inspect.
type inspectCommand struct {
	*app
	dump, count bool
	order, html string
	names       []string // arguments of the command line
}

func (o *inspectCommand) check() error {
	if o.dump && o.html != "" {
		return cli.Usagef("--bytes and --html exclude each other")
	}
	if o.html == standardOutput {
		return cli.Usagef("--html: name a file")
	}
	return cli.CheckChoice("sort", o.order, sortOrders)
}

// show prints the figures, or writes them as a page. For a damaged file it prints the
// figures that could be read, but writes no page.
func (o *inspectCommand) show(ctx context.Context, l *dataset.Listing) error {
	var page store.Location
	if o.html != "" {
		var err error
		if page, err = o.pageLocation(ctx, o.html); err != nil {
			return err
		}
		if err := o.checkOutput(ctx, page, o.names); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	p, stop := o.StartProgress(ctx)
	defer stop()
	var done, total int64
	for _, part := range l.Parts {
		total += part.Bytes
	}
	figures, damaged := inspect.Gather(ctx, l, inspect.Options{
		Count: o.count || !l.Dir, Memory: o.Pool.NewHeap(), Workers: o.Workers,
		Progress: func(rows int64, files int) {
			done += l.Parts[files-1].Bytes
			p.Set(rows, done, total)
		},
	})
	stop()
	if figures == nil {
		return damaged
	}
	result := &inspected{Figures: figures}
	for i := range l.Outputs {
		result.Indexes = addIndexes(result.Indexes, l.Outputs[i].IndexFields, l.Outputs[i].Index)
	}
	o.Result = result
	if o.html != "" && damaged == nil {
		if err := o.writePage(ctx, page, figures, o.names); err != nil {
			return err
		}
		result.HTML = o.html
	}
	switch o.order {
	case "stored":
		slices.SortStableFunc(figures.Columns, func(x, y inspect.Column) int { return cmp.Compare(y.Stored, x.Stored) })
	case "name":
		slices.SortStableFunc(figures.Columns, func(x, y inspect.Column) int { return cmp.Compare(x.Name, y.Name) })
	}
	if !o.JSON {
		o.printInspected(result)
	}
	return damaged
}

// pageLocation resolves the location of the page. It refuses an existing file that is
// neither empty nor begins like a page: the user may have named a data file by mistake.
func (o *inspectCommand) pageLocation(ctx context.Context, name string) (store.Location, error) {
	at, err := input.Locate(o.Resolve, name)
	if err != nil {
		return at, err
	}
	old, err := at.Store.Open(ctx, at.Path)
	if errors.Is(err, store.ErrNotExist) {
		return at, nil
	}
	if err != nil {
		return at, err
	}
	defer func() { _ = old.Close() }() // only read
	start := make([]byte, len(inspect.HTMLStart))
	if n, err := old.ReadAt(start, 0); err != nil && !errors.Is(err, io.EOF) {
		return at, err
	} else if n > 0 && string(start[:n]) != inspect.HTMLStart {
		return at, fmt.Errorf("--html: %s is not an HTML page, and is not replaced: %w", name, store.ErrExist)
	}
	return at, nil
}

// writePage writes the page.
func (o *inspectCommand) writePage(ctx context.Context, at store.Location, f *inspect.Figures, names []string) error {
	places := make([]string, len(names))
	for i, name := range names {
		of, err := input.Locate(o.Resolve, name)
		if err != nil {
			return err
		}
		places[i] = of.Origin + of.Path
	}
	var page bytes.Buffer
	if err := f.HTML(&page, strings.Join(places, " ")); err != nil {
		return fmt.Errorf("HTML page: %w", err)
	}
	return at.Store.WriteFile(ctx, at.Path, page.Bytes(), false)
}

// barWidth is the width of the bar of a column's share, in characters.
const barWidth = 12

func (o *inspectCommand) printInspected(r *inspected) {
	facts := fmt.Sprintf("%s, %s, %s", cli.Plural(r.Rows, "row"), cli.Plural(len(r.Columns), "column"), cli.Human(r.Bytes))
	if r.Files != 1 {
		facts += " in " + cli.Plural(r.Files, "file")
	}
	if n := len(r.Datasets); n > 0 {
		facts += " of " + cli.Plural(n, "dataset")
	}
	if r.Format != "" { // it is empty if there are no files
		facts += fmt.Sprintf(", %s version %d", r.Format, r.Version)
	}
	o.printTitled(r.Path, facts)
	if r.Holds != "" {
		o.printIndented("holds " + r.Holds)
	}
	if len(r.Losses) > 0 {
		o.Printf("  LOSSES: not in the output: %s\n", manifest.DescribeLosses(r.Losses))
	}
	if len(r.Indexes) > 0 {
		o.printIndented(indexText(r.Indexes))
	}
	if text := filterText(r.Columns); text != "" {
		o.printIndented(text)
	}
	if r.HTML != "" {
		o.Printf("  drawn in %s\n", r.HTML)
		return
	}
	for i := range r.Metadata {
		o.printMetadata(&r.Metadata[i])
	}
	if len(r.RowGroups) > 1 {
		least, most := cli.Span(r.RowGroups, func(g inspect.RowGroup) int64 { return g.Rows })
		bytes := cli.Between(cli.Span(r.RowGroups, func(g inspect.RowGroup) int64 { return g.Bytes }))
		o.printIndented(fmt.Sprintf("row groups of %s, %s", cli.PluralBetween(least, most, "row"), bytes))
	}
	o.Printf("\n")
	o.printFigures(r)
}

// filterText names the columns with Bloom filters, and their size. It returns "" if there are
// none.
func filterText(columns []inspect.Column) string {
	var names []string
	size := int64(0)
	for i := range columns {
		if c := &columns[i]; c.Filter > 0 {
			names, size = append(names, cli.Printable(c.Name)), size+c.Filter
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Bloom filters of %s: %s", strings.Join(names, ", "), cli.Human(size))
}

// printTitled prints a name, and facts about the named thing, on one line, or on several
// lines if the terminal is too narrow.
func (o *inspectCommand) printTitled(name, facts string) {
	name, width := cli.Printable(name), o.Width()
	if line := name + ": " + facts; width == 0 || cli.TextWidth(line) <= width {
		o.Printf("%s\n", line)
		return
	}
	o.Printf("%s:\n", cli.Shorten(name, width-1))
	o.printIndented(facts)
}

// printIndented prints a text below a title.
func (o *inspectCommand) printIndented(text string) {
	width := o.Width()
	if width == 0 {
		width = math.MaxInt
	}
	for line := range strings.SplitSeq(cli.Wrap(text, width-2, ""), "\n") {
		o.Printf("  %s\n", line)
	}
}

func (o *inspectCommand) printMetadata(m *inspect.Metadata) {
	key, value := cli.Printable(m.Key), cli.Printable(m.Value)
	if m.Schema() {
		value = cli.Plural(len(m.Value), "byte") + " (rowtocol schema prints it)"
	}
	if width := o.Width(); width > 0 {
		const around = len("   = ")
		key = cli.Shorten(key, max(width/2-around, cli.LeastFlexible))
		value = cli.Shorten(value, max(width-around-cli.TextWidth(key), cli.LeastFlexible-1))
	}
	o.Printf("  %s = %s\n", key, value)
}

func (o *inspectCommand) printFigures(r *inspected) {
	// Empty columns take no room.
	headings := []string{"#>", "name", "type", "stored as", "", "", "parent>", "values>", "blocks>", "raw>", "stored>", "ratio>", "share>", ""}
	const number, name, kind, storedAs, encoding, codec, parent, numValues, blocks, raw, rate, share, drawn = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13
	spared := []int{drawn, storedAs, parent, rate, blocks, raw, numValues, number, share, kind}
	native := slices.ContainsFunc(r.Columns, func(c inspect.Column) bool { return c.NativeType != "" })
	if native {
		headings[encoding], headings[codec] = "encoding", "codec"
		spared = []int{drawn, parent, rate, blocks, raw, kind, numValues, codec, number, share, encoding, storedAs}
	}
	t := cli.NewTable(headings...)
	t.Spare(spared...)
	for i := range r.Columns {
		c := &r.Columns[i]
		values := "?"
		if c.Values != nil {
			values = fmt.Sprint(*c.Values)
		}
		codecText := ""
		if native {
			codecText = c.Codec
		}
		t.Add(fmt.Sprint(c.Number), c.Name, c.SchemaType, c.StoredAs, strings.Join(c.Encodings, ", "), codecText, parentNumber(c.ParentNo), values,
			fmt.Sprint(c.Blocks), cli.Human(c.Raw), cli.Human(c.Stored), ratio(c.Raw, c.Stored),
			fmt.Sprintf("%.1f%%", 100*c.Share), cli.Bar(c.Share, barWidth))
	}
	t.Add("", "total", "", "", "", "", "", "", fmt.Sprint(r.Blocks), cli.Human(r.Raw), cli.Human(r.Stored), ratio(r.Raw, r.Stored), "", "")
	t.Print(o.Out, name, o.Width())
}

func ratio(raw, stored int64) string {
	if stored == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(raw)/float64(stored))
}
