package dataset

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// partFile is an open part.
type partFile struct {
	*trevni.File
	source *source
}

// open opens a part and holds it against what is known of it.
func (d *Dataset) open(ctx context.Context, part int, read *Stats) (_ *partFile, err error) {
	p := &d.list.Parts[part]
	stored, err := d.list.Store.Open(ctx, p.Name)
	if err != nil {
		return nil, d.list.Lost(ctx, p, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, stored.Close())
		}
	}()
	//guard: a file that was cut or replaced would be read
	if stored.Size() != p.Bytes {
		return nil, damage.New(damage.Size, p.Name, min(stored.Size(), p.Bytes), "the file has %d bytes, expected %d", stored.Size(), p.Bytes)
	}
	s := &source{File: stored, read: read, lost: func(err error) error { return d.list.Lost(ctx, p, err) }}
	f, err := ReadHeader(s, p.Name)
	if err != nil {
		return nil, err
	}
	f.MaxBlock, s.trevni, s.counted = d.maxBlock, f, make([]bool, len(f.Columns()))
	//guard: a file could have other rows than were committed
	if f.RowCount() != p.Rows {
		return nil, damage.New(damage.Count, p.Name, 4, "the file has %d rows, expected %d", f.RowCount(), p.Rows)
	}
	return &partFile{f, s}, d.checkSchema(f)
}

// checkSchema compares a part's schema and columns with the dataset's.
func (d *Dataset) checkSchema(f *trevni.File) error {
	if f.Schema() != d.schema {
		s, err := shred.ParseSchema(f.Schema())
		if err != nil {
			return in(f.Name(), err)
		}
		//guard: rows of another schema would be given as the dataset's
		if s.Canonical() != d.mapping.Schema.Canonical() {
			return damage.New(damage.Schema, f.Name(), -1, "the file is of another schema than the dataset")
		}
	}
	return checkColumns(f, d.mapping)
}

// close ends the use of the file.
func (p *partFile) close() {
	_ = p.source.Close() // only read
}

// cursors opens cursors over columns.
func (p *partFile) cursors(cols []int) ([]*trevni.Cursor, error) {
	cursors := make([]*trevni.Cursor, len(cols))
	for i, col := range cols {
		var err error
		if cursors[i], err = p.Cursor(col); err != nil {
			return nil, err
		}
		p.source.count(col, len(cursors[i].Blocks()))
	}
	return cursors, nil
}

// source is a stored file of which is counted what is read, and kept for a
// while what will be read twice: once to find the rows that match, and once to
// give them. It belongs to one goroutine.
type source struct {
	store.File
	read    *Stats
	trevni  *trevni.File // nil while its header is read
	counted []bool       // columns whose blocks are in read
	// lost says what it means that reading failed.
	lost func(error) error
	// twice are the columns of which blocks may be asked for again; nil for
	// none.
	twice []bool
	kept  []keptBlock
	ahead *ahead // nil for local files
}

// keptBlock is what was read at an offset, for a column.
type keptBlock struct {
	column int
	offset int64
	bytes  []byte
}

// count adds the blocks of a column, once.
func (s *source) count(col, blocks int) {
	if !s.counted[col] {
		s.counted[col] = true
		s.read.Blocks += int64(blocks)
	}
}

// ReadAt implements io.ReaderAt.
func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.readAt(p, off)
	if err != nil && err != io.EOF {
		err = s.lost(err)
	}
	return n, err
}

func (s *source) readAt(p []byte, off int64) (int, error) {
	for i := range s.kept {
		if k := &s.kept[i]; k.offset == off && len(k.bytes) >= len(p) {
			return copy(p, k.bytes), nil
		}
	}
	var columns []trevni.Column
	if s.trevni != nil {
		columns = s.trevni.Columns()
	}
	col := sort.Search(len(columns), func(i int) bool { return columns[i].Start > off }) - 1
	if col < 0 || off == columns[col].Start { // header or block table
		n, err := s.File.ReadAt(p, off)
		s.read.BytesRead += int64(n)
		return n, err
	}
	n, err := s.readBlock(col, p, off)
	s.read.BlocksRead++
	if s.twice != nil && s.twice[col] && err == nil {
		s.kept = append(s.kept, keptBlock{col, off, append([]byte(nil), p...)})
	}
	return n, err
}

// readBlock reads what is stored of a column at an offset.
func (s *source) readBlock(col int, p []byte, off int64) (n int, err error) {
	read := 0
	if s.ahead == nil {
		n, err = s.File.ReadAt(p, off)
		read = n
	} else {
		n, read, err = s.ahead.read(col, p, off, s.trevni.SectionEnd(col))
	}
	s.read.BytesRead += int64(read)
	return n, err
}

// forget drops what was kept, but for the last block of each column: the rows
// that come next may begin in it.
func (s *source) forget() {
	rest := s.kept[:0]
	for i, k := range s.kept {
		last := true
		for _, later := range s.kept[i+1:] {
			last = last && later.column != k.column
		}
		if last {
			rest = append(rest, k)
		}
	}
	clear(s.kept[len(rest):])
	s.kept = rest
}
