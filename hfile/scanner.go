package hfile

import (
	"bytes"
	"encoding/binary"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/wire"
)

// Scanner reads the cells of a file in their order. It is for one goroutine, and its creator
// closes it. After an error Next returns false until a seek. After Close it returns false.
type Scanner struct {
	f      *Reader
	data   *blockReader
	levels []level // index blocks below the root, the topmost first

	offset  int64 // offset of the data block in the file; -1 if no block is read
	next    int64 // offset after the data block
	payload []byte
	at      int // offset of the next cell in payload
	key     Key
	value   []byte
	onCell  bool  // key and value are set
	cells   int64 // cells read since the beginning of the file; negative after a seek
	err     error

	chunk     *blockReader // reads chunks of the Bloom filter
	chunkAt   int64        // offset of the chunk in chunkBits
	chunkBits []byte
}

// level is one level of the index below the root, with the last block that was read of it.
type level struct {
	blocks *blockReader
	offset int64
	block  indexBlock
}

// Scan returns a scanner before the first cell.
func (f *Reader) Scan() *Scanner {
	s := &Scanner{f: f, data: f.blocks(), offset: -1, levels: make([]level, f.trailer.Levels-1)}
	for i := range s.levels {
		s.levels[i] = level{blocks: f.blocks(), offset: -1}
	}
	return s
}

// Close releases the scanner's memory.
func (s *Scanner) Close() {
	s.data.close()
	for i := range s.levels {
		s.levels[i].blocks.close()
	}
	if s.chunk != nil {
		s.chunk.close()
	}
	s.payload, s.key, s.value, s.chunkBits, s.offset, s.onCell = nil, nil, nil, nil, -1, false
	//guard: ends the scan for a later Next
	s.at, s.next, s.cells = 0, s.f.trailer.LoadOnOpen, -1
}

// Key returns the key of the cell. It is valid until the scanner moves.
func (s *Scanner) Key() Key { return s.key }

// Value returns the value of the cell. It is valid until the scanner moves.
func (s *Scanner) Value() []byte { return s.value }

// Err returns the error that ended the scan, or nil at the end of the file.
func (s *Scanner) Err() error { return s.err }

// fail ends the scan.
func (s *Scanner) fail(err error) bool {
	s.err, s.onCell = s.f.located(err), false
	return false
}

// Next moves to the next cell. It returns false at the end and after an error.
func (s *Scanner) Next() bool {
	if s.err != nil {
		return false
	}
	for s.at == len(s.payload) {
		if more, err := s.nextBlock(); err != nil {
			return s.fail(err)
		} else if !more {
			s.onCell = false
			return s.complete()
		}
	}
	if err := s.cell(); err != nil {
		return s.fail(err)
	}
	s.onCell = true
	if s.cells >= 0 {
		s.cells++
	}
	return true
}

// complete ends a scan at the end of the file. After a seek it does not check the number of
// cells. It returns false.
func (s *Scanner) complete() bool {
	//guard: rejects a file with more or fewer cells than its trailer says
	if n := s.f.trailer.Entries; s.cells >= 0 && s.cells != n {
		return s.fail(damage.New(damage.Count, "", s.f.size-trailerSize, "the file has %d cells, its trailer says %d", s.cells, n))
	}
	return false
}

// Seek moves to the first cell whose key is at or after key. It returns false if there is no
// such cell, and after an error. A data block that the scanner is in is not read again.
func (s *Scanner) Seek(key Key) bool {
	s.err, s.cells = nil, -1
	e, ok, err := s.find(key)
	if err != nil {
		return s.fail(err)
	}
	if !ok {
		s.onCell = false
		s.at = len(s.payload)
		s.next = s.f.trailer.LoadOnOpen
		return false
	}
	switch {
	case e.offset != s.offset:
		if err := s.readBlock(e.offset, e.size); err != nil {
			return s.fail(err)
		}
	case s.onCell && s.key.Compare(key) < 0:
		// The scan goes on from the current cell.
	default:
		s.at = 0 // The scan starts again at the block's first cell.
	}
	for s.Next() {
		if s.key.Compare(key) >= 0 {
			return true
		}
	}
	return false
}

// SeekRow moves like Seek to the first cell of a row. If the file does not have the row, it
// moves to the first cell of the next row. The row may have more than MaxRow bytes.
func (s *Scanner) SeekRow(row []byte) bool {
	start := row
	//guard: shortens a row that is too long for a key
	if len(row) > MaxRow {
		start = row[:MaxRow]
	}
	ok := s.Seek(AppendRowKey(nil, start))
	//guard: skips rows before row, which Seek finds if row was shortened
	for ok && bytes.Compare(s.key.Row(), row) < 0 {
		ok = s.Next()
	}
	return ok
}

