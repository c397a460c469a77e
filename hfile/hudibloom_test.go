package hfile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// hudiFilters are filters of the non-empty texts of hashVectors. Hadoop's code, on which Hudi's
// is based, wrote them.
var hudiFilters = []struct{ name, kind, text string }{
	{"Jenkins", hudiSimple, "/////wAAAAcAAAAAkCSWgtKUHRNGpGWgKJtoQyDIRw=="},
	{"Murmur", hudiSimple, "/////wAAAAcBAAAAkPRxJBViOJDeskxLQGYBdAEDCQ=="},
	{"dynamic", hudiDynamic, "/////wAAAAcBAAAAPAAAAAQAAAACAAAAA/////8AAAAHAQAAADwFwAh5f42iAP////8AAAAHAQAAADw2ArNIQkwOAP////8AAAAHAQAAADxBAQAEAzRAAw=="},
}

func TestHudiBloom(t *testing.T) {
	for _, c := range hudiFilters {
		h, err := ParseHudiBloom(c.text, c.kind)
		testenv.Must(t, err)
		for _, v := range hashVectors[1:] {
			if !h.MayContain([]byte(v.text)) {
				t.Errorf("%s: the filter does not have %q", c.name, v.text)
			}
		}
		found := 0
		for i := range 1000 {
			if h.MayContain(fmt.Append(nil, "absent", i)) {
				found++
			}
		}
		if found > 100 {
			t.Errorf("%s: the filter has %d of 1000 absent rows", c.name, found)
		}
	}
	b, err := base64.StdEncoding.DecodeString(hudiFilters[1].text)
	testenv.Must(t, err)
	f := hudiFilter{hashes: 7, hash: murmurByHudi, kind: hashMurmur, bits: 144, array: make([]byte, 18)}
	for _, v := range hashVectors[1:] {
		f.add([]byte(v.text))
	}
	if got := append(f.appendHead(nil), f.array...); !slices.Equal(got, b) {
		t.Errorf("the filter is %x, Hadoop's %x", got, b)
	}
}

// Older filters without a version begin with the number of hash functions.
func TestHudiBloomWithoutVersion(t *testing.T) {
	b, err := base64.StdEncoding.DecodeString(hudiFilters[0].text)
	testenv.Must(t, err)
	h, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(append(b[4:8:8], b[9:]...)), hudiSimple)
	if err != nil || !h.MayContain([]byte("abc")) {
		t.Error(err)
	}
}

func TestHudiBloomDamage(t *testing.T) {
	for _, c := range hudiFilters {
		b, err := base64.StdEncoding.DecodeString(c.text)
		testenv.Must(t, err)
		put := func(at int, v int32) []byte {
			b := slices.Clone(b)
			binary.BigEndian.PutUint32(b[at:], uint32(v))
			return b
		}
		damaged := map[string][]byte{
			"-2 hash functions": put(0, -2), "0 hash functions": put(4, 0), "129 hash functions": put(4, maxHashes+1),
			"hash function 2": append(append(slices.Clone(b[:8]), 2), b[9:]...), "0 bits": put(9, 0), "-9 bits": put(9, -9),
			"1 bytes after the filter": append(slices.Clone(b), 0),
		}
		if c.kind == hudiDynamic {
			damaged["1073741824 filters"], damaged["-1 filters"] = put(hudiHeadSize+8, 1<<30), put(hudiHeadSize+8, -1)
		} else {
			damaged["an array of bits needs 134217728 bytes, 18 remain"] = put(9, 1<<30)
		}
		for text, d := range damaged {
			_, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(d), c.kind)
			wantDamage(t, c.name, err, text)
		}
		for n := range b {
			_, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(b[:n]), c.kind)
			wantDamage(t, c.name, err, "bloomFilter: ")
		}
	}
	if _, err := ParseHudiBloom("!", hudiSimple); err == nil {
		t.Error("a text other than Base64 is read")
	}
	if _, err := ParseHudiBloom("", "OTHER"); err == nil {
		t.Error("an unknown kind is read")
	}
}

// FuzzHudiBloom reads arbitrary bytes as a filter of each kind.
func FuzzHudiBloom(f *testing.F) {
	for _, c := range hudiFilters {
		b, err := base64.StdEncoding.DecodeString(c.text)
		testenv.Must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []string{hudiSimple, hudiDynamic} {
			h, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(b), kind)
			if err != nil {
				damageOnly(t, err)
				continue
			}
			h.MayContain(b)
		}
	})
}

