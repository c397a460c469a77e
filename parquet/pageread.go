package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// pageHead is the header of a page, as this package reads it: unlike parquet.PageHeader, it says
// whether there is a checksum.
type pageHead struct {
	Type       pq.PageType                          `thrift:"1,required"`
	Raw        int32                                `thrift:"2,required"`
	Stored     int32                                `thrift:"3,required"`
	CRC        thrift.Null[int32]                   `thrift:"4,optional"`
	Data       thrift.Null[pq.DataPageHeader]       `thrift:"5,optional"`
	Dictionary thrift.Null[pq.DictionaryPageHeader] `thrift:"7,optional"`
	DataV2     thrift.Null[pq.DataPageHeaderV2]     `thrift:"8,optional"`
}

// loadedPage is a decompressed page. Its parts are not changed.
type loadedPage struct {
	head     pageHead
	number   int // of the data page
	entries  int
	rows     int    // by the index; 0 for a dictionary
	reps     []byte // repetition levels, if the leaf has them
	defs     []byte // definition levels, if the leaf has them
	values   []byte
	encoding pq.Encoding
	headSize int // bytes of the stored header
}

// pageReader reads pages of one chunk, each into the same memory unless the column is shared.
type pageReader struct {
	p     *part
	c     *partChunk
	room  column.Room
	page  loadedPage
	held  *shelved[*loadedPage] // the page that was loaded last, if the column is shared
	words *shelved[*words]      // the dictionary, once it was needed
}

// turn continues with another chunk of the column.
func (r *pageReader) turn(c *partChunk) {
	r.leave()
	r.c = c
}

// leave ends the use of the page and of the dictionary that cursors share.
func (r *pageReader) leave() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.p.memory.Release(r.held.leave() + r.words.leave())
	r.held, r.words = nil, nil
}

// refused adds the page to err, which refused memory for it.
func (r *pageReader) refused(at, size int64, err error) error {
	return fmt.Errorf("%s: column %s: a page at offset %d, of %d bytes: %w", r.p.file.Name(), r.c.leaf.Name, at, size, err)
}

// close releases the memory of the page.
func (r *pageReader) close() { r.room.Release(r.p.memory) }

// load returns data page i, valid until the next load.
func (r *pageReader) load(i int) (*loadedPage, error) {
	if r.c.shared && r.takePage(i) {
		return r.held.item, nil
	}
	k := &r.c.pages[i]
	page, err := r.read(i, k.offset, k.size, r.entryOf(i))
	if err != nil {
		r.close()
		return nil, err
	}
	if r.c.shared {
		return r.putPage(), nil
	}
	return page, nil
}

// takePage leaves the page that was loaded last, and takes page i if it is on the shelf.
func (r *pageReader) takePage(i int) bool {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.p.memory.Release(r.held.leave())
	r.held = r.c.pagesShelf.take(r.c, i)
	return r.held != nil
}

// putPage puts the page that was read on the shelf, with its memory.
func (r *pageReader) putPage() *loadedPage {
	page := r.page
	r.held = &shelved[*loadedPage]{chunk: r.c, number: page.number, item: &page, held: r.room.Held}
	r.room, r.page = column.Room{}, loadedPage{}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.p.memory.Release(r.c.pagesShelf.put(r.held))
	return &page
}

