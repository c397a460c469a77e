package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// DefaultBlockSize is the default of WriterOptions.BlockSize, in bytes. HBase has the same.
const DefaultBlockSize = 64 << 10

// DefaultIndexBlockSize is the default of WriterOptions.IndexBlockSize, in bytes. HBase has the same.
const DefaultIndexBlockSize = 128 << 10

// MaxDataBlock is the most bytes of a data block. Cells with equal keys, which are always in
// one block, can make it larger than BlockSize.
const MaxDataBlock = 64 << 20

// WriterOptions are the options of a Writer.
type WriterOptions struct {
	// BlockSize is the size in bytes, before compression, at which a data block ends;
	// 0 is DefaultBlockSize.
	BlockSize int
	// IndexBlockSize is the size in bytes, before compression, at which an index block ends;
	// 0 is DefaultIndexBlockSize.
	IndexBlockSize int
	// Codec is None or GZ; 0 is None.
	Codec Codec
	// RowBloom adds a Bloom filter of the rows, in HBase's form.
	RowBloom bool
	// HudiBloom adds a Bloom filter of the rows in Hudi's form. It takes up to 14 MiB
	// of memory.
	HudiBloom bool
	// HudiRange adds the least and the greatest row to the file info, where Hudi looks for them.
	HudiRange bool
	// Info are further pairs of the file info.
	Info Info
	// Meta has the meta blocks, in any order.
	Meta []Pair
}

// Writer writes a file that both HBase and Hudi read. It keeps one block and the upper levels
// of the index in memory. The bytes depend only on the options and the cells.
type Writer struct {
	w       io.Writer
	o       WriterOptions
	written int64
	err     error

	buf      []byte // the data block, after room for its header
	stored   []byte // the last compressed block
	first    Key    // first key of the block; empty before the block's first cell
	last     Key    // last key of all; it is in the memory of buf, perhaps beyond its length
	firstRow []byte // first row of all, for HudiRange
	previous map[string]int64
	index    indexWriter
	bloom    *bloomWriter
	hudi     *hudiBloomWriter

	cells       int64
	keys        int64 // bytes of all keys
	values      int64 // bytes of all values
	total       int64 // size of all blocks that the trailer counts, before compression
	firstData   int64
	lastData    int64
	metaEntries []indexEntry
	optionsSize int64 // see optionsBound
}

// NewWriter returns a Writer that writes a file to w, from beginning to end.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.IndexBlockSize == 0 {
		o.IndexBlockSize = DefaultIndexBlockSize
	}
	if o.Codec == 0 {
		o.Codec = None
	}
	if o.Codec != None && o.Codec != GZ {
		return nil, fmt.Errorf("hfile: files with the codec %s are not written", o.Codec)
	}
	if o.BlockSize < 0 || o.BlockSize > MaxDataBlock || o.IndexBlockSize < 0 || o.IndexBlockSize > MaxDataBlock {
		return nil, fmt.Errorf("hfile: block size %d and index block size %d must be from 0 to %d bytes", o.BlockSize, o.IndexBlockSize, MaxDataBlock)
	}
	f := &Writer{w: w, o: o, previous: map[string]int64{}, firstData: -1, lastData: -1, optionsSize: o.optionsBound()}
	f.buf = make([]byte, headerSize, headerSize+o.BlockSize)
	f.index.limit = o.IndexBlockSize
	if o.RowBloom {
		f.bloom = newBloomWriter()
	}
	if o.HudiBloom {
		f.hudi = newHudiBloomWriter()
	}
	return f, nil
}

// ErrOrder is the error for a cell that sorts before the previous one.
var ErrOrder = errors.New("hfile: the cells are not in order")

// ErrBlock is the error for cells with equal keys that do not fit into one block.
var ErrBlock = errors.New("hfile: the cells do not fit a block")

// Append writes a cell, which must not sort before the cell that was appended last. key is a
// valid key, such as AppendKey returns. After an error the file cannot be completed.
func (f *Writer) Append(key Key, value []byte) error {
	if f.err != nil {
		return f.err
	}
	if f.err = f.append(key, value); f.err != nil {
		return f.err
	}
	return nil
}

