// The arrow-go peer converts an Avro file to Parquet: IN.avro OUT.parquet.
package main

import (
	"bufio"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow/avro"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

func main() {
	if err := convert(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func convert(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	rows, err := avro.NewOCFReader(bufio.NewReader(in), avro.WithChunk(8<<10))
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w, err := pqarrow.NewFileWriter(rows.Schema(), out,
		parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy)), pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := w.WriteBuffered(rows.RecordBatch()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return w.Close() // closes out too
}
