// Scan writes the rows of a table, as iceberg-go reads them, to standard output as an Arrow
// stream. The tests of the programs compare them.
//
//	scan KIND URI WAREHOUSE TABLE
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go/catalog"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/files"
	"github.com/rowtocol/rowtocol/store"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: scan KIND URI WAREHOUSE TABLE")
		os.Exit(1)
	}
	o := catalogs.Options{Kind: os.Args[1], Name: "default", URI: os.Args[2], Warehouse: os.Args[3]}
	if err := scan(context.Background(), o, os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "scan:", err)
		os.Exit(1)
	}
}

func scan(ctx context.Context, o catalogs.Options, name string) (err error) {
	files.Use(store.Resolve)
	c, err := catalogs.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // only read
	t, err := c.LoadTable(ctx, catalog.ToIdentifier(name))
	if err != nil {
		return err
	}
	rows, err := t.Scan().ToArrowTable(ctx)
	if err != nil {
		return err
	}
	defer rows.Release()
	w := ipc.NewWriter(os.Stdout, ipc.WithSchema(rows.Schema()))
	defer func() { err = errors.Join(err, w.Close()) }()
	batches := array.NewTableReader(rows, 0)
	defer batches.Release()
	for batches.Next() {
		if err := w.Write(batches.RecordBatch()); err != nil {
			return err
		}
	}
	return batches.Err()
}
