package hfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// wantDamage fails unless err is damage with a text.
func wantDamage(t *testing.T, name string, err error, text string) {
	t.Helper()
	var d *damage.Error
	if !errors.As(err, &d) || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want damage: %s", name, err, text)
	}
}

// be32 and be64 return functions that write a number at an offset.
func be32(at int, v int64) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

func be64(at int, v int64) func([]byte) {
	return func(b []byte) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
}

func TestBlockHeaderDamage(t *testing.T) {
	f := everything(t, None)
	h := f.header(t, 0)
	size := h.size()
	block := f[:size]
	covered := int64(h.covered)
	for _, c := range []struct {
		change func([]byte)
		text   string
	}{
		{func(b []byte) { b[24] = 3 }, "checksums of kind 3"},
		{be32(8, -1), "a block of -1 bytes and its header"},
		{be32(8, 1<<20), "a block of 1048576 bytes and its header"},
		{be32(12, -1), "a block of -1 bytes"},
		{be32(25, headerSize-1), "a checksum for each 32 bytes"},
		{be32(25, -1), "a checksum for each -1 bytes"},
		{be32(29, headerSize-1), "the checksums cover 32 bytes"},
		{be32(29, int64(size)+1), "bytes of a block"},
		{be32(29, covered-1), "payload and checksums have"},
	} {
		b := slices.Clone(block)
		c.change(b)
		_, err := parseBlockHeader(b, 0, int64(len(b)))
		wantDamage(t, c.text, err, c.text)
	}
	_, err := parseBlockHeader(block[:headerSize-1], 0, 1000)
	wantDamage(t, "cut", err, "32 bytes are left, a block's header has 33")
}

// blocksOf returns a reader of the blocks of a file.
func blocksOf(f file, codec Codec) *blockReader {
	return &blockReader{r: bytes.NewReader(f), codec: codec, end: int64(len(f) - trailerSize), max: 1 << 20, memory: column.Reservation{Account: column.Unlimited{}}}
}

func TestBlockDamage(t *testing.T) {
	for _, codec := range []Codec{None, GZ} {
		f := everything(t, codec)
		end := int64(len(f) - trailerSize)
		h := f.header(t, 0)
		size := h.size()
		for _, c := range []struct {
			text   string
			offset int64
			size   int
			change func(*blockReader)
		}{
			{"the blocks end at", -1, size, nil},
			{"the blocks end at", end - headerSize + 1, -1, nil},
			{"are left", 0, headerSize - 1, nil},
			{"are left", 0, int(end) + 1, nil},
			{"the index says", 0, size + 1, nil},
			{"at most", 0, size, func(b *blockReader) { b.max = int64(size) - 1 }},
		} {
			b := blocksOf(f, codec)
			if c.change != nil {
				c.change(b)
			}
			_, _, err := b.read(c.offset, c.size, magicData)
			wantDamage(t, c.text, err, c.text)
		}
		_, _, err := blocksOf(f, codec).read(0, size, magicLeaf)
		wantDamage(t, "another magic", err, "expected [\"IDXLEAF2\"]")
		encoded := f.changed(t, magicData, 0, func(b []byte) { copy(b, magicEncodedData) })
		_, _, err = blocksOf(encoded, codec).read(0, size, magicData)
		wantDamage(t, "an encoding", err, "DATA_BLOCK_ENCODING")
		other := f.changed(t, magicData, 0, be32(12, 1))
		_, _, err = blocksOf(other, codec).read(0, size, magicData)
		wantDamage(t, "another size", err, map[Codec]string{None: "bytes, the header says 1", GZ: "do not decompress to 1"}[codec])
		large := f.changed(t, magicData, 0, be32(12, 2<<20))
		_, _, err = blocksOf(large, codec).read(0, size, magicData)
		wantDamage(t, "a large one", err, map[Codec]string{None: "header says 2097152", GZ: "at most 1048576 are decoded"}[codec])
	}
}

