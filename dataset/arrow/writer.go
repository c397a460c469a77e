package arrow

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
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
	f, err := pqarrow.NewFileWriter(s, onlyWriter{w},
		parquet.NewWriterProperties(parquet.WithCompression(compression), parquet.WithMaxRowGroupLength(groupRows),
			parquet.WithAllocator(memory.DefaultAllocator), parquet.WithCreatedBy("rowtocol")),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return &parquetWriter{f}, nil
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
