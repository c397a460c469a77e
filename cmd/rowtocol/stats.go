package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/stats"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const statsLong = `Print figures about each column: the numbers of values, of nulls and of distinct
values; the least, the largest and the mean value; the lengths of texts in
bytes, and of lists and maps in items; and the number of NaNs.

Enums are compared by symbol, dates and decimals by value. The number of
distinct values is an estimate. It is nearly exact up to a few thousand, and
above that mostly within 2 %. On a narrow terminal stats leaves out some
figures. Elsewhere, and with --json, it prints all of them.

stats reads only the columns that --columns names. With --where it also reads
the columns of the condition, and reads the other columns only where rows match.`

const statsExample = `  rowtocol stats mail.columns
  rowtocol stats --columns size,folder --where 'size > 1000' mail.columns
  rowtocol stats --json mail.avro | jq '.result.columns[] | {name, distinct}'`

// summed is the result of stats in the final JSON object.
type summed struct {
	Rows      int64          `json:"rows"` // rows that meet the condition
	BytesRead int64          `json:"bytes_read"`
	Columns   []stats.Column `json:"columns"`
}

// statsCommand is rowtocol stats.
type statsCommand struct{ catCommand }

func newStatsCommand(a *app) *cobra.Command {
	c := &statsCommand{catCommand{app: a}}
	cmd := &cobra.Command{
		Use:     "stats FILE|DIR|-...",
		Short:   "Sum up each column: nulls, distinct values, extremes, lengths",
		Long:    statsLong,
		Example: statsExample,
		Args:    a.Takes(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.execute(cmd.Context(), args) },
	}
	c.addChoice(cmd)
	return cmd
}

func (c *statsCommand) execute(ctx context.Context, names []string) error {
	c.EndWithReader()
	c.query.Limit = -1
	in, err := c.openInput(ctx, names)
	if err != nil {
		return err
	}
	defer in.close()
	r := &summed{Columns: []stats.Column{}}
	if in.schema != nil {
		if err := c.sumUp(ctx, in, r); err != nil {
			return err
		}
	}
	c.Result = r
	if !c.JSON {
		c.printSummed(r)
	}
	return nil
}

func (c *statsCommand) sumUp(ctx context.Context, in *catInput, r *summed) error {
	p, stop := c.StartProgress(ctx)
	defer stop()
	columns, read, err := stats.Collect(ctx, in.plan, c.Pool, func(s dataset.Stats) { p.Set(s.Rows, s.BytesRead, 0) })
	c.tellInexact(read.Inexact)
	r.Rows, r.BytesRead = read.Rows, read.BytesRead
	if columns != nil {
		r.Columns = columns
	}
	return err
}

// shownValue is the width of the least and the largest value on a terminal.
const shownValue = 14

func (c *statsCommand) printSummed(r *summed) {
	c.Printf("%s\n\n", cli.Plural(r.Rows, "row"))
	width := c.Width()
	value := func(v any) string {
		if width == 0 {
			return text(v)
		}
		return cli.Shorten(cli.Printable(text(v)), shownValue)
	}
	t := cli.NewTable("column", "type", "values>", "nulls>", "distinct>", "min", "max", "mean>", "length>", "items>", "NaN>")
	t.Spare(10, 9, 8, 7, 1)
	for i := range r.Columns {
		c := &r.Columns[i]
		t.Add(c.Name, c.Type, fmt.Sprint(c.Values), fmt.Sprint(c.Nulls), figure(c.Distinct, number), value(c.Min), value(c.Max),
			figure(c.Mean, mean), figure(c.Length, lengths), figure(c.Items, lengths), figure(c.NaN, number))
	}
	t.Print(c.Out, 0, width)
}

// text returns a value as in JSON, without quotation marks.
func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// figure writes a figure, or "" if there is none.
func figure[T any](f *T, text func(T) string) string {
	if f == nil {
		return ""
	}
	return text(*f)
}

func number(n int64) string { return fmt.Sprint(n) }

func mean(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// lengths returns the least, the mean and the largest length as text.
func lengths(l stats.Lengths) string { return fmt.Sprintf("%d/%.1f/%d", l.Min, l.Mean, l.Max) }