// TestHudiBloomWritten checks files whose numbers of rows need no filter, one filter and two filters.
func TestHudiBloomWritten(t *testing.T) {
	for _, rows := range []int{0, 1, 200, hudiKeys + 100} {
		var b bytes.Buffer
		w, err := NewWriter(&b, WriterOptions{HudiBloom: true, HudiRange: true})
		testenv.Must(t, err)
		bound := int64(0)
		for i := range rows {
			bound = w.Bound(keyOverhead+8, 1)
			for ts := range int64(2) {
				testenv.Must(t, w.Append(AppendKey(nil, fmt.Appendf(nil, "%08d", i), nil, nil, 9-ts, Put), nil))
			}
		}
		testenv.Must(t, w.Close())
		f := file(b.Bytes())
		testenv.Must(t, f.verify())
		r, err := f.open()
		testenv.Must(t, err)
		h, err := r.HudiBloom()
		if err != nil || (h != nil) != (rows > 0) {
			t.Fatalf("%d rows: %v", rows, err)
		}
		if rows == 0 {
			continue
		}
		if len(h.filters) != 1+rows/hudiKeys || int64(len(f)) > bound+100 {
			t.Errorf("%d rows: %d filters, %d bytes, want about %d bytes", rows, len(h.filters), len(f), bound)
		}
		least, greatest := string(r.Info().Value(infoMinRecord)), string(r.Info().Value(infoMaxRecord))
		if least != "00000000" || greatest != fmt.Sprintf("%08d", rows-1) {
			t.Errorf("rows from %s to %s", least, greatest)
		}
		for i := range rows {
			if i%97 == 0 && (!h.MayContain(fmt.Appendf(nil, "%08d", i)) || h.MayContain(fmt.Appendf(nil, "%08d-", i))) {
				t.Fatalf("row %d of %d is missing, or an absent one is found", i, rows)
			}
		}
		r.Close()
	}
}

// If all filters are full, further rows are still added to one of them.
func TestHudiBloomIsBounded(t *testing.T) {
	w := &hudiBloomWriter{count: hudiKeys}
	for range maxHudiFilters {
		w.filters = append(w.filters, newHudiFilter())
	}
	w.add(nil) // Hudi refuses to look up an empty row
	size := w.size()
	for i := range 100 {
		w.add(fmt.Append(nil, "row", i))
	}
	b := w.appendBlock(nil)
	if w.size() != size || int64(len(b)) != size {
		t.Errorf("the filter has %d bytes, want %d", len(b), size)
	}
	h, err := ParseHudiBloom(string(b), hudiDynamic)
	testenv.Must(t, err)
	for i := range 100 {
		if !h.MayContain(fmt.Append(nil, "row", i)) {
			t.Errorf("row %d is missing", i)
		}
	}
	if !h.MayContain(nil) {
		t.Error("an empty row is missing")
	}
}

// TestHudiBloomVerified checks that Verify rejects a file whose filter, or range, does not have a row.
func TestHudiBloomVerified(t *testing.T) {
	for text, change := range map[string]func(w *Writer){
		"the Bloom filter does not have": func(w *Writer) { w.hudi = newHudiBloomWriter() },
		infoMinRecord:                    func(w *Writer) { w.firstRow = []byte("row0002") },
	} {
		f := madeBy(t, WriterOptions{HudiBloom: true, HudiRange: true}, 3, change)
		wantDamage(t, text, f.verify(), text)
	}
}

// TestHudiBloomFitsMemory checks that Verify refuses a file whose filter does not fit the memory.
func TestHudiBloomFitsMemory(t *testing.T) {
	f := madeFile(t, WriterOptions{HudiBloom: true}, 3)
	memory := &formattest.Memory{Limit: 1 << 20}
	r, err := Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Memory: memory})
	testenv.Must(t, err)
	defer r.Close()
	if err := r.Verify(t.Context()); !errors.Is(err, formattest.ErrMemory) {
		t.Errorf("a filter of %d bytes: %v", hudiBloomSize(1), err)
	}
	memory.Limit = 8 << 20
	if err := r.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}