func TestTrailerDamage(t *testing.T) {
	f := everything(t, None)
	end := int64(len(f) - trailerSize)
	for text, change := range map[string]func(*Trailer){
		"with LZO;":                                   func(tr *Trailer) { tr.Codec = 0 },
		"codec 99;":                                   func(tr *Trailer) { tr.Codec = 99 },
		"the trailer has the indexes at -1":           func(tr *Trailer) { tr.LoadOnOpen = -1 },
		"the file info at 5,":                         func(tr *Trailer) { tr.FileInfo = 5 },
		"but is itself at":                            func(tr *Trailer) { tr.FileInfo = end - headerSize + 1 },
		"-1 cells":                                    func(tr *Trailer) { tr.Entries = -1 },
		"an index of 0 levels":                        func(tr *Trailer) { tr.Levels = 0 },
		"an index of 33 levels":                       func(tr *Trailer) { tr.Levels = maxLevels + 1 },
		"version 2 of HFile":                          func(tr *Trailer) { tr.Major = 2 },
		"field 8 is 2147483648":                       func(tr *Trailer) { tr.Levels = 1 << 31 },
		"in the unknown order \"org.apache.hadoop.hb": func(tr *Trailer) { tr.Comparator = "org.apache.hadoop.hbase.KeyValue$RawBytesComparator" },
		"in the unknown order \"KVComparator\"":       func(tr *Trailer) { tr.Comparator = "KVComparator" },
		"the trailer has the file info at another":    func(tr *Trailer) { tr.FileInfo-- },
	} {
		_, err := f.withTrailer(t, change).open()
		wantDamage(t, text, err, text)
	}
	for _, name := range []string{"", "org.apache.hadoop.hbase.CellComparatorImpl", "org.apache.hudi.io.storage.HoodieHBaseKVComparator"} {
		if _, err := f.withTrailer(t, func(tr *Trailer) { tr.Comparator = name }).open(); err != nil {
			t.Error(err)
		}
	}
	encrypted := (&Trailer{Major: 3, Levels: 1, Codec: None}).append(nil)
	copy(encrypted[magicSize+1+int(encrypted[magicSize]):], []byte{trailerEncryption<<3 | 2, 1, 'k'})
	encrypted[magicSize] += 3
	_, err := parseTrailer(encrypted, 1<<20)
	wantDamage(t, "encrypted", err, "the file is encrypted")
	wrong := (&Trailer{Major: 3, Levels: 1, Codec: None}).append(nil)
	wrong[0] ^= 1
	_, err = parseTrailer(wrong, 1<<20)
	wantDamage(t, "magic", err, "the trailer begins with")
	padded := (&Trailer{Major: 3, Levels: 1, Codec: None}).append(nil)
	padded[trailerSize-versionSize-1] = 1
	_, err = parseTrailer(padded, 1<<20)
	wantDamage(t, "padding", err, "the trailer's padding is not zero")
	_, err = f[:trailerSize-1].open()
	wantDamage(t, "short", err, "an HFile has at least")
}

func TestInfoMagic(t *testing.T) {
	_, err := parseInfo(unaccounted(), []byte("PBUG\x00"), 0)
	wantDamage(t, "magic", err, "does not begin with")
}

func TestKeyDamage(t *testing.T) {
	key := AppendKey(nil, []byte("row"), []byte("f"), []byte("q"), 1, Put)
	for text, change := range map[string]func([]byte) []byte{
		"a key of 11 bytes":     func(b []byte) []byte { return b[:keyOverhead-1] },
		"a row of 6 bytes":      func(b []byte) []byte { b[1] = 6; return b },
		"a family of 3 bytes":   func(b []byte) []byte { b[5] = 3; return b },
		"a row of 65535 bytes":  func(b []byte) []byte { b[0], b[1] = 255, 255; return b },
		"a family of 255 bytes": func(b []byte) []byte { b[5] = 255; return b },
	} {
		wantDamage(t, text, checkKey(change(slices.Clone(key)), 0), text)
	}
	long := make([]byte, keyOverhead+MaxRow+1)
	binary.BigEndian.PutUint16(long, MaxRow+1)
	wantDamage(t, "long", checkKey(long, 0), "a row of 32768 bytes")
}

// entryOf returns an entry in the form of roots.
func entryOf(key []byte) []byte {
	return appendRootEntries(nil, []indexEntry{{offset: 1, size: 2, key: key}})
}

func TestIndexDamage(t *testing.T) {
	row := AppendRowKey(nil, []byte("row"))
	entry := entryOf(row)
	for _, c := range []struct {
		text      string
		b         []byte
		n, levels int
	}{
		{"9 index entries", entry, 9, 1},
		{"the offset of an index entry needs 8 bytes, 4 remain", append(slices.Clone(entry), make([]byte, 4)...), 2, 1},
		{"a key needs 15 bytes, 14 remain", entry[:len(entry)-1], 1, 1},
		{"2 bytes after the index's 1", append(slices.Clone(entry), 0, 0), 1, 1},
		{"16 bytes after the index's 1", append(slices.Clone(entry), make([]byte, 16)...), 1, 1},
		{"2 bytes after the index's 1", append(slices.Clone(entry), 0, 0), 1, 2},
		{"a key of 3 bytes", entryOf([]byte("row")), 1, 1},
	} {
		_, _, err := dataRoot(unaccounted(), c.b, c.n, c.levels, 0)
		wantDamage(t, c.text, err, c.text)
	}
	if _, _, err := dataRoot(unaccounted(), append(slices.Clone(entry), make([]byte, midKeySize)...), 1, 2, 0); err != nil {
		t.Error(err)
	}
	long := append([]byte{0x80, 0}, make([]byte, 1<<15)...)
	for _, key := range [][]byte{{0}, {0, 2, 'r'}, {0, 0, 'r'}, long} {
		e := indexEntry{key: key}
		wantDamage(t, "row", e.complete(unaccounted(), dialects[1], 0), "that is not a row")
	}

	var b []byte // two entries
	b = binary.BigEndian.AppendUint32(b, 2)
	size := uint32(pointerSize + len(row))
	for _, place := range []uint32{0, size, 2 * size} {
		b = binary.BigEndian.AppendUint32(b, place)
	}
	for range 2 {
		b = append(append(b, make([]byte, pointerSize)...), row...)
	}
	if _, err := parseIndexBlock(b, 0); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		text   string
		change func(b []byte) []byte
	}{
		{"an index block of 3 bytes", func(b []byte) []byte { return b[:3] }},
		{"0 entries", func(b []byte) []byte { be32(0, 0)(b); return b }},
		{"-2 entries", func(b []byte) []byte { be32(0, -2)(b); return b }},
		{"1000 entries", func(b []byte) []byte { be32(0, 1000)(b); return b }},
		{"index entry 0 has the bytes 1 to", func(b []byte) []byte { be32(4, 1)(b); return b }},
		{"index entry 0 has the bytes 0 to 11,", func(b []byte) []byte { be32(8, pointerSize-1)(b); return b }},
		{"index entry 1 has the bytes 27 to 1000", func(b []byte) []byte { be32(12, 1000)(b); return b }},
		{"index entry 1: ", func(b []byte) []byte { b[len(b)-len(row)] = 1; return b }},
		{"1 bytes after the entries", func(b []byte) []byte { return append(b, 0) }},
	} {
		_, err := parseIndexBlock(c.change(slices.Clone(b)), 0)
		wantDamage(t, c.text, err, c.text)
	}
}

