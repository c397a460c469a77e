package hfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// madeBy returns the file of a Writer that change may change before it is closed.
func madeBy(t testing.TB, o WriterOptions, rows int, change func(w *Writer)) file {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, o)
	testenv.Must(t, err)
	for i := range rows {
		testenv.Must(t, w.Append(AppendKey(nil, fmt.Appendf(nil, "row%04d", 2*i), nil, nil, LatestTimestamp, Put), fmt.Appendf(nil, "value %d", i)))
	}
	change(w)
	testenv.Must(t, w.Close())
	return b.Bytes()
}

// block writes an empty block, and returns an entry that points to it.
func (f *Writer) block(t *testing.T, magic string) indexEntry {
	t.Helper()
	offset, size, err := f.write(magic, make([]byte, headerSize, headerSize+checksumSize))
	testenv.Must(t, err)
	return indexEntry{offset: offset, size: size, key: []byte("~")}
}

// rootEntry returns the offset of an entry in a root block whose keys have keyOverhead and
// seven bytes. rootKey is the offset of the key in an entry.
func rootEntry(i int) int { return headerSize + i*(pointerSize+1+keyOverhead+7) }

const rootKey = pointerSize + 1

// TestVerify checks that Verify finds damage that no checksum detects.
func TestVerify(t *testing.T) {
	flat := madeBy(t, WriterOptions{BlockSize: 150, RowBloom: true}, 30, func(*Writer) {})
	deep, wide := everything(t, None), madeFile(t, WriterOptions{BlockSize: 150, IndexBlockSize: 150}, 60)
	testenv.Must(t, flat.verify())
	data := flat.offsets(t, magicData)
	last := len(data) - 1
	lastKey := AppendKey(nil, []byte("row0058"), nil, nil, LatestTimestamp, Put)
	inInfo := func(key string, at int, c byte) file {
		return flat.changed(t, magicInfo, 0, func(b []byte) { b[bytes.Index(b, []byte(key))+at] = c })
	}
	lastKeyAt := len(infoLastKey) + 2 // after tag and length
	small := WriterOptions{RowBloom: true}

	for _, c := range []struct {
		name, text string
		f          file
	}{
		{"chain", "the block has the previous one of its kind at 5", flat.changed(t, magicData, 1, be64(16, 5))},
		{"a root among the data", "before the beginning of the indexes", flat.changed(t, magicData, 0, func(b []byte) { copy(b, magicRoot) })},
		{"order", "sorts before the previous one", flat.changed(t, magicData, 1, func(b []byte) { b[headerSize+8+rowLengthSize+3] = '/' })},
		{"no bits", "the Bloom filter does not have the row", flat.changed(t, magicBloomChunk, 0, func(b []byte) {
			h, _ := parseBlockHeader(b, 0, int64(len(b)))
			clear(b[headerSize:h.covered])
		})},
		{"a missing chunk", "the Bloom filter has 2 chunks, the file 1", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			w.bloom.chunks = append(w.bloom.chunks, indexEntry{offset: 7, size: 70, key: []byte("~")})
		})},
		{"another chunk", "the Bloom filter does not have chunk 1", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			e := w.block(t, magicBloomChunk)
			e.offset--
			w.bloom.chunks = append(w.bloom.chunks, e)
		})},
		{"a chunk's size", "the Bloom filter does not have chunk 1", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			e := w.block(t, magicBloomChunk)
			e.size--
			w.bloom.chunks = append(w.bloom.chunks, e)
		})},
		{"an extra chunk", "the Bloom filter does not have chunk 1", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			w.block(t, magicBloomChunk)
		})},
		{"an extra entry", "the index has data block 1 of 70 bytes there", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			w.index.add(w.written, 70, AppendRowKey(nil, []byte("row9999")))
		})},
		{"an index block twice", "the index leads back to a block before", wide.changed(t, magicRoot, 0, func(b []byte) {
			copy(b[rootEntry(1):][:pointerSize], b[rootEntry(0):])
		})},
		{"an index block's size", "a block of 185 bytes, the index says 186", deep.changed(t, magicRoot, 0, func(b []byte) { b[rootEntry(0)+pointerSize-1]++ })},
		{"the key above", "the entry above has", deep.changed(t, magicRoot, 0, func(b []byte) { b[rootEntry(1)-1] = byte(Delete) })},
		{"a block without an index", "the index has 3 data blocks, the file 4", madeBy(t, WriterOptions{BlockSize: 1}, 4, func(w *Writer) {
			flush(t, w)
			w.index.pending = w.index.pending[:3]
		})},
		{"a meta block for a data block", "the meta index does not have meta block 0", flat.changed(t, magicData, last, func(b []byte) {
			copy(b, magicMeta)
			be64(16, -1)(b)
		})},
		{"another block", "the index has data block 2", flat.changed(t, magicRoot, 0, func(b []byte) {
			copy(b[rootEntry(2):][:8], b[rootEntry(3):])
		})},
		{"a block's size", "the index has data block 2", flat.changed(t, magicRoot, 0, func(b []byte) { b[rootEntry(2)+pointerSize-1]++ })},
		{"a key above the block's", "for a block that begins with", flat.changed(t, magicRoot, 0, func(b []byte) {
			b[rootEntry(1)+rootKey+rowLengthSize+6]++
		})},
		{"a block of nothing", "a data block without cells", madeBy(t, small, 3, func(w *Writer) {
			flush(t, w)
			e := w.block(t, magicData)
			w.index.add(e.offset, e.size, AppendRowKey(nil, []byte("row9999")))
		})},
		{"a key below the block before", "for a block after", flat.changed(t, magicRoot, 0, func(b []byte) {
			b[rootEntry(2)+rootKey+rowLengthSize] = 'a'
		})},
		{"a missing meta block", "the meta index has 1 blocks, the file 0", madeBy(t, small, 3, func(w *Writer) {
			w.metaEntries = append(w.metaEntries, indexEntry{offset: 7, size: 70, key: []byte("m")})
		})},
		{"another meta block", "the meta index does not have meta block 0", madeBy(t, small, 3, func(w *Writer) {
			e := w.block(t, magicMeta)
			e.offset--
			w.metaEntries = append(w.metaEntries, e)
		})},
		{"a meta block's size", "the meta index does not have meta block 0", madeBy(t, small, 3, func(w *Writer) {
			e := w.block(t, magicMeta)
			e.size--
			w.metaEntries = append(w.metaEntries, e)
		})},
		{"a meta block without an index", "the meta index does not have meta block 0", madeBy(t, small, 3, func(w *Writer) { w.block(t, magicMeta) })},
		{"no last key", "is recorded as no key", inInfo(infoLastKey, lastKeyAt, 1)},
		{"another last row", "is recorded as row", inInfo(infoLastKey, lastKeyAt+rowLengthSize+6, '9')},
		{"another last row by Hudi", "is recorded as row", inInfo(infoLastKey, lastKeyAt+rowLengthSize+6, '9').withTrailer(t, func(tr *Trailer) {
			tr.Minor, tr.Comparator = 0, hudiPackage+"Order"
		})},
		{"another last type", "is recorded as row", inInfo(infoLastKey, lastKeyAt+len(lastKey)-1, byte(Delete))},
		{"no average", infoAverageKey + " is recorded as 0", inInfo(infoAverageKey, 0, 'x')},
		{"no average of nothing", infoAverageValue + " is recorded as 0", madeBy(t, small, 0, func(w *Writer) {
			testenv.Must(t, w.Append(lastKey, nil))
		}).changed(t, magicInfo, 0, func(b []byte) { b[bytes.Index(b, []byte(infoAverageValue))] = 'x' })},
		{"another average", infoAverageValue + " is recorded as 9", inInfo(infoAverageValue, len(infoAverageValue)+2+3, 9)},
		{"cells", "the file has 30 cells, its trailer says 31", flat.withTrailer(t, func(tr *Trailer) { tr.Entries++ })},
		{"the first block", "the data blocks are recorded", flat.withTrailer(t, func(tr *Trailer) { tr.FirstData = data[1] })},
		{"the last block", "the data blocks are recorded", flat.withTrailer(t, func(tr *Trailer) { tr.LastData = data[1] })},
		{"a block over two parts", "where the indexes begin", overlapping(t)},
		{"meta blocks", "bytes after the 0 entries", deep.withTrailer(t, func(tr *Trailer) { tr.MetaIndex = 0 })},
		{"encoding", "data blocks have the encoding PREFIX", madeFile(t, WriterOptions{Info: Info{{infoEncoding, []byte("PREFIX")}}}, 1)},
	} {
		wantDamage(t, c.name, c.f.verify(), c.text)
	}
}

