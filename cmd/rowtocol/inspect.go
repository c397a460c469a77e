package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const inspectLong = `Show the header of a column file and a table of its columns; of a directory, the
sums over all files of the output.

The number of values in a column of lists or of optional values is known only
by reading its lengths. That is done for a file; of a directory only with
--count, because it reads most of the data.`

func (a *app) inspectCommand() *cobra.Command {
	var dump, count bool
	var order string
	cmd := &cobra.Command{
		Use:   "inspect FILE|DIR",
		Short: "Show header, columns, blocks and sizes",
		Long:  inspectLong,
		Example: `  rowtocol inspect mail.columns
  rowtocol inspect --sort stored mail.columns/part-00000.trv
  rowtocol inspect --bytes mail.columns/part-00000.trv | less`,
		Args: a.takes(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if order != "file" && order != "stored" && order != "name" {
				return usagef("--sort: %q is not one of file, stored, name", order)
			}
			l, err := a.list(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dump {
				return a.dump(cmd.Context(), l)
			}
			return a.inspect(cmd.Context(), l, count || !l.Dir, order)
		},
	}
	cmd.Flags().BoolVar(&dump, "bytes", false, "print every byte of a file with its meaning")
	cmd.Flags().BoolVar(&count, "count", false, "count the values of a directory's columns too")
	cmd.Flags().StringVar(&order, "sort", "file", "`order` of the columns: file, stored (largest first) or name")
	complete(cmd, "sort", "file", "stored", "name")
	return cmd
}

func (a *app) dump(ctx context.Context, l *dataset.Listing) error {
	if l.Dir {
		return usagef("--bytes takes one file, %s is a directory", l.Path)
	}
	if a.json {
		return usagef("--bytes has no --json form")
	}
	f, in, err := dataset.OpenFile(ctx, l.Store, l.Path)
	if err != nil {
		return err
	}
	return errors.Join(f.Dump(a.out), in.Close())
}

// inspected is the result of inspect in the final JSON object.
type inspected struct {
	Path     string          `json:"path"`
	Files    int             `json:"files"`
	Bytes    int64           `json:"bytes"`
	Rows     int64           `json:"rows"`
	Version  int             `json:"version"`
	Metadata []metadataEntry `json:"metadata"`
	Columns  []columnStats   `json:"columns"`
}

type metadataEntry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Hex   bool   `json:"hex,omitempty"` // value is hexadecimal: it is not text
}

// columnStats are the sums of one column over the files.
type columnStats struct {
	columnEntry
	Codec      string `json:"codec"`
	Checksum   string `json:"checksum"`
	ValueIndex bool   `json:"values_index"`
	Values     *int64 `json:"values"` // null: not counted
	Blocks     int64  `json:"blocks"`
	Raw        int64  `json:"raw_bytes"`
	Stored     int64  `json:"stored_bytes"`
	number     int
	column     column.Column
}

func (a *app) inspect(ctx context.Context, l *dataset.Listing, count bool, order string) error {
	r := &inspected{Path: l.Path, Columns: []columnStats{}, Metadata: []metadataEntry{}}
	p, stop := a.startProgress(ctx)
	defer stop()
	var damaged error
	for i, part := range l.Parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := r.addFile(ctx, l.Store, part.Name, count)
		if d := (*damage.Error)(nil); err != nil && (!errors.As(err, &d) || len(r.Columns) == 0) {
			return err
		}
		damaged = errors.Join(damaged, err)
		p.set(r.Rows, int64(i+1), int64(len(l.Parts)))
	}
	stop()
	switch order {
	case "stored":
		slices.SortStableFunc(r.Columns, func(x, y columnStats) int { return int(min(max(y.Stored-x.Stored, -1), 1)) })
	case "name":
		slices.SortStableFunc(r.Columns, func(x, y columnStats) int { return compareNames(x.Name, y.Name) })
	}
	a.result = r
	if !a.json {
		a.printInspected(r)
	}
	return damaged
}

