package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
)

// parquetCodecs has Parquet's names for those of Avro's codecs that Parquet has too.
var parquetCodecs = map[string]string{"null": "none", "deflate": "gzip", "snappy": "snappy", "zstandard": "zstd"}

// parquetRows writes rows as a Parquet file. It implements export.Writer.
type parquetRows struct {
	in   *catInput
	file *task.RowFile
}

// parquetCopies is about how many times the bytes of a large row the file may need: vectors that
// grow, pages, and pages that are encoded.
const parquetCopies = 8

func (p parquetRows) Write(row []byte) error {
	//guard: frees the memory of other workers for a large row
	if len(row) >= largeRow && parquetCopies*int64(len(row)) > p.in.memory.Available() {
		p.in.scan.Alone()
	}
	var at mapper.Place
	at.Source, at.Row = p.in.scan.Place()
	return p.file.Write(row, at)
}

// Memory returns 0: the file itself accounts for large rows.
func (parquetRows) Memory(int) int64 { return 0 }

func (p parquetRows) Close() error { return p.file.Finish() }

// writeParquet writes all rows. After an error the output lacks its end, so readers know that it
// is not complete.
func writeParquet(ctx context.Context, c *catInput, f *catFlags, out io.Writer) (err error) {
	if c.schema == nil {
		return c.writeNothing(f)
	}
	file, err := c.parquetFile(ctx, f, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := parquetRows{c, file}
	if err := c.copyRows(ctx, w); err != nil {
		return err
	}
	return w.Close()
}

// parquetFile starts the output.
func (c *catInput) parquetFile(ctx context.Context, f *catFlags, out io.Writer) (*task.RowFile, error) {
	of, err := formats.Named("parquet")
	if err != nil {
		return nil, err
	}
	chosen := map[string][]string{"compression": {parquetCodecs[f.codec]}, "times": {f.times}}
	options, err := of.Options(chosen)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	w, err := of.Writer(options)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	mapping, err := shred.Map(c.schema, shred.Options{RecursiveBytes: true, Memory: c.memory.NewHeap()})
	if err != nil {
		return nil, fmt.Errorf("--to parquet: %w", err)
	}
	return task.NewRowFile(ctx, c.environment, task.RowFileConfig{
		Format: of.(format.MultiGroup), Options: options, Mapping: mapping,
		BlockSize: plan.BlockSize(w, manifest.DefaultBlockSize, len(mapping.Columns), c.memory.Available()/2),
	}, out)
}