// flush writes the open blocks before the file is closed.
func flush(t *testing.T, w *Writer) {
	t.Helper()
	testenv.Must(t, w.flush(true))
}

// overlapping returns a file without checksums whose last meta block extends to the trailer.
func overlapping(t *testing.T) file {
	f := madeFile(t, WriterOptions{RowBloom: true, Meta: []Pair{{"m", []byte("block")}}}, 3)
	end := len(f) - trailerSize
	at := int(f.offsets(t, magicMeta)[0])
	for i := 0; i < end; {
		h := f.header(t, int64(i))
		f[i+24] = byte(NoChecksum)
		i += h.size()
	}
	stored := int64(end - at - headerSize)
	for _, change := range []func([]byte){be32(8, stored), be32(12, stored-checksumSize), be32(29, headerSize+stored-checksumSize)} {
		change(f[at:])
	}
	return f
}

// TestLastKey checks the last key in the form of HBase, in the form of Hudi, and in neither form.
func TestLastKey(t *testing.T) {
	key := AppendRowKey(nil, []byte("row"))
	long := append([]byte{0x80, 0}, make([]byte, MaxRow+1)...)
	for _, c := range []struct {
		stored []byte
		want   Key
	}{{nil, nil}, {key, key}, {key[:rowLengthSize+3], key}, {[]byte{0, 0}, AppendRowKey(nil, nil)}, {key[:4], nil}, {[]byte{0}, nil}, {long, nil}} {
		r := &Reader{info: Info{{infoLastKey, c.stored}}}
		if got := r.LastKey(); !bytes.Equal(got, c.want) {
			t.Errorf("%.9x is read as %s", c.stored, got)
		}
	}
}