func (f *Writer) append(key Key, value []byte) error {
	order, newRow := -1, true
	if f.cells > 0 {
		order = bytes.Compare(f.last.Row(), key.Row())
		if newRow = order != 0; !newRow {
			order = f.last.compareColumns(key)
		}
	}
	//guard: refuses a cell that sorts before the last one
	if order > 0 {
		return fmt.Errorf("%w: %s after %s", ErrOrder, key, f.last)
	}
	size := cellSize(len(key), len(value))
	if len(f.buf)-headerSize >= f.o.BlockSize && order != 0 {
		if err := f.flush(false); err != nil {
			return err
		}
	}
	//guard: bounds the size of a block
	if room := int64(MaxDataBlock - (len(f.buf) - headerSize)); size > room {
		if len(f.buf) > headerSize && order != 0 {
			if err := f.flush(false); err != nil {
				return err
			}
			room = MaxDataBlock
		}
		if size > room {
			return fmt.Errorf("%w: the cells with the key %s have more than %d bytes", ErrBlock, key, MaxDataBlock)
		}
	}
	if len(f.buf) == headerSize {
		f.first = append(f.first[:0], key...)
	}
	if newRow {
		f.addRow(key.Row())
	}
	at := len(f.buf)
	f.buf = slices.Grow(f.buf, int(size))[:at+int(size)]
	b := f.buf[at:]
	binary.BigEndian.PutUint32(b, uint32(len(key)))
	binary.BigEndian.PutUint32(b[4:], uint32(len(value)))
	f.last = Key(b[8 : 8+len(key)])
	copy(f.last, key)
	copy(b[8+len(key):], value)
	b[len(b)-1] = 0 // version, which Hudi expects of every cell
	f.cells++
	f.keys += int64(len(key))
	f.values += int64(len(value))
	return nil
}

// addRow adds a row to the Bloom filters and to the range.
func (f *Writer) addRow(row []byte) {
	if f.o.HudiRange && f.cells == 0 {
		f.firstRow = append(f.firstRow, row...)
	}
	if f.bloom != nil {
		f.bloom.add(row)
	}
	if f.hudi != nil {
		f.hudi.add(row)
	}
}

// cellSize returns the size of a cell in a block.
func cellSize(key, value int) int64 { return 4 + 4 + int64(key) + int64(value) + 1 }

// Cells returns the number of cells appended.
func (f *Writer) Cells() int64 { return f.cells }

// LastKey returns the key of the last cell, or nil before the first cell. The key is valid until
// the next Append.
func (f *Writer) LastKey() Key { return f.last }

// flush writes the data block, and the full blocks of the index and the Bloom filter. If last
// is set, it also writes blocks of both that are not full.
func (f *Writer) flush(last bool) error {
	if len(f.buf) > headerSize {
		offset, size, err := f.write(magicData, f.buf)
		if err != nil {
			return err
		}
		if f.firstData < 0 {
			f.firstData = offset
		}
		f.lastData = offset
		f.index.add(offset, size, f.first)
		f.buf, f.first = f.buf[:headerSize], f.first[:0]
	}
	if leaf := f.index.leaf(last); leaf != nil {
		offset, size, err := f.write(magicLeaf, leaf)
		if err != nil {
			return err
		}
		f.index.leafWritten(offset, size)
	}
	if f.bloom == nil {
		return nil
	}
	for {
		chunk := f.bloom.full(last)
		if chunk == nil {
			return nil
		}
		offset, size, err := f.write(magicBloomChunk, chunk)
		if err != nil {
			return err
		}
		f.bloom.chunkWritten(offset, size)
	}
}

// write writes a block and returns its place. Its payload is in b, after room for the header.
// write may append checksums to b.
func (f *Writer) write(magic string, b []byte) (offset int64, size int, err error) {
	h := blockHeader{magic: magic, raw: len(b) - headerSize, previous: -1}
	if at, ok := f.previous[magic]; ok {
		h.previous = at
	}
	if f.o.Codec == GZ {
		f.stored = append(f.stored[:0], b[:headerSize]...)
		if f.stored, err = appendGzip(f.stored, b[headerSize:]); err != nil {
			return 0, 0, fmt.Errorf("hfile: %w", err)
		}
		b = f.stored
	}
	sealed := h.seal(b)
	if f.o.Codec == GZ {
		f.stored = sealed
	}
	offset = f.written
	f.previous[magic] = offset
	if magic != magicIntermediate && (magic != magicRoot || h.previous >= 0) {
		f.total += headerSize + int64(h.raw)
	}
	return offset, len(sealed), f.put(sealed)
}

// put writes bytes unchanged.
func (f *Writer) put(b []byte) error {
	n, err := f.w.Write(b)
	f.written += int64(n)
	if err != nil {
		return fmt.Errorf("hfile: %w", err)
	}
	return nil
}

// Close writes the rest of the file: the last block, the meta blocks, the indexes, the file
// info and the trailer. It does not close the io.Writer.
func (f *Writer) Close() error {
	if f.err != nil {
		return f.err
	}
	if f.err = f.close(); f.err != nil {
		return f.err
	}
	f.err = errors.New("hfile: the writer is closed")
	return nil
}