// find returns the index entry of the data block in which to look for the first cell at or after
// key. If an index entry has exactly this key, find returns the block before it, because the last
// cell of that block may have the same key. ok is false if the file has no blocks.
func (s *Scanner) find(key Key) (e indexEntry, ok bool, err error) {
	root := s.f.root
	if len(root) == 0 {
		return e, false, nil
	}
	e = root[lastBelow(len(root), key, func(i int) []byte { return root[i].key })]
	for i := range s.levels {
		l := &s.levels[i]
		if err := s.descend(l, e, i == len(s.levels)-1); err != nil {
			return e, false, err
		}
		e = l.block.entry(lastBelow(l.block.n, key, func(i int) []byte { return l.block.entry(i).key }))
	}
	return e, true, nil
}

// walkIndex visits the blocks of the index in file order. It calls index for each index block
// below the root, with the block's entry and first key. It calls data for each data block.
func (s *Scanner) walkIndex(index func(e indexEntry, first Key) error, data func(e indexEntry) error) error {
	least := make([]int64, len(s.levels)+1) // by level, the lowest offset that the next block may have
	var walk func(entries int, entry func(i int) indexEntry, depth int) error
	walk = func(entries int, entry func(i int) indexEntry, depth int) error {
		for i := range entries {
			e := entry(i)
			//guard: rejects an index that leads in a circle
			if e.offset < least[depth] {
				return damage.New(damage.Value, "", e.offset, "the index leads back to a block before %d", least[depth])
			}
			least[depth] = e.offset + headerSize
			if depth == len(s.levels) {
				if err := data(e); err != nil {
					return err
				}
				continue
			}
			l := &s.levels[depth]
			if err := s.descend(l, e, depth == len(s.levels)-1); err != nil {
				return err
			}
			if err := index(e, l.block.entry(0).key); err != nil {
				return err
			}
			if err := walk(l.block.n, l.block.entry, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(len(s.f.root), func(i int) indexEntry { return s.f.root[i] }, 0)
}

// descend reads the index block that an entry points to, unless l has it.
func (s *Scanner) descend(l *level, e indexEntry, leaf bool) error {
	if l.offset == e.offset {
		return nil
	}
	l.offset = -1
	magic := magicIntermediate
	if leaf {
		magic = magicLeaf
	}
	_, payload, err := l.blocks.read(e.offset, e.size, magic)
	if err != nil {
		return err
	}
	if l.block, err = parseIndexBlock(payload, e.offset+headerSize); err != nil {
		return err
	}
	l.offset = e.offset
	return nil
}

// readBlock reads the data block of size bytes at an offset.
func (s *Scanner) readBlock(offset int64, size int) error {
	s.offset, s.payload, s.at, s.onCell = -1, nil, 0, false
	h, payload, err := s.data.read(offset, size, magicData)
	if err != nil {
		return err
	}
	s.offset, s.next, s.payload = offset, offset+int64(h.size()), payload
	return nil
}

// nextBlock reads the next data block. more is false if there is no other data block.
func (s *Scanner) nextBlock() (more bool, err error) {
	// A file begins with its data blocks. The trailer also records the offset of the first data
	// block, which is not used, because the trailer has no checksum.
	at := s.next
	for at < s.f.trailer.LoadOnOpen {
		h, err := s.data.header(at)
		if err != nil {
			return false, err
		}
		switch h.magic {
		case magicLeaf, magicBloomChunk:
			at += int64(h.size())
			continue
		case magicMeta, magicIntermediate:
			at = s.f.trailer.LoadOnOpen
			continue
		}
		return true, s.readBlock(at, h.size())
	}
	s.next = at
	s.payload, s.at, s.offset = nil, 0, -1
	return false, nil
}

// cell reads the cell at s.at:
//
//	| key length: 4 | value length: 4 | key | value | tags length: 2 | tags | version: VInt |
//
// The cells of a file without tags have no tags length. Those of a file without versions have no
// version.
func (s *Scanner) cell() error {
	b := s.payload[s.at:]
	//guard: rejects a cell without its lengths
	if len(b) < 8 {
		return s.damaged("%d bytes are left, a cell begins with 8 bytes of lengths", len(b))
	}
	key, value := int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[4:]))
	//guard: rejects a cell that reaches beyond the block
	if key < 0 || value < 0 || int64(key)+int64(value) > int64(len(b)-8) {
		return s.damaged("a cell with a key of %d bytes and a value of %d bytes, but the block has only %d more", key, value, len(b)-8)
	}
	s.key = b[8 : 8+key]
	if err := checkKey(s.key, s.offset); err != nil {
		return err
	}
	end := 8 + int(key) + int(value)
	s.value = b[8+key : end]
	if s.f.hasTags {
		//guard: rejects tags that reach beyond the block
		if len(b)-end < 2 || len(b)-end-2 < int(binary.BigEndian.Uint16(b[end:])) {
			return s.damaged("a cell's tags do not fit the block")
		}
		end += 2 + int(binary.BigEndian.Uint16(b[end:]))
	}
	if s.f.hasVersions {
		//guard: rejects a version that reaches beyond the block
		if len(b) == end || len(b)-end < wire.VIntSize(b[end]) {
			return s.damaged("a cell's version does not fit the block")
		}
		end += wire.VIntSize(b[end])
	}
	s.at += end
	return nil
}

func (s *Scanner) damaged(reason string, args ...any) error {
	return damage.New(damage.Size, "", s.offset, reason, args...)
}