// TestBlocksInACircle checks that an index that leads to the same blocks repeatedly is rejected.
func TestBlocksInACircle(t *testing.T) {
	f := madeFile(t, WriterOptions{BlockSize: 150, IndexBlockSize: 150}, 60).changed(t, magicRoot, 0, func(b []byte) { copy(b[rootEntry(1):][:pointerSize], b[rootEntry(0):]) })
	r, err := f.open()
	testenv.Must(t, err)
	wantDamage(t, "circle", r.Blocks(func(int64, int, Key) error { return nil }), "leads back to a block before")

	const levels = 20
	f = madeBy(t, WriterOptions{}, 1, func(w *Writer) {
		flush(t, w)
		below := w.index.pending
		for level := range levels - 1 {
			magic, entries := magicIntermediate, []indexEntry{}
			if level == 0 {
				magic = magicLeaf
			}
			for range 2 {
				offset, size, err := w.write(magic, w.index.block(below))
				testenv.Must(t, err)
				entries = append(entries, indexEntry{offset, size, below[0].key})
			}
			below = entries
		}
		w.index = indexWriter{limit: w.index.limit, pending: below}
	}).withTrailer(t, func(tr *Trailer) { tr.Levels, tr.DataIndex = levels, 2 })
	if r, err = f.open(); err != nil {
		t.Fatal(err)
	}
	visits := 0
	wantDamage(t, "blocks of several above", r.Blocks(func(int64, int, Key) error { visits++; return nil }), "leads back to a block before")
	if visits > 1 {
		t.Errorf("the only block was visited %d times", visits)
	}
}

