package hfile

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// DefaultMaxBlock is the default of OpenOptions.MaxBlock, in bytes.
const DefaultMaxBlock = 512 << 20

// maxLoadOnOpen is the largest size of a block that is read on opening, stored and decompressed.
// The root of an index has 128 KiB, or a few MiB if Hudi wrote it. A file info is not larger.
const maxLoadOnOpen = 64 << 20

// tailSize is the size of the first read, at the end of a file. Most files are opened with this
// read alone.
const tailSize = 32 << 10

// OpenOptions say how a file is read.
type OpenOptions struct {
	// Name is the file's name in messages.
	Name string
	// MaxBlock is the largest size of a block, stored and decompressed. A larger block is
	// reported as damage.Unsupported. 0 means DefaultMaxBlock. A block that is read on opening
	// may have at most 64 MiB. All blocks that are read on opening may together have MaxBlock.
	MaxBlock int64
	// Memory accounts for the indexes and for the blocks of scanners, unless it is nil. Its
	// error is returned to the caller.
	Memory column.Account
}

// Reader is an open file. It is safe for concurrent use; its scanners are not.
type Reader struct {
	r       io.ReaderAt
	name    string
	size    int64
	max     int64              // OpenOptions.MaxBlock
	memory  column.Reservation // memory of indexes, file info and Bloom filter
	trailer *Trailer
	info    Info
	dialect dialect
	root    []indexEntry // root of the data index
	meta    []indexEntry // meta index
	bloom   *bloomFilter // filter of rows or of cells; nil if there is none

	hasChecksums bool // the blocks have checksums
	hasTags      bool // each cell has tags
	hasVersions  bool // each cell has a version (mvcc)
	unverified   atomic.Bool
}

// Open opens the file of size bytes in r. It reads and checks the trailer, the roots of the
// indexes, the file info and the Bloom filter's index. An error is a *damage.Error, or wraps an
// error of r or of the account. The caller closes the Reader.
func Open(r io.ReaderAt, size int64, o OpenOptions) (*Reader, error) {
	f := &Reader{r: r, name: o.Name, size: size, max: o.MaxBlock, memory: column.Reservation{Account: o.Memory}}
	if f.max == 0 {
		f.max = DefaultMaxBlock
	}
	if o.Memory == nil {
		f.memory.Account = column.Unlimited{}
	}
	if err := f.open(); err != nil {
		f.Close()
		return nil, f.located(err)
	}
	return f, nil
}

// located adds the file's name to damage without one.
func (f *Reader) located(err error) error {
	damage.SetFile(err, f.name)
	return err
}

func (f *Reader) open() error {
	//guard: rejects a file too short for a trailer
	if f.size < trailerSize {
		return damage.New(damage.Truncated, "", 0, "%d bytes, an HFile has at least %d", f.size, trailerSize)
	}
	tail := &tail{r: f.r, start: max(f.size-tailSize, 0), memory: column.Reservation{Account: f.memory.Account}}
	defer tail.memory.ShrinkTo(0)
	if err := tail.load(f, f.size); err != nil {
		return err
	}
	trailerAt := f.size - trailerSize
	var err error
	if f.trailer, err = parseTrailer(tail.buf[trailerAt-tail.start:], trailerAt); err != nil {
		return err
	}
	if f.trailer.LoadOnOpen < tail.start {
		tail.start = f.trailer.LoadOnOpen
		if err := tail.load(f, f.size); err != nil {
			return err
		}
	}
	blocks := f.blocks()
	defer blocks.close()
	blocks.r, blocks.max = tail, min(f.max, maxLoadOnOpen)
	return f.loadOnOpen(blocks)
}

// blocks returns a reader of the file's blocks.
func (f *Reader) blocks() *blockReader {
	return &blockReader{
		r: f.r, name: f.name, codec: f.trailer.Codec, end: f.size - trailerSize, max: f.max, memory: column.Reservation{Account: f.memory.Account}, hasChecksums: f.hasChecksums,
		unverified: func() { f.unverified.Store(true) },
	}
}

// tail is the end of a file in memory.
type tail struct {
	r      io.ReaderAt
	start  int64
	buf    []byte
	memory column.Reservation
}

// load reads from t.start to the end of the file.
func (t *tail) load(f *Reader, end int64) error {
	n := end - t.start
	//guard: bounds the size of a block
	if n > f.max {
		return damage.New(damage.Unsupported, "", t.start, "%d bytes of indexes, at most %d are read", n, f.max)
	}
	t.buf = nil
	t.memory.ShrinkTo(0)
	if err := t.memory.Reserve(n); err != nil {
		return err
	}
	t.buf = make([]byte, n)
	return damage.ReadFull(t.r, t.buf, t.start, f.name)
}