// dictionary returns the words of the chunk, or nil if it has none. It reads them unless they are on
// the shelf.
func (r *pageReader) dictionary() (*words, error) {
	c := r.c
	if c.start == c.dataAt {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.words == nil {
		r.words = c.wordsShelf.take(c, 0)
	}
	if r.words == nil {
		w, err := (&pageReader{p: r.p, c: c}).readDictionary()
		if err != nil {
			return nil, err
		}
		r.words = &shelved[*words]{chunk: c, item: w, held: w.held}
		r.p.memory.Release(c.wordsShelf.put(r.words))
	}
	return r.words.item, nil
}

// readDictionary reads the dictionary of the chunk, which must have one. The words keep the
// memory of the page if they are text.
func (r *pageReader) readDictionary() (w *words, err error) {
	c, keep := r.c, false
	defer func() {
		if !keep {
			r.close()
		}
	}()
	page, err := r.read(-1, c.start, c.dataAt-c.start, 0)
	if err != nil {
		return nil, err
	}
	v := newValueReader(c.leaf)
	reserved := &column.Reservation{Account: r.p.memory}
	defer reserved.ShrinkTo(0)
	if err := reserved.Reserve(v.wordsMemory(page)); err != nil {
		return nil, r.refused(c.start, c.dataAt-c.start, err)
	}
	if w, err = v.readDictionary(page); err == nil {
		err = r.p.memory.Reserve(w.size())
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) && d.File == "" {
		d.File, d.Column, d.Offset = r.p.file.Name(), c.leaf.Name, c.start
	}
	if err != nil {
		return nil, err
	}
	w.held = w.size()
	if keep = w.text != nil; keep {
		w.held += r.room.Held
	}
	return w, nil
}

// entryOf returns the entry of a data page's header in the chunk's checksums.
func (r *pageReader) entryOf(i int) int {
	if r.c.start < r.c.dataAt {
		return i + 1
	}
	return i
}

// read reads the page of size bytes at an offset. number is that of a data page, or -1 for the
// dictionary. entry is its header's entry in the chunk's checksums.
func (r *pageReader) read(number int, at, size int64, entry int) (*loadedPage, error) {
	if r.c.codec == pq.Uncompressed {
		if err := r.room.Make(r.p.memory, size); err != nil {
			return nil, r.refused(at, size, err)
		}
		r.room.Bytes = r.room.Bytes[:size]
		return r.readStored(r.room.Bytes, number, at, entry)
	}
	buf, err := column.StoredBuffer(r.p.memory, size)
	if err != nil {
		return nil, r.refused(at, size, err)
	}
	defer column.ReleaseStored(r.p.memory, buf)
	return r.readStored(*buf, number, at, entry)
}

// readBytes reads the bytes of a page.
func (r *pageReader) readBytes(buf []byte, number int, at int64) error {
	read := r.p.file.ReadBlock
	if number < 0 {
		read = r.p.file.ReadTable
	}
	n, err := read(buf, r.c.leaf.number, at, r.c.end)
	return damage.Full(n, err, len(buf), at, r.p.file.Name())
}

// readStored reads a page as it is in the file into buf, checks and decodes it.
func (r *pageReader) readStored(buf []byte, number int, at int64, entry int) (_ *loadedPage, err error) {
	if err := r.readBytes(buf, number, at); err != nil {
		return nil, err
	}
	page := &r.page
	*page = loadedPage{number: number}
	if page.headSize, err = r.header(buf, number, at, entry, &page.head); err != nil {
		return nil, err
	}
	fail := func(kind damage.Kind, reason string, args ...any) (*loadedPage, error) {
		return nil, r.p.damaged(r.c, number, kind, at, reason, args...)
	}
	body, head := buf[page.headSize:], &page.head
	switch {
	//guard: rejects a page of another size than the index says
	case int64(head.Stored) != int64(len(body)):
		return fail(damage.Size, "the page has %d bytes, its header says %d", len(body), head.Stored)
	//guard: rejects a negative size
	case head.Raw < 0:
		return fail(damage.Size, "the page has %d bytes before compression", head.Raw)
	//guard: bounds the memory for a page
	case int64(head.Raw) > r.p.max:
		return fail(damage.Unsupported, "a page of %d bytes exceeds the limit of %d", head.Raw, r.p.max)
	}
	if head.CRC.Valid {
		//guard: rejects damaged values
		if got := crc32.ChecksumIEEE(body); got != uint32(head.CRC.V) {
			return fail(damage.Checksum, "the stored CRC-32 is %08x, the page's is %08x", uint32(head.CRC.V), got)
		}
	} else {
		r.p.unverified.Store(true)
	}
	return page, r.split(page, body, at)
}

// header reads the header of a page and checks it against its checksum.
func (r *pageReader) header(buf []byte, number int, at int64, entry int, head *pageHead) (size int, err error) {
	if size, err = unmarshal(r.p.file.Name(), at, buf, head); err == nil {
		err = r.p.checkEntry(r.c, entry, buf[:size], at, "page header")
	}
	if err == nil {
		return size, nil
	}
	var d *damage.Error
	if errors.As(err, &d) {
		d.Column, d.Block = r.c.leaf.Name, int64(number)
	}
	return size, err
}

// split decompresses the body of a page and finds its parts.
func (r *pageReader) split(page *loadedPage, body []byte, at int64) error {
	head := &page.head
	fail := func(kind damage.Kind, reason string, args ...any) error {
		return r.p.damaged(r.c, page.number, kind, at, reason, args...)
	}
	entries := int32(0)
	switch {
	case page.number < 0:
		//guard: rejects another page in place of the dictionary
		if head.Type != pq.DictionaryPage || !head.Dictionary.Valid {
			return fail(damage.Header, "a page of the type %v, expected a dictionary", head.Type)
		}
		entries, page.encoding = head.Dictionary.V.NumValues, head.Dictionary.V.Encoding
	case head.Type == pq.DataPage && head.Data.Valid:
		d := &head.Data.V
		entries, page.encoding = d.NumValues, d.Encoding
		//guard: refuses levels in the old encoding
		if r.c.leaf.rep > 0 && d.RepetitionLevelEncoding != pq.RLE || r.c.leaf.def > 0 && d.DefinitionLevelEncoding != pq.RLE {
			return fail(damage.Unsupported, "levels with the encodings %v and %v", d.RepetitionLevelEncoding, d.DefinitionLevelEncoding)
		}
	case head.Type == pq.DataPageV2 && head.DataV2.Valid:
		entries, page.encoding = head.DataV2.V.NumValues, head.DataV2.V.Encoding
	//guard: rejects another page in place of a data page
	default:
		return fail(damage.Header, "a page of the type %v (%d), expected a data page", head.Type, int32(head.Type))
	}
	//guard: rejects a negative number of values
	if entries < 0 {
		return fail(damage.Count, "a page of %d values", entries)
	}
	page.entries = int(entries)
	if page.number >= 0 {
		rows := r.c.pages[page.number].rows
		page.rows = int(rows)
		//guard: rejects a page without an entry for each row
		if int64(entries) < rows || r.c.leaf.rep == 0 && int64(entries) != rows {
			return fail(damage.Count, "the page has %d values and nulls, its index %d rows", entries, rows)
		}
		if head.Type == pq.DataPageV2 {
			return r.splitV2(page, body, at)
		}
	}
	raw, err := r.decompress(page, nil, body, int(head.Raw), at)
	if err != nil {
		return err
	}
	if page.number >= 0 {
		if page.reps, raw, err = r.levels(page, raw, r.c.leaf.rep, at); err == nil {
			page.defs, raw, err = r.levels(page, raw, r.c.leaf.def, at)
		}
	}
	page.values = raw
	return err
}

// levels cuts the levels of a page of version 1 from the start of raw, if there are any.
func (r *pageReader) levels(page *loadedPage, raw []byte, most int, at int64) (levels, rest []byte, err error) {
	if most == 0 {
		return nil, raw, nil
	}
	//guard: rejects levels beyond the page
	if len(raw) < 4 || uint64(binary.LittleEndian.Uint32(raw)) > uint64(len(raw)-4) {
		return nil, nil, r.p.damaged(r.c, page.number, damage.Size, at, "the levels reach beyond the last %d bytes of the page", len(raw))
	}
	n := 4 + int(binary.LittleEndian.Uint32(raw))
	return raw[4:n], raw[n:], nil
}

// splitV2 finds the parts of a page of version 2, whose levels are not compressed.
func (r *pageReader) splitV2(page *loadedPage, body []byte, at int64) error {
	h := &page.head.DataV2.V
	fail := func(kind damage.Kind, reason string, args ...any) error {
		return r.p.damaged(r.c, page.number, kind, at, reason, args...)
	}
	reps, defs := int64(h.RepetitionLevelsByteLength), int64(h.DefinitionLevelsByteLength)
	switch {
	//guard: rejects levels beyond the page
	case reps < 0 || defs < 0 || reps+defs > int64(len(body)) || reps+defs > int64(page.head.Raw):
		return fail(damage.Size, "levels of %d and %d bytes in a page of %d bytes, %d before compression", reps, defs, len(body), page.head.Raw)
	//guard: rejects levels that a column cannot have
	case r.c.leaf.rep == 0 && reps > 0 || r.c.leaf.def == 0 && defs > 0:
		return fail(damage.Size, "levels of %d and %d bytes, but the column has levels up to %d and %d", reps, defs, r.c.leaf.rep, r.c.leaf.def)
	//guard: rejects a page with other rows than the index says
	case int64(h.NumRows) != r.c.pages[page.number].rows:
		return fail(damage.Count, "the page has %d rows, its index says %d", h.NumRows, r.c.pages[page.number].rows)
	}
	levels := body[:reps+defs]
	if r.c.codec != pq.Uncompressed && h.IsCompressed.Valid && !h.IsCompressed.V {
		// Only the values are raw; their place is the memory of stored bytes.
		if err := r.makeRoom(int64(len(body)), at); err != nil {
			return err
		}
		r.room.Bytes = append(r.room.Bytes[:0], body...)
		body = r.room.Bytes
		page.reps, page.defs, page.values = body[:reps], body[reps:reps+defs], body[reps+defs:]
		//guard: rejects a page whose sizes contradict each other
		if len(body) != int(page.head.Raw) {
			return fail(damage.Size, "%d bytes that are not compressed, the header says %d", len(body), page.head.Raw)
		}
		return nil
	}
	raw, err := r.decompress(page, levels, body[reps+defs:], int(page.head.Raw), at)
	if err != nil {
		return err
	}
	page.reps, page.defs, page.values = raw[:reps], raw[reps:reps+defs], raw[reps+defs:]
	return nil
}

func (r *pageReader) makeRoom(size, at int64) error {
	if err := r.room.Make(r.p.memory, size); err != nil {
		return r.refused(at, size, err)
	}
	return nil
}

// decompress returns the size bytes of a page before compression. levels were not compressed.
func (r *pageReader) decompress(page *loadedPage, levels, body []byte, size int, at int64) ([]byte, error) {
	values := size - len(levels)
	if r.c.codec == pq.Uncompressed {
		//guard: rejects a page whose sizes contradict each other
		if len(body) != values {
			return nil, r.p.damaged(r.c, page.number, damage.Size, at, "%d bytes that are not compressed, the header says %d", len(levels)+len(body), size)
		}
		return r.room.Bytes[page.headSize:], nil // levels and body are in this memory
	}
	var err error
	if len(body) > 0 || values > 0 { // no values can be no bytes
		err = checkDecompressed(r.c.codec, body, values)
	}
	if err == nil {
		if err := r.makeRoom(int64(size), at); err != nil {
			return nil, err
		}
		raw := r.room.Bytes[:size]
		copy(raw, levels)
		if len(body) > 0 {
			err = decompress(raw[len(levels):], r.c.codec, body)
		}
		if err == nil {
			return raw, nil
		}
	}
	d := r.p.damaged(r.c, page.number, damage.Codec, at, "%d bytes of %s cannot be decompressed to %d", len(body), codecOf(r.c.codec).name, values)
	d.Err = err
	return nil, d
}