func compareNames(x, y string) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// addFile adds a file's figures. After damage the figures that could be had
// are kept.
func (r *inspected) addFile(ctx context.Context, st store.Store, name string, count bool) error {
	f, in, err := dataset.OpenFile(ctx, st, name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	cols := f.Columns()
	if r.Files == 0 {
		r.start(f)
	}
	if len(cols) != len(r.Columns) {
		return damage.New(damage.Header, name, -1, "the file has %d columns, the files before it %d", len(cols), len(r.Columns))
	}
	r.Files, r.Bytes, r.Rows = r.Files+1, r.Bytes+f.Size(), r.Rows+f.RowCount()
	counts, damaged := countValues(ctx, f, count)
	for i := range cols {
		s := &r.Columns[i]
		if s.Name != cols[i].Name {
			return damage.New(damage.Header, name, -1, "column %d is %q, in the files before it %q", i, cols[i].Name, s.Name)
		}
		blocks, err := f.Blocks(i)
		damaged = errors.Join(damaged, err)
		s.Blocks += int64(len(blocks))
		for _, b := range blocks {
			s.Raw, s.Stored = s.Raw+b.RawSize, s.Stored+b.StoredSize
		}
		if counts[i] < 0 || s.Values == nil {
			s.Values = nil
		} else {
			*s.Values += counts[i]
		}
	}
	return damaged
}

// start takes from the first file what all files share.
func (r *inspected) start(f *trevni.File) {
	r.Version = int(f.Version())
	for _, kv := range f.Meta() {
		m := metadataEntry{Key: kv.Key, Value: string(kv.Value)}
		if !utf8.Valid(kv.Value) || kv.Key == trevni.TableCRCKey {
			m.Value, m.Hex = fmt.Sprintf("%x", kv.Value), true
		}
		r.Metadata = append(r.Metadata, m)
	}
	cols := plain(f.Columns())
	for i, c := range f.Columns() {
		r.Columns = append(r.Columns, columnStats{
			columnEntry: entry(cols, i), Codec: c.Codec, Checksum: c.Checksum, ValueIndex: c.Values,
			Values: new(int64), number: i, column: cols[i],
		})
	}
}

// countValues returns the number of values of each column, -1 where it is not
// known: below the top it needs the lengths, which are read only with count.
func countValues(ctx context.Context, f *trevni.File, count bool) (counts []int64, damaged error) {
	cols := f.Columns()
	counts = make([]int64, len(cols))
	for i, c := range cols {
		n := f.RowCount()
		if c.Parent >= 0 {
			n = counts[c.Parent]
		}
		if c.Array && n >= 0 {
			counts[i] = -1
			if count {
				total, err := sumLengths(ctx, f, i, n)
				if counts[i] = total; err != nil {
					counts[i], damaged = -1, errors.Join(damaged, err)
				}
			}
		} else {
			counts[i] = n
		}
	}
	return counts, damaged
}

// sumLengths adds up the n lengths of an array column.
func sumLengths(ctx context.Context, f *trevni.File, col int, n int64) (int64, error) {
	cursor, err := f.Cursor(col)
	if err != nil {
		return 0, err
	}
	var total int64
	for i := range n {
		if i%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		length, err := cursor.Length()
		if err != nil {
			return 0, err
		}
		total += int64(length)
	}
	return total, nil
}

// barWidth is the width of the bar of a column's share, in characters.
const barWidth = 12

func (a *app) printInspected(r *inspected) {
	a.printf("%s: %d rows, %d columns, %s", r.Path, r.Rows, len(r.Columns), human(r.Bytes))
	if r.Files != 1 {
		a.printf(" in %d files", r.Files)
	}
	a.printf(", Trevni version %d\n", r.Version)
	for _, m := range r.Metadata {
		value := printable(m.Value)
		if m.Key == trevni.SchemaKey {
			value = fmt.Sprintf("%d bytes (rowtocol schema prints it)", len(m.Value))
		}
		a.printf("  %s = %s\n", printable(m.Key), shorten(value, 100))
	}
	a.printf("\n")
	var total columnStats
	for _, s := range r.Columns {
		total.Blocks, total.Raw, total.Stored = total.Blocks+s.Blocks, total.Raw+s.Raw, total.Stored+s.Stored
	}
	t := newTable("#>", "name", "type", "parent>", "values>", "blocks>", "raw>", "stored>", "ratio>", "share")
	for _, s := range r.Columns {
		values := "?"
		if s.Values != nil {
			values = fmt.Sprint(*s.Values)
		}
		t.add(fmt.Sprint(s.number), printable(s.Name), typeName(s.column), parentNumber(s.column), values,
			fmt.Sprint(s.Blocks), human(s.Raw), human(s.Stored), ratio(s.Raw, s.Stored),
			bar(float64(s.Stored)/float64(max(total.Stored, 1)), barWidth))
	}
	t.add("", "total", "", "", "", fmt.Sprint(total.Blocks), human(total.Raw), human(total.Stored), ratio(total.Raw, total.Stored), "")
	t.print(a.out, 1, a.width())
}

func ratio(raw, stored int64) string {
	if stored == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(raw)/float64(stored))
}
