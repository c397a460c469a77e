package index

import (
	"bytes"
	"context"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Index is a key index of an output.
type Index struct {
	Fields      string          // fields of the key, in the syntax of rowkey.Parse
	Files       []manifest.File // files of the index, in the order of their keys
	Fingerprint string          // fingerprint of the output: see manifest.Fingerprint
}

// IndexesOf returns the indexes of an output. fields has the fields of each index, and files are
// the files that the manifest lists. An index without files is left out, because an output
// without rows has no index.
func IndexesOf(fields []string, files []manifest.File, fingerprint string) (all []Index) {
	for _, key := range fields {
		x := Index{Fields: key, Fingerprint: fingerprint}
		name := manifest.IndexName(key)
		for _, f := range files {
			if path.Base(path.Dir(f.Name)) == name {
				x.Files = append(x.Files, f)
			}
		}
		if len(x.Files) > 0 {
			all = append(all, x)
		}
	}
	return all
}

// Entries returns the number of rows that have a key.
func (x *Index) Entries() (n int64) {
	for _, f := range x.Files {
		n += f.Keys.Entries
	}
	return n
}

// OpenFunc opens a file of an index by its name in the manifest.
type OpenFunc func(ctx context.Context, name string) (store.File, error)

// Reader finds keys in an index. Only one goroutine may use it at a time.
type Reader struct {
	index   Index
	open    OpenFunc
	memory  column.Account
	files   []*openFile // open files, by number; nil for other files
	opened  []int       // numbers of the open files, the oldest first
	maxOpen int         // limit of opened
}

// openFile is a file of an index.
type openFile struct {
	file store.File
	r    *hfile.Reader
	s    *hfile.Scanner
}

// open opens a file of the index and checks that it is the one that the manifest lists.
func (x *Index) open(ctx context.Context, number int, open OpenFunc, memory column.Account) (_ *openFile, err error) {
	listed := &x.Files[number]
	in, err := open(ctx, listed.Name)
	if err != nil {
		return nil, err
	}
	f := &openFile{file: in}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	//guard: rejects another file in place of the index
	if in.Size() != listed.Bytes {
		return nil, damage.New(damage.Size, in.Name(), -1, "the file has %d bytes, the manifest says %d", in.Size(), listed.Bytes)
	}
	if f.r, err = hfile.Open(in, in.Size(), hfile.OpenOptions{Name: in.Name(), Memory: memory}); err != nil {
		return nil, err
	}
	f.s = f.r.Scan()
	if err = x.check(f.r, listed); err != nil {
		return nil, err
	}
	return f, nil
}

// position returns the row position in the scanner's current cell.
func (f *openFile) position() (Position, error) {
	key := f.s.Key()
	//guard: rejects a position of another size
	if len(key.Qualifier()) != positionSize {
		return Position{}, damage.New(damage.Value, f.r.Name(), -1, "the cell %s has no position of %d bytes", key, positionSize)
	}
	return parsePosition(key.Qualifier()), nil
}

func (f *openFile) close() {
	if f.r != nil {
		f.s.Close()
		f.r.Close()
	}
	_ = f.file.Close() // only read
}

// maxOpenFiles bounds the number of open files of an index, because the tables of an open file
// stay in memory.
const maxOpenFiles = 64

// NewReader returns a reader of an index, which opens its files when it needs them.
// memory accounts for the memory of reading. The caller closes the reader.
func NewReader(x Index, open OpenFunc, memory column.Account) *Reader {
	return &Reader{index: x, open: open, memory: memory, files: make([]*openFile, len(x.Files)), maxOpen: maxOpenFiles}
}

// Find calls visit with the rows whose keys are in a range, in the order of the keys. Rows with
// equal keys come in the order of the rows. key is valid only during the call of visit. Find reads
// only blocks that lead to the keys or have them. If visit returns an error, Find returns that
// error. Other errors are *damage.Error, or wrap the error of opening or reading.
func (r *Reader) Find(ctx context.Context, keys rowkey.Range, visit func(key []byte, p Position) error) error {
	for i, f := range r.index.Files {
		if f.Keys.Entries == 0 || bytes.Compare(f.Keys.Last, keys.From) < 0 {
			continue
		}
		if keys.To != nil && bytes.Compare(f.Keys.First, keys.To) >= 0 {
			break
		}
		if err := r.findIn(ctx, i, keys, visit); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) findIn(ctx context.Context, number int, keys rowkey.Range, visit func(key []byte, p Position) error) error {
	f, err := r.file(ctx, number)
	if err != nil {
		return err
	}
	if isSingleKey(keys) {
		if has, err := f.s.MayContainRow(keys.From); err != nil || !has {
			return err
		}
	}
	for ok := f.s.SeekRow(keys.From); ok; ok = f.s.Next() {
		key := f.s.Key()
		if keys.To != nil && bytes.Compare(key.Row(), keys.To) >= 0 {
			return nil
		}
		p, err := f.position()
		if err == nil {
			err = visit(key.Row(), p)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return f.s.Err()
}

// isSingleKey reports whether a range has exactly one key.
func isSingleKey(keys rowkey.Range) bool {
	n := len(keys.From)
	return len(keys.To) == n+1 && keys.To[n] == 0 && bytes.Equal(keys.To[:n], keys.From)
}

// file returns the open file with a number.
func (r *Reader) file(ctx context.Context, number int) (*openFile, error) {
	if f := r.files[number]; f != nil {
		return f, nil
	}
	//guard: bounds the tables in memory
	if len(r.opened) == r.maxOpen {
		r.closeOldest()
	}
	f, err := r.index.open(ctx, number, r.open, r.memory)
	if err == nil {
		r.files[number] = f
		r.opened = append(r.opened, number)
	}
	return f, err
}

func (r *Reader) closeOldest() {
	oldest := r.opened[0]
	r.opened = slices.Delete(r.opened, 0, 1)
	r.files[oldest].close()
	r.files[oldest] = nil
}

// Close closes the files. A later Find opens them again.
func (r *Reader) Close() {
	for len(r.opened) > 0 {
		r.closeOldest()
	}
}
