package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
)

const countLong = `Print the number of rows of column files, outputs and Avro files. With --where,
the command counts only rows that meet the condition, and reads only the columns
of the condition (see rowtocol help conditions).

Without a condition, count reads only _SUCCESS and the headers of files, and in
Avro files the start of each block. It decompresses nothing, and does not notice
damage inside blocks. To check everything, use rowtocol verify.`

const countExample = `  rowtocol count mail.columns
  rowtocol count --where 'size > 1000' mail.columns
  rowtocol count mail-*.avro`

// counted is the result of count in the final JSON object.
type counted struct {
	Rows      int64  `json:"rows"`                 // rows that meet the condition
	TotalRows *int64 `json:"total_rows,omitempty"` // rows of the inputs, if known
	BytesRead int64  `json:"bytes_read"`
}

// countCommand is rowtocol count.
type countCommand struct{ catCommand }

func newCountCommand(a *app) *cobra.Command {
	c := &countCommand{catCommand{app: a}}
	cmd := &cobra.Command{
		Use:     "count FILE|DIR|-...",
		Short:   "Print the number of rows, or of those that a condition selects",
		Long:    countLong,
		Example: countExample,
		Args:    a.Takes(cobra.MinimumNArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.execute(cmd.Context(), args) },
	}
	c.addCondition(cmd.Flags())
	return cmd
}

func (c *countCommand) execute(ctx context.Context, names []string) error {
	c.EndWithReader()
	in, err := c.openData(ctx, names)
	if err != nil {
		return err
	}
	s, err := in.data.Count(ctx, dataset.Query{Where: c.query.Where, Workers: c.Workers})
	if err != nil {
		return err
	}
	in.stats = s
	c.Result = counted{s.Rows, in.total(), s.BytesRead}
	if !c.JSON {
		c.Printf("%d\n", s.Rows)
	}
	return nil
}
