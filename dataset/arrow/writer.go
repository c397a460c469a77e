package arrow

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// Writer writes record batches of one schema.
type Writer interface {
	// Write writes a record batch. The caller still releases it.
	Write(arrow.RecordBatch) error
	// Close completes the output. It does not close the underlying writer.
	Close() error
}

// NewStream returns a writer of Arrow's IPC stream format, without
// compression.
func NewStream(w io.Writer, s *arrow.Schema) Writer {
	return ipc.NewWriter(onlyWriter{w}, ipc.WithSchema(s))
}

// onlyWriter hides the Close method of a writer.
type onlyWriter struct{ io.Writer }

const (
	// groupRows and groupBytes bound a row group of Parquet, which is in memory until
	// it is written. If there is little memory, the bound of bytes is lower, down to
	// leastGroup.
	groupRows  = 1 << 20
	groupBytes = 128 << 20
	leastGroup = 8 << 20
	// pageBytes is the size of pages, and leastPage their size if there is little memory.
	pageBytes = 128 << 10
	leastPage = 8 << 10
	// The measured memory of a column (in pages and other bytes) and of a row group (in
	// multiples of its size).
	columnPages = 4
	columnBytes = 320 << 10
	groupCopies = 2
	// ParquetCopies is the number of copies of a batch that Records and the Parquet
	// writer have at the same time.
	ParquetCopies = 12
)

// parquetMemory divides the memory that is left, and leaves half of it to readers. It
// returns the sizes of row groups and pages, and the memory that both need.
func parquetMemory(left int64, columns int) (group, page, need int64) {
	least := int64(columns) * (columnBytes + columnPages*leastPage)
	left = max(left/2, groupCopies*leastGroup+least)
	group = min(max((left-least)/(2*groupCopies), leastGroup), groupBytes)
	page = ((left-groupCopies*group)/int64(max(columns, 1)) - columnBytes) / columnPages
	page = min(max(page, leastPage), pageBytes)
	return group, page, groupCopies*group + int64(columns)*(columnBytes+columnPages*page)
}

// parquetCodecs are Parquet's names for Avro's codecs.
var parquetCodecs = map[string]compress.Compression{
	"null": compress.Codecs.Uncompressed, "deflate": compress.Codecs.Gzip,
	"snappy": compress.Codecs.Snappy, "zstandard": compress.Codecs.Zstd,
}

// parquetWriter writes a Parquet file.
type parquetWriter struct {
	file   *pqarrow.FileWriter
	group  int64 // most bytes of a row group
	memory *budget.Heap
}

// NewParquet returns a writer of a Parquet file of record batches of the form Structs.
// codec is Avro's name of the codec: null, deflate (which is GZIP), snappy or zstandard.
// The writer reserves memory of the pool until it is closed. The free memory of the pool
// decides the sizes of row groups and pages. If there is too little, the error is a
// *budget.Error.
func NewParquet(w io.Writer, s *arrow.Schema, codec string, memory *budget.Pool) (Writer, error) {
	compression, ok := parquetCodecs[codec]
	if !ok {
		return nil, fmt.Errorf("codec %q is not one of Parquet's", codec)
	}
	texts, columns, err := textPaths(s)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	group, page, need := parquetMemory(memory.Available(), columns)
	heap := memory.NewHeap()
	if err := heap.Reserve(need); err != nil {
		return nil, fmt.Errorf("parquet of %d columns: %w", columns, err)
	}
	options := []parquet.WriterProperty{
		parquet.WithCompression(compression), parquet.WithMaxRowGroupLength(groupRows), parquet.WithCreatedBy("rowtocol"),
		parquet.WithDataPageSize(page), parquet.WithDictionaryDefault(false),
	}
	for _, path := range texts {
		options = append(options, parquet.WithDictionaryFor(path, true))
	}
	f, err := pqarrow.NewFileWriter(s, onlyWriter{w}, parquet.NewWriterProperties(options...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		heap.Close()
		return nil, fmt.Errorf("parquet: %w", err)
	}
	return &parquetWriter{f, group, heap}, nil
}

// textPaths returns the columns of strings and bytes, and the number of all columns. Only
// text has dictionaries: with dictionaries, writing 400 columns of numbers took four times
// as long and three times as much memory, and the file was larger.
func textPaths(s *arrow.Schema) (paths []string, all int, err error) {
	columns, err := pqarrow.ToParquet(s, nil, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, 0, err
	}
	for i := range columns.NumColumns() {
		if c := columns.Column(i); c.PhysicalType() == parquet.Types.ByteArray {
			paths = append(paths, c.Path())
		}
	}
	return paths, columns.NumColumns(), nil
}

// Write adds rows to the row group. When the row group is full, it begins another row
// group.
func (p *parquetWriter) Write(r arrow.RecordBatch) error {
	if p.file.RowGroupTotalBytesWritten() >= p.group {
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
	defer p.memory.Close()
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("parquet: %w", err)
	}
	return nil
}
