package tables

import (
	"context"
	"reflect"

	"github.com/apache/iceberg-go"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/fields"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
)

// footerReaders is the number of footers that are read at the same time.
const footerReaders = 8

// newFiles are files that are not in the table yet.
type newFiles struct {
	files   []*source.File
	footers []*pq.FileMetaData
	columns []iceberg.NestedField // of all files
}

// readFooters reads the footers of files.
func (s *syncer) readFooters(ctx context.Context, src *source.Source, list []*source.File) (*newFiles, error) {
	n := &newFiles{files: list, footers: make([]*pq.FileMetaData, len(list))}
	err := parallel.Do(ctx, len(list), footerReaders, func(ctx context.Context, i int) (err error) {
		if n.footers[i] = s.footers[list[i].URI]; n.footers[i] == nil {
			n.footers[i], err = s.readFooter(ctx, src, list[i])
		}
		return err
	})
	if err == nil {
		err = n.merge()
	}
	if err != nil {
		return nil, err
	}
	s.footers = make(map[string]*pq.FileMetaData, len(list))
	for i, f := range list {
		s.footers[f.URI] = n.footers[i]
	}
	return n, nil
}

func (s *syncer) readFooter(ctx context.Context, src *source.Source, f *source.File) (*pq.FileMetaData, error) {
	opened, err := src.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	meta, err := parquet.ReadFooter(footerFile{opened}, format.OpenOptions{Memory: s.Memory.NewHeap()})
	if err != nil {
		return nil, err
	}
	//guard: refuses a file with other rows than _SUCCESS says
	if meta.NumRows != f.Rows {
		return nil, damage.New(damage.Count, f.URI, -1, "the file has %d rows, _SUCCESS says %d", meta.NumRows, f.Rows)
	}
	meta.KeyValueMetadata = nil // the Avro schema: it takes more memory than all the rest
	return meta, nil
}

// merge finds the columns of all files. Files of one schema share it.
func (n *newFiles) merge() error {
	for i, f := range n.footers {
		if i > 0 && reflect.DeepEqual(f.Schema, n.footers[i-1].Schema) {
			f.Schema = n.footers[i-1].Schema
			continue
		}
		columns, err := fields.Of(f.Schema)
		if err == nil && i > 0 {
			columns, err = fields.Merge(n.columns, columns)
		}
		if err != nil {
			damage.SetFile(err, n.files[i].URI)
			return err
		}
		n.columns = columns
	}
	return nil
}

// footerFile is a file whose footer is read.
type footerFile struct{ store.File }

// ReadBlock implements format.File.
func (f footerFile) ReadBlock(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }

// ReadTable implements format.File.
func (f footerFile) ReadTable(p []byte, _ int, off, _ int64) (int, error) { return f.ReadAt(p, off) }