// ReadAt reads from memory. It returns io.EOF for bytes before t.start.
func (t *tail) ReadAt(p []byte, off int64) (int, error) {
	if off < t.start || off > t.start+int64(len(t.buf)) {
		return 0, io.EOF
	}
	n := copy(p, t.buf[off-t.start:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// loadOnOpen reads the blocks between the data and the trailer.
func (f *Reader) loadOnOpen(blocks *blockReader) error {
	t := f.trailer
	at := t.LoadOnOpen
	read := func(magic string) ([]byte, int64, error) {
		start := at
		h, payload, err := blocks.readInto(&f.memory, at, magic)
		at += int64(h.size())
		f.hasChecksums = f.hasChecksums || h.checksum != NoChecksum
		blocks.hasChecksums = f.hasChecksums
		return payload, start + headerSize, err
	}
	payload, offset, err := read(magicRoot)
	if err != nil {
		return fmt.Errorf("data index: %w", err)
	}
	if f.root, f.dialect, err = dataRoot(&f.memory, payload, t.DataIndex, t.Levels, offset); err != nil {
		return fmt.Errorf("data index: %w", err)
	}
	if payload, offset, err = read(magicRoot); err != nil {
		return fmt.Errorf("meta index: %w", err)
	}
	if err := f.metaRoot(payload, offset); err != nil {
		return fmt.Errorf("meta index: %w", err)
	}
	//guard: rejects a file info that is not after the indexes
	if at != t.FileInfo {
		return damage.New(damage.Value, "", t.FileInfo, "the trailer has the file info at another place than %d", at)
	}
	if payload, offset, err = read(magicInfo); err != nil {
		return err
	}
	if f.info, err = parseInfo(&f.memory, payload, offset); err != nil {
		return err
	}
	if err := f.useInfo(offset); err != nil {
		return err
	}
	for at < blocks.end {
		h, payload, err := blocks.readInto(&f.memory, at, magicBloomMeta, magicDeleteBloom)
		if err != nil {
			return err
		}
		if h.magic == magicBloomMeta {
			if f.bloom, err = parseBloom(&f.memory, payload, f.info, at+headerSize); err != nil {
				return err
			}
		}
		at += int64(h.size())
	}
	return nil
}

// metaRoot reads the payload of the meta index.
func (f *Reader) metaRoot(payload []byte, offset int64) (err error) {
	held := f.memory.Held
	for _, d := range dialects {
		f.memory.ShrinkTo(held)
		c := damage.NewCursor("", payload, offset)
		f.meta, err = rootEntries(&f.memory, &c, int64(f.trailer.MetaIndex), d)
		if err == nil && c.Remaining() == 0 {
			return nil
		}
		//guard: rejects bytes after the entries
		if err == nil {
			err = damage.New(damage.Trailing, "", c.Offset(), "%d bytes after the %d entries", c.Remaining(), f.trailer.MetaIndex)
		}
	}
	return err
}

// useInfo sets the form of the cells from the file info.
func (f *Reader) useInfo(offset int64) error {
	//guard: rejects encoded cells
	if e := string(f.info.Value(infoEncoding)); e != "" && e != "NONE" {
		return damage.New(damage.Unsupported, "", offset, "data blocks have the encoding %s", e)
	}
	f.hasTags = f.info.Value(infoMaxTags) != nil
	version, _ := f.info.number(infoVersion)
	f.hasVersions = version == 1
	return nil
}

// Close releases the memory of the Reader. It does not close the scanners.
func (f *Reader) Close() {
	f.memory.ShrinkTo(0)
}

// Name returns the name given to Open.
func (f *Reader) Name() string { return f.name }

// Size returns the file's length in bytes.
func (f *Reader) Size() int64 { return f.size }

// Trailer returns the trailer. It must not be changed.
func (f *Reader) Trailer() *Trailer { return f.trailer }

// Info returns the file info. It must not be changed.
func (f *Reader) Info() Info { return f.info }

// Entries returns the number of cells that the trailer records.
func (f *Reader) Entries() int64 { return f.trailer.Entries }

// Unverified reports whether a block without checksums has been read.
func (f *Reader) Unverified() bool { return f.unverified.Load() }

// LastKey returns the key of the last cell, or nil if the file does not record a key. Hudi's
// writer records only the row. LastKey then returns the first possible key of that row.
func (f *Reader) LastKey() Key {
	k := f.info.Value(infoLastKey)
	if checkKey(k, 0) == nil {
		return k
	}
	if row, ok := lengthAndRow(k); ok {
		return AppendRowKey(nil, row)
	}
	return nil
}

// MetaNames returns the names of the meta blocks, in the order of the index.
func (f *Reader) MetaNames() []string {
	names := make([]string, len(f.meta))
	for i, e := range f.meta {
		names[i] = string(e.key)
	}
	return names
}

// Meta reads the meta block with a name. It returns nil if there is none.
func (f *Reader) Meta(name string) ([]byte, error) {
	for _, e := range f.meta {
		if string(e.key) != name {
			continue
		}
		blocks := f.blocks()
		defer blocks.close()
		_, payload, err := blocks.read(e.offset, e.size, magicMeta)
		if err != nil {
			return nil, f.located(fmt.Errorf("meta block %q: %w", name, err))
		}
		return payload, nil // nothing else uses this memory
	}
	return nil, nil
}

// ByHudi reports whether Hudi's own writer wrote the file. Such a file differs in small ways
// from one that HBase's writer wrote for Hudi.
func (f *Reader) ByHudi() bool { return f.trailer.byHudi() }
