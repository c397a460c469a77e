package ocf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var testSync = [SyncSize]byte{0xb5, 0x1e, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xee}

var allCodecs = []string{"null", "deflate", "snappy", "zstandard", "bzip2", "xz"}

// testBlock is a block before compression.
type testBlock struct {
	rows int64
	data []byte
}

func writeFile(t testing.TB, codec string, blocks ...testBlock) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, `"bytes"`, codec, testSync, Meta{"who", []byte("test")})
	testenv.Must(t, err)
	for _, b := range blocks {
		testenv.Must(t, w.AppendBlock(b.rows, b.data))
	}
	return out.Bytes()
}

// words returns bytes that compress to about half.
func words(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = "etaoin shrdlu.,\n"[r.IntN(16)]
	}
	return p
}

func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 2))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func manyBlocks(n int) []testBlock {
	var blocks []testBlock
	for i := range n {
		blocks = append(blocks, testBlock{int64(i), words(uint64(i), i*37%400)})
	}
	return blocks
}

func mustHeader(t testing.TB, file []byte) *Header {
	t.Helper()
	h, err := ReadHeader(bytes.NewReader(file), int64(len(file)), "f.avro")
	testenv.Must(t, err)
	return h
}

func scanner(h *Header, file []byte, rg Range) *Scanner {
	return NewScanner(bytes.NewReader(file), int64(len(file)), "f.avro", h, rg)
}

// part is a block or a loss that a scanner reported.
type part struct {
	Range
	rows int64
	lost bool
}

// scanAll returns all blocks of a range, and its losses.
func scanAll(t testing.TB, s *Scanner) []part {
	t.Helper()
	var parts []part
	var b Block
	for {
		err := s.Next(context.Background(), &b)
		var d *damage.Error
		switch {
		case errors.Is(err, io.EOF):
			return parts
		case errors.As(err, &d):
			lost, err := s.Resync(context.Background())
			testenv.Must(t, err)
			parts = append(parts, part{Range: lost, lost: true})
		case err != nil:
			t.Fatal(err)
		default:
			parts = append(parts, part{Range: b.Range(), rows: b.Rows})
		}
	}
}

// wantDamage fails unless err is damage of this kind at this offset.
func wantDamage(t testing.TB, err error, kind damage.Kind, offset int64) {
	t.Helper()
	var d *damage.Error
	if !errors.As(err, &d) {
		t.Fatalf("got error %v, want damage of kind %s", err, kind)
	}
	if d.Kind != kind || d.Offset != offset || d.File != "f.avro" || d.Reason == "" {
		t.Errorf("got %q\n(kind %s, offset %d), want kind %s, offset %d in f.avro", err, d.Kind, d.Offset, kind, offset)
	}
}