func TestCellDamage(t *testing.T) {
	key := AppendRowKey(nil, []byte("row"))
	cell := func(keySize, valueSize int, rest ...byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(keySize))
		b = binary.BigEndian.AppendUint32(b, uint32(valueSize))
		return append(append(b, key...), rest...)
	}
	n := len(key)
	for _, c := range []struct {
		text           string
		tags, versions bool
		b              []byte
	}{
		{"7 bytes are left", false, false, cell(n, 0)[:7]},
		{"a key of -1 bytes", false, false, cell(-1, 0)},
		{"a value of -1", false, false, cell(n, -1)},
		{"a value of 2", false, false, cell(n, 2, 0)},
		{"a key of 11 bytes", false, false, cell(11, 0)},
		{"tags do not fit", true, false, cell(n, 0, 0)},
		{"tags do not fit", true, false, cell(n, 0, 0, 2, 9)},
		{"version does not fit", false, true, cell(n, 0)},
		{"version does not fit", false, true, cell(n, 0, 0x8f)},
		{"", true, true, cell(n, 1, 'v', 0, 2, 9, 9, 0x8f, 200)},
	} {
		s := &Scanner{f: &Reader{hasTags: c.tags, hasVersions: c.versions}, payload: c.b}
		err := s.cell()
		if c.text != "" {
			wantDamage(t, c.text, err, c.text)
		} else if err != nil || s.at != len(c.b) || !bytes.Equal(s.Value(), []byte("v")) {
			t.Errorf("%v, %d of %d bytes, the value %q", err, s.at, len(c.b), s.Value())
		}
	}
	r, err := everything(t, None).open()
	testenv.Must(t, err)
	s := r.Scan()
	if s.SeekRow(bytes.Repeat([]byte{'~'}, MaxRow+1)) || s.Err() != nil {
		t.Error("a row that is too long is found", s.Err())
	}
}

// TestNextAfterClose checks that Next returns false after Close in the middle of a block.
func TestNextAfterClose(t *testing.T) {
	r, err := everything(t, None).open()
	testenv.Must(t, err)
	s := r.Scan()
	if !s.Next() {
		t.Fatal(s.Err())
	}
	if s.Close(); s.Next() || s.Err() != nil {
		t.Errorf("a closed scanner has the cell %s, %v", s.Key(), s.Err())
	}
}

// TestSeekLongRow checks seeks to rows longer than MaxRow. The file has the longest row with which
// these rows begin.
func TestSeekLongRow(t *testing.T) {
	longest := strings.Repeat("m", MaxRow)
	for _, rows := range [][]string{{"a", longest, "z"}, {"a", longest}} {
		f := madeBy(t, WriterOptions{}, 0, func(w *Writer) {
			for _, row := range rows {
				for _, qualifier := range []string{"1", "2"} {
					testenv.Must(t, w.Append(AppendKey(nil, []byte(row), nil, []byte(qualifier), 1, Put), nil))
				}
			}
		})
		r, err := f.open()
		testenv.Must(t, err)
		s := r.Scan()
		for _, suffix := range []string{"\x00", "m", "mmmm"} {
			found := s.SeekRow([]byte(longest + suffix))
			if s.Err() != nil || found != (len(rows) == 3) || found && s.Key().String() != "z/:1/1/Put" {
				t.Errorf("%d bytes more: %v, %d rows: %.9s, %v", len(suffix), found, len(rows), s.Key(), s.Err())
			}
		}
		if !s.SeekRow([]byte(longest)) || string(s.Key().Row()) != longest {
			t.Errorf("the longest row is not found: %.9s, %v", s.Key(), s.Err())
		}
	}
}
