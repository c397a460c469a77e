package arrow

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Writer writes record batches of one schema.
type Writer interface {
	// Write writes a record batch, which stays the caller's.
	Write(arrow.RecordBatch) error
	// Close completes the output. It does not close what lies below.
	Close() error
}

// NewStream returns a writer of Arrow's IPC stream format, without
// compression.
func NewStream(w io.Writer, s *arrow.Schema) Writer {
	return ipc.NewWriter(onlyWriter{w}, ipc.WithSchema(s))
}

// onlyWriter hides that a writer can be closed.
type onlyWriter struct{ io.Writer }

const (
	// groupRows and groupBytes bound a row group of Parquet. All of it is in
	// memory before it is written.
	groupRows  = 1 << 20
	groupBytes = 128 << 20
	pageBytes  = 128 << 10
)

// parquetCodecs are Parquet's names for Avro's codecs.
var parquetCodecs = map[string]compress.Compression{
	"null": compress.Codecs.Uncompressed, "deflate": compress.Codecs.Gzip,
	"snappy": compress.Codecs.Snappy, "zstandard": compress.Codecs.Zstd,
}

// parquetWriter writes a Parquet file.
type parquetWriter struct {
	file *pqarrow.FileWriter
}

// NewParquet returns a writer of a Parquet file of record batches of the form
// Structs. The codec has Avro's name: null, deflate (which is GZIP), snappy or
// zstandard.
func NewParquet(w io.Writer, s *arrow.Schema, codec string) (Writer, error) {
	compression, ok := parquetCodecs[codec]
	if !ok {
		return nil, fmt.Errorf("codec %q is not one of Parquet's", codec)
	}
	options := []parquet.WriterProperty{
		parquet.WithCompression(compression), parquet.WithMaxRowGroupLength(groupRows), parquet.WithCreatedBy("rowtocol"),
		parquet.WithDataPageSize(pageBytes), parquet.WithDictionaryDefault(false),
	}
	texts, err := textPaths(s)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	for _, path := range texts {
		options = append(options, parquet.WithDictionaryFor(path, true))
	}
	f, err := pqarrow.NewFileWriter(s, onlyWriter{w}, parquet.NewWriterProperties(options...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return &parquetWriter{f}, nil
}

// textPaths returns the columns of strings and bytes. Only they get
// dictionaries: those of 400 columns of numbers took four times the time and
// three times the memory, for a larger file.
func textPaths(s *arrow.Schema) ([]string, error) {
	columns, err := pqarrow.ToParquet(s, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, err
	}
	var paths []string
	for i := range columns.NumColumns() {
		if c := columns.Column(i); c.PhysicalType() == parquet.Types.ByteArray {
			paths = append(paths, c.Path())
		}
	}
	return paths, nil
}

// Write adds rows to the row group, and begins another when it is full.
func (p *parquetWriter) Write(r arrow.RecordBatch) error {
	if p.file.RowGroupTotalBytesWritten() >= groupBytes {
		if err := p.file.NewBufferedRowGroupChecked(); err != nil {
			return fmt.Errorf("parquet: %w", err)
		}
	}
	if err := p.file.WriteBuffered(r); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}

// Close writes the last row group and the footer.
func (p *parquetWriter) Close() error {
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}
