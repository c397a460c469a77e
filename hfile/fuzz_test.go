package hfile

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// fuzzMemory is the limit of a file's memory in a fuzz target.
const fuzzMemory = 4 << 20

// damageOnly fails for errors other than damage and refused memory.
func damageOnly(t *testing.T, err error) {
	t.Helper()
	var d *damage.Error
	if err != nil && !errors.As(err, &d) && !errors.Is(err, formattest.ErrMemory) {
		t.Fatal(err)
	}
}

// fuzzCells is the most cells of a file that a fuzz target reads.
const fuzzCells = 1000

// FuzzFile opens arbitrary bytes and reads cells. If the file is sound, seeks find the cells of
// a scan.
func FuzzFile(f *testing.F) {
	f.Add([]byte(madeFile(f, WriterOptions{RowBloom: true}, 3)))
	f.Add([]byte(everything(f, None)))
	f.Add([]byte(everything(f, GZ)))
	for _, sample := range samples(f) {
		if len(sample) < 8000 {
			f.Add([]byte(sample))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		memory := &formattest.Memory{Limit: fuzzMemory}
		var r *Reader
		var err error
		withinAccount(t, memory, func() {
			r, err = Open(bytes.NewReader(b), int64(len(b)), OpenOptions{Name: "fuzz", MaxBlock: 1 << 20, Memory: memory})
		})
		if err != nil {
			damageOnly(t, err)
			if memory.Held != 0 {
				t.Fatalf("%d bytes are held", memory.Held)
			}
			return
		}
		verified := r.Verify(context.Background())
		damageOnly(t, verified)
		damageOnly(t, r.Dump(new(bytes.Buffer)))
		for _, name := range r.MetaNames() {
			_, err := r.Meta(name)
			damageOnly(t, err)
		}
		damageOnly(t, r.Blocks(func(int64, int, Key) error { return nil }))
		r.LastKey()
		s, found := r.Scan(), r.Scan()
		for range fuzzCells {
			if !s.Next() {
				break
			}
			ok := found.Seek(s.Key())
			damageOnly(t, found.Err())
			if verified == nil && (!ok || !bytes.Equal(found.Key(), s.Key()) && found.Key().Compare(s.Key()) != 0) {
				t.Fatalf("%s is not found, %v", s.Key(), found.Err())
			}
			has, err := found.MayContainRow(s.Key().Row())
			damageOnly(t, err)
			if verified == nil && !has {
				t.Fatalf("the Bloom filter does not have %s", s.Key())
			}
		}
		damageOnly(t, s.Err())
		s.Close()
		found.Close()
		r.Close()
		if memory.Held != 0 {
			t.Fatalf("%d bytes are held", memory.Held)
		}
	})
}

// FuzzTrailer reads arbitrary bytes as a trailer's message. A valid trailer is the same after it
// is written and read again.
func FuzzTrailer(f *testing.F) {
	message := func(b []byte) []byte {
		length := bytes.LastIndexFunc(b[:trailerSize-versionSize], func(r rune) bool { return r != 0 }) + 1
		return b[magicSize:length]
	}
	f.Add(message((&Trailer{LoadOnOpen: 100, FileInfo: 200, Levels: 2, Entries: 300, Codec: GZ, Comparator: comparatorName}).append(nil)))
	for _, sample := range samples(f) {
		f.Add(message(sample[len(sample)-trailerSize:]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		block := make([]byte, trailerSize)
		copy(block, magicTrailer)
		copy(block[magicSize:trailerSize-versionSize], b)
		block[trailerSize-1] = majorVersion
		trailer, err := parseTrailer(block, 1<<20)
		if err != nil {
			damageOnly(t, err)
			return
		}
		if len(trailer.Comparator) > 1000 {
			return
		}
		if again, err := parseTrailer(trailer.append(nil), 1<<20); err != nil || !reflect.DeepEqual(again, trailer) {
			t.Fatalf("%+v became %+v, %v", trailer, again, err)
		}
	})
}

// FuzzInfo reads arbitrary bytes as file info.
func FuzzInfo(f *testing.F) {
	f.Add(Info{{"a", nil}, {"b", []byte{0, 0, 0, 1}}}.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		memory := &formattest.Memory{Limit: fuzzMemory}
		var info Info
		var err error
		withinAccount(t, memory, func() { info, err = parseInfo(&column.Reservation{Account: memory}, b, 0) })
		if err != nil {
			damageOnly(t, err)
			return
		}
		info.number(infoVersion)
		if again, err := parseInfo(unaccounted(), info.append(nil), 0); err != nil || !slices.EqualFunc(info, again, func(a, b Pair) bool {
			return a.Key == b.Key && bytes.Equal(a.Value, b.Value)
		}) {
			t.Fatalf("%v became %v, %v", info, again, err)
		}
	})
}

