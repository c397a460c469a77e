package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/inspect"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const schemaLong = `Print the Avro schema of an Avro file, a column file or an output. For several
arguments, patterns and trees of directories, print the schema of the rows that
rowtocol cat prints for them, with the keys of the directories as fields. The
argument - is an Avro file on standard input.

With --shredded, print the columns that convert makes of the schema.`

// schemaCommand is rowtocol schema.
type schemaCommand struct {
	*app
	shredded  bool
	recursive string
}

func newSchemaCommand(a *app) *cobra.Command {
	c := &schemaCommand{app: a}
	cmd := &cobra.Command{
		Use:   "schema FILE|DIR|-...",
		Short: "Print the Avro schema of a file, or its columns",
		Long:  schemaLong,
		Example: `  rowtocol schema mail.avro
  rowtocol schema --shredded mail.avro
  rowtocol schema mail.columns/part-00000-0-*.trv`,
		Args: a.Takes(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.execute(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.shredded, "shredded", false, "print the columns instead of the schema")
	cmd.Flags().StringVar(&c.recursive, "recursive", "", "show the recursive part of a schema as one column of `bytes`")
	return cmd
}

func (c *schemaCommand) execute(ctx context.Context, args []string) error {
	if err := checkRecursive(c.recursive); err != nil {
		return err
	}
	text, cols, err := c.read(ctx, args)
	if err != nil {
		return err
	}
	if !c.shredded {
		return c.print(strings.Join(args, " "), text)
	}
	if cols == nil {
		if cols, err = c.columnsOf(args[0], text); err != nil {
			return err
		}
	}
	c.printColumns(cols)
	return nil
}

// read returns the schema of rows, and for column files also their columns.
func (c *schemaCommand) read(ctx context.Context, names []string) (text string, cols []column.Column, err error) {
	if len(names) == 1 {
		f, err := c.openAvro(ctx, names[0])
		if err != nil {
			return "", nil, err
		}
		if f != nil {
			f.close()
			return f.Header().Schema, nil, nil
		}
	}
	o := dataset.Options{Formats: formats, Memory: c.Pool}
	at, err := c.resolveInputs(ctx, names, &o)
	if err != nil {
		return "", nil, err
	}
	l, err := dataset.List(ctx, at, o)
	if err != nil {
		return "", nil, err
	}
	if l.Dir {
		return schemaOfRows(ctx, l)
	}
	part := &l.Parts[0]
	p, err := l.Open(ctx, part)
	if err != nil {
		return "", nil, fmt.Errorf("%w (nor is it an Avro object container file)", err)
	}
	defer p.Close()
	if _, ok := p.Part.(format.RowPart); ok {
		return p.Schema(), nil, nil // the file's columns are not the columns of rows
	}
	if cols = p.Meanings(); cols == nil {
		for _, c := range p.Columns() {
			cols = append(cols, c.Column)
		}
	}
	return p.Schema(), cols, nil
}

// schemaOfRows returns the schema and the columns of all rows.
func schemaOfRows(ctx context.Context, l *dataset.Listing) (text string, cols []column.Column, err error) {
	d, err := l.Dataset(ctx)
	if err != nil {
		return "", nil, err
	}
	rows, err := d.Scan(ctx, dataset.Query{})
	if err != nil {
		return "", nil, err
	}
	defer rows.Close()
	if rows.Schema() == nil {
		return "", nil, damage.New(damage.Schema, l.Path, -1, "the output has no row group, and so no schema")
	}
	return rows.Schema().JSON(), d.Mapping().Columns, nil
}

func (c *schemaCommand) print(name, text string) error {
	if text == "" {
		return damage.New(damage.Schema, name, -1, "the file holds no avro.schema; --shredded prints its columns")
	}
	if !json.Valid([]byte(text)) {
		// Some old files have a type name without quotes.
		c.Result = map[string]any{"schema": text}
	} else {
		c.Result = map[string]any{"schema": json.RawMessage(text)}
	}
	if c.JSON {
		return nil
	}
	_, err := fmt.Fprintln(c.Out, inspect.Indented(text))
	return err
}

// columnsOf maps a schema to columns as convert would.
func (c *schemaCommand) columnsOf(name, text string) ([]column.Column, error) {
	schema, err := shred.ParseSchema(text)
	if err != nil {
		return nil, in(name, err)
	}
	c.Warn(schema.Warnings())
	m, err := shred.Map(schema, shred.Options{RecursiveBytes: c.recursive == "bytes", Memory: c.Pool.NewHeap()})
	if err != nil {
		if _, again := shred.Map(schema, shred.Options{RecursiveBytes: true, Memory: c.Pool.NewHeap()}); again == nil {
			err = fmt.Errorf("%w; --recursive bytes keeps that part as one column of bytes", err)
		}
		return nil, in(name, err)
	}
	return m.Columns, nil
}

// in adds the file name to an error of a schema.
func in(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

// columnEntry is a column in JSON.
type columnEntry struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Logical is the name of the type in the schema, if that is another name.
	Logical string `json:"logical,omitempty"`
	Array   bool   `json:"array"`
	Parent  string `json:"parent,omitempty"`
}

func entry(cols []column.Column, i int) columnEntry {
	e := columnEntry{Name: cols[i].Name, Type: cols[i].Type.String(), Logical: cols[i].Meaning(), Array: cols[i].Array}
	if p := cols[i].Parent; p >= 0 {
		e.Parent = cols[p].Name
	}
	return e
}

func (c *schemaCommand) printColumns(cols []column.Column) {
	entries := make([]columnEntry, len(cols))
	t := cli.NewTable("#>", "name", "type", "stored as", "parent>")
	t.Spare(3, 4, 0) // first stored types, then parents, then numbers
	for i := range cols {
		entries[i] = entry(cols, i)
		c := &cols[i]
		t.Add(fmt.Sprint(i), c.Name, c.SchemaType(), c.TypeName(), parentNumber(c.Parent))
	}
	c.Result = map[string]any{"columns": entries}
	if !c.JSON {
		t.Print(c.Out, 1, c.Width())
	}
}

// parentNumber returns the number of a parent as text. Tables show the number, because names
// may be long.
func parentNumber(parent int) string {
	if parent < 0 {
		return "-"
	}
	return fmt.Sprint(parent)
}
