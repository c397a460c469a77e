package arrow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/arrow"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// mailColumns converts so many messages and returns where their columns are.
func mailColumns(base string, rows int64) string {
	f, err := os.Create(filepath.Join(base, "mail.avro"))
	if err != nil {
		log.Fatal(err)
	}
	if err := mailgen.Write(f, mailgen.Options{Rows: rows, Seed: 1}); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	dir := filepath.Join(base, "mail.columns")
	r := request(trevni.Format, nil, f.Name(), dir, base)
	r.Output.RowGroupSize = 64 << 20
	if _, err := job.Convert(context.Background(), r); err != nil {
		log.Fatal(err)
	}
	return dir
}

// Record batches of two columns, added up and written as a Parquet file.
func Example() {
	base, err := os.MkdirTemp("", "arrow-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(base) }()
	dir := mailColumns(base, 1000)

	ctx := context.Background()
	d, err := dataset.Open(ctx, []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := d.Batches(ctx, dataset.Query{Columns: []string{"id", "size"}, Limit: -1, BatchRows: arrow.BatchRows})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	records, err := arrow.NewRecords(b, arrow.Structs, memory.DefaultAllocator)
	if err != nil {
		log.Fatal(err)
	}
	out, err := arrow.NewParquet(io.Discard, records.Schema(), "zstandard", nil)
	if err != nil {
		log.Fatal(err)
	}
	var sum int64
	for {
		r, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		sizes := r.Column(1).(*array.Int32)
		for i := range sizes.Len() {
			if sizes.IsValid(i) {
				sum += int64(sizes.Value(i))
			}
		}
		err = out.Write(r)
		r.Release()
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum, "bytes")
	// Output: 558988 bytes
}