// TestEqualKeysOverBlocks checks that a seek finds all cells of a key that is in two blocks.
func TestEqualKeysOverBlocks(t *testing.T) {
	key := func(row string) Key { return AppendKey(nil, []byte(row), nil, nil, LatestTimestamp, Put) }
	f := madeBy(t, WriterOptions{}, 0, func(w *Writer) {
		for _, row := range []string{"a", "b", "", "b", "c"} {
			if row == "" {
				flush(t, w)
			} else if err := w.Append(key(row), nil); err != nil {
				t.Fatal(err)
			}
		}
	})
	testenv.Must(t, f.verify())
	r, err := f.open()
	testenv.Must(t, err)
	s := r.Scan()
	defer s.Close()
	n := 0
	for ok := s.Seek(key("b")); ok && string(s.Key().Row()) == "b"; ok = s.Next() {
		n++
	}
	if n != 2 {
		t.Errorf("%d of 2 cells are found", n)
	}
}

// TestVerifyRowOnly checks that Verify rejects an index of rows with a row below the block before.
func TestVerifyRowOnly(t *testing.T) {
	r, err := madeFile(t, WriterOptions{BlockSize: 150}, 30).open()
	testenv.Must(t, err)
	r.dialect = dialects[1]
	for i := range r.root {
		r.root[i].key = AppendRowKey(nil, Key(r.root[i].key).Row())
	}
	testenv.Must(t, r.Verify(t.Context()))
	r.root[1].key = AppendRowKey(nil, Key(r.root[0].key).Row())
	wantDamage(t, "a row too low", r.Verify(t.Context()), "for a block after")
}

// TestScanOfAll checks scans of files whose trailers are wrong, because trailers have no checksums.
func TestScanOfAll(t *testing.T) {
	f := madeFile(t, WriterOptions{BlockSize: 150}, 30)
	scan := func(change func(*Trailer)) (n int, err error) {
		r, err := f.withTrailer(t, change).open()
		testenv.Must(t, err)
		s := r.Scan()
		defer s.Close()
		for s.Next() {
			n++
		}
		return n, s.Err()
	}
	for _, first := range []int64{f.offsets(t, magicData)[1], 1 << 40} {
		if n, err := scan(func(tr *Trailer) { tr.FirstData = first }); n != 30 || err != nil {
			t.Errorf("%d cells with the first block at %d, %v", n, first, err)
		}
	}
	_, err := scan(func(tr *Trailer) { tr.Entries++ })
	wantDamage(t, "a cell that is not there", err, "the file has 30 cells, its trailer says 31")
}

func TestEmptyChunk(t *testing.T) {
	var e indexEntry
	f := madeBy(t, WriterOptions{}, 1, func(w *Writer) { e = w.block(t, magicBloomChunk) })
	r, err := f.open()
	testenv.Must(t, err)
	_, err = r.Scan().bloomChunk(e)
	wantDamage(t, "chunk", err, "of no bytes")
}

// TestMemory opens a file with less memory than its indexes take, and with a smaller limit.
func TestMemory(t *testing.T) {
	f := everything(t, None)
	_, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{MaxBlock: 100})
	wantDamage(t, "limit", err, "bytes of indexes, at most 100 are read")
	for limit := int64(1); limit < 3*tailSize; limit += 100 {
		memory := &formattest.Memory{Limit: limit}
		r, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
		if err == nil {
			s := r.Scan()
			for s.Next() {
			}
			s.SeekRow([]byte("row0005"))
			_, err = s.MayContainRow([]byte("row0005"))
			s.Close()
			r.Close()
		}
		if memory.Held != 0 {
			t.Fatalf("with %d bytes, %d are held, %v", limit, memory.Held, err)
		}
	}
}

// TestLargeTail checks that a file whose indexes are larger than the first read can be opened.
func TestLargeTail(t *testing.T) {
	f := madeFile(t, WriterOptions{BlockSize: 1, Info: Info{{"large", make([]byte, 2*tailSize)}}}, 100)
	if err := f.verify(); err != nil {
		t.Error(err)
	}
	want, _ := f.content()
	other := slices.Clone(f)
	binary.BigEndian.PutUint32(other[len(other)-4:], 3) // the minor version of Hudi
	if got, err := other.content(); err != nil || got != want {
		t.Error(err)
	}
}
