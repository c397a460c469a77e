package task

import (
	"hash/crc32"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store/memstore"
)

// TestSummedFile checks that the checksum includes each byte of the piece once, although a
// scanner also reads before the start of the piece, again, ahead and beyond its end.
func TestSummedFile(t *testing.T) {
	st := memstore.New().Client()
	data := make([]byte, 1000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	testenv.Must(t, st.WriteFile(t.Context(), "/a", data, true))
	f, err := st.Open(t.Context(), "/a")
	testenv.Must(t, err)
	s := &summedFile{File: f, next: 200, end: 700}
	a := &attempt{summed: []*summedFile{s}}
	for _, r := range [][2]int{{0, 100}, {184, 300}, {250, 280}, {600, 616}, {290, 500}, {500, 690}} {
		n, err := s.ReadAt(make([]byte, r[1]-r[0]), int64(r[0]))
		if n != r[1]-r[0] || err != nil {
			t.Fatal(n, err)
		}
	}
	if reads, err := a.reads(); err == nil {
		t.Errorf("the end was not read, and there is no error: %v", reads)
	}
	if _, err := s.ReadAt(make([]byte, 300), 650); err != nil {
		t.Fatal(err)
	}
	reads, err := a.reads()
	if want := crc32.Checksum(data[200:700], castagnoli); err != nil || reads[0].CRC32C != want {
		t.Errorf("%v, %v, want %08x", reads, err, want)
	}
}