func (f *Writer) close() error {
	if err := f.flush(true); err != nil {
		return err
	}
	if err := f.writeMeta(); err != nil {
		return err
	}
	levels, err := f.index.intermediate(func(b []byte) (int64, int, error) { return f.write(magicIntermediate, b) })
	if err != nil {
		return err
	}
	t := Trailer{
		Major: majorVersion, Minor: minorVersion, LoadOnOpen: f.written, Levels: levels, Entries: f.cells,
		DataIndex: len(f.index.root), MetaIndex: len(f.metaEntries), FirstData: f.firstData, LastData: f.lastData,
		Comparator: comparatorName, Codec: f.o.Codec,
	}
	root := f.index.appendRoot(make([]byte, headerSize))
	t.IndexSize = f.index.size + int64(len(root)-headerSize)
	if _, _, err := f.write(magicRoot, root); err != nil {
		return err
	}
	if _, _, err := f.write(magicRoot, appendRootEntries(make([]byte, headerSize), f.metaEntries)); err != nil {
		return err
	}
	t.FileInfo = f.written
	if _, _, err := f.write(magicInfo, f.fileInfo().append(make([]byte, headerSize))); err != nil {
		return err
	}
	if f.bloom != nil && f.cells > 0 {
		if _, _, err := f.write(magicBloomMeta, f.bloom.appendMeta(make([]byte, headerSize))); err != nil {
			return err
		}
	}
	t.Total = f.total + trailerSize
	return f.put(t.append(nil))
}

// writeMeta writes the meta blocks, in the order of their names.
func (f *Writer) writeMeta() error {
	meta := slices.Clone(Info(f.o.Meta))
	if f.hudi != nil && f.cells > 0 {
		meta = append(meta, Pair{Key: metaHudiBloom})
	}
	for _, m := range meta.sorted() {
		block := make([]byte, headerSize)
		if m.Key == metaHudiBloom && f.hudi != nil {
			block = f.hudi.appendBlock(block)
		} else {
			block = append(block, m.Value...)
		}
		offset, size, err := f.write(magicMeta, block)
		if err != nil {
			return err
		}
		f.metaEntries = append(f.metaEntries, indexEntry{offset: offset, size: size, key: []byte(m.Key)})
	}
	return nil
}

// fileInfo returns the file info: properties of the cells, and the pairs of the options.
func (f *Writer) fileInfo() Info {
	info := append(Info{}, f.o.Info...)
	average := func(bytes int64) []byte {
		return binary.BigEndian.AppendUint32(nil, uint32(min(bytes/max(f.cells, 1), math.MaxInt32)))
	}
	info = append(info,
		Pair{infoAverageKey, average(f.keys)},
		Pair{infoAverageValue, average(f.values)},
		Pair{infoVersion, binary.BigEndian.AppendUint32(nil, 1)},
		Pair{infoMaxMemstore, make([]byte, 8)})
	if f.cells > 0 {
		info = append(info, Pair{infoLastKey, f.last})
		if f.bloom != nil {
			info = append(info, Pair{infoBloomType, []byte("ROW")}, Pair{infoLastBloomKey, f.last.Row()})
		}
		if f.hudi != nil {
			info = append(info, Pair{infoHudiBloomType, []byte(hudiDynamic)})
		}
		if f.o.HudiRange {
			info = append(info, Pair{infoMinRecord, f.firstRow}, Pair{infoMaxRecord, f.last.Row()})
		}
	}
	return info.sorted()
}

// Bound returns the most bytes of the file if one more cell, with a key and a value of the
// given sizes, is appended and the file is then closed.
func (f *Writer) Bound(key, value int) int64 {
	stored := f.o.Codec.stored
	// The cell may be in a block of its own, and each data block in a leaf of its own.
	entry := int64(pointerSize + 9 + key)
	n := f.written + stored(int64(len(f.buf)-headerSize)) + stored(cellSize(key, value))
	n += stored(f.index.bound()+4*entry) + 4*stored(0)
	n += f.index.blocks() * stored(0)
	if f.bloom != nil {
		n += f.bloom.bound(key, stored)
	}
	if f.hudi != nil {
		n += stored(f.hudi.size()) + stored(int64(256))
	}
	info := 512 + 2*key
	if f.o.HudiRange {
		info += len(f.firstRow) + 2*key
	}
	return n + f.optionsSize + stored(int64(info)) + stored(0) + trailerSize
}

// optionsBound returns the most bytes that the meta blocks and pairs of the options have in a file.
func (o *WriterOptions) optionsBound() (n int64) {
	info := int64(0)
	for _, p := range o.Info {
		info += int64(len(p.Key) + len(p.Value) + 32)
	}
	for _, m := range o.Meta {
		n += o.Codec.stored(int64(len(m.Value))) + o.Codec.stored(int64(pointerSize+9+len(m.Key)))
	}
	return n + o.Codec.stored(info)
}

// stored returns the most bytes that a block of n bytes takes in a file.
func (c Codec) stored(n int64) int64 {
	n += headerSize + checksumSize*maxChecksums
	if c == GZ {
		n += n/64 + 256
	}
	return n
}