// FuzzBlock reads arbitrary bytes as a block of each codec.
func FuzzBlock(f *testing.F) {
	for _, codec := range []Codec{None, GZ} {
		made := everything(f, codec)
		h := made.header(f, 0)
		f.Add(uint32(codec), []byte(made[:h.size()]))
	}
	for codec, payload := range framed(f, []byte("bytes bytes bytes bytes")) {
		f.Add(uint32(codec), payload)
	}
	f.Fuzz(func(t *testing.T, codec uint32, b []byte) {
		c := Codec(codec)
		if !c.readable() {
			return
		}
		memory := &formattest.Memory{Limit: fuzzMemory}
		blocks := &blockReader{r: bytes.NewReader(b), codec: c, end: int64(len(b)), max: 1 << 20, memory: column.Reservation{Account: memory}}
		withinAccount(t, memory, func() {
			_, _, err := blocks.read(0, -1, magicData)
			damageOnly(t, err)
		})
		blocks.close()
		if memory.Held != 0 {
			t.Fatalf("%d bytes are held", memory.Held)
		}
		withinAccount(t, memory, func() { _ = decompress(c, make([]byte, 100), b) })
	})
}

// FuzzIndex reads arbitrary bytes as index blocks, and as cells.
func FuzzIndex(f *testing.F) {
	made := everything(f, None)
	for _, magic := range []string{magicLeaf, magicIntermediate, magicRoot, magicData} {
		at := made.offsets(f, magic)[0]
		h := made.header(f, at)
		f.Add([]byte(made[at+headerSize : at+int64(h.covered)]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		memory := &formattest.Memory{Limit: fuzzMemory}
		withinAccount(t, memory, func() {
			_, _, err := dataRoot(&column.Reservation{Account: memory}, b, len(b)/(pointerSize+1), 1, 0)
			damageOnly(t, err)
		})
		for levels := 1; levels < 3; levels++ {
			entries, _, err := dataRoot(unaccounted(), b, 2, levels, 0)
			damageOnly(t, err)
			for _, e := range entries {
				testenv.Must(t, checkKey(e.key, 0))
			}
		}
		block, err := parseIndexBlock(b, 0)
		damageOnly(t, err)
		key := AppendRowKey(nil, []byte("row"))
		if err == nil {
			lastBelow(block.n, key, func(i int) []byte { return block.entry(i).key })
		}
		for _, r := range []*Reader{{}, {hasTags: true, hasVersions: true}} {
			s := &Scanner{f: r, payload: b}
			for s.at < len(b) {
				at := s.at
				if err := s.cell(); err != nil {
					damageOnly(t, err)
					break
				}
				if s.at <= at || s.Key().Compare(key)+key.Compare(s.Key()) != 0 || s.Key().String() == "" {
					t.Fatalf("%s at %d", s.Key(), at)
				}
			}
		}
	})
}

// FuzzBloom reads arbitrary bytes as the parameters of a Bloom filter, and as its bits.
func FuzzBloom(f *testing.F) {
	made := everything(f, None)
	at := made.offsets(f, magicBloomMeta)[0]
	h := made.header(f, at)
	f.Add([]byte(made[at+headerSize : at+int64(h.covered)]))
	f.Fuzz(func(t *testing.T, b []byte) {
		memory := &formattest.Memory{Limit: fuzzMemory}
		var filter *bloomFilter
		var err error
		withinAccount(t, memory, func() { filter, err = parseBloom(&column.Reservation{Account: memory}, b, nil, 0) })
		if err != nil {
			damageOnly(t, err)
			return
		}
		bloomHas(b, b, filter.hashes, filter.hash)
	})
}
