package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var compressions = []Compression{NoCompression, Snappy, LZ4, Zlib}

// noise returns n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	for i, r := 0, rand.New(rand.NewPCG(uint64(n), 0)); i < n; i++ {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestCompress(t *testing.T) {
	for _, c := range compressions {
		for name, raw := range map[string][]byte{
			"nothing":  {},
			"a byte":   {7},
			"noise":    noise(100_000),
			"little":   append(noise(100_000), make([]byte, 5_000)...),
			"half":     append(noise(50_000), make([]byte, 50_000)...),
			"all zero": make([]byte, maxBlock),
		} {
			stored, err := compress([]byte("before"), c, raw)
			if err != nil || !bytes.HasPrefix(stored, []byte("before")) {
				t.Fatalf("%s %s: %v", c, name, err)
			}
			stored = stored[len("before"):]
			if len(stored) > compressBound(c, len(raw)) {
				t.Errorf("%s %s: %d bytes, want at most %d", c, name, len(stored), compressBound(c, len(raw)))
			}
			got, err := decompress(make([]byte, 3), c, 2, stored)
			if err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%s %s: got %d bytes, want %d, %v", c, name, len(got), len(raw), err)
			}
			if n, err := decompressedSize(c, 2, stored); err != nil || n != len(raw) {
				t.Errorf("%s %s: got the decompressed size %d, want %d, %v", c, name, n, len(raw), err)
			}
			if whole := len(raw) + rawSize; c != NoCompression && name != "half" && name != "all zero" && len(stored) != whole {
				t.Errorf("%s %s: %d bytes, want the %d of the raw block", c, name, len(stored), whole)
			}
			if c != NoCompression && name == "half" && len(stored) > len(raw)*6/10 {
				t.Errorf("%s %s: %d bytes of %d", c, name, len(stored), len(raw))
			}
		}
	}
}

func TestWorthwhile(t *testing.T) {
	for _, c := range []struct {
		compressed, raw int
		want            bool
	}{{0, 0, false}, {1, 1, false}, {9, 10, true}, {901, 1000, false}, {900, 1000, true}, {11, 10, false}} {
		if got := worthwhile(c.compressed, c.raw); got != c.want {
			t.Errorf("%d of %d: %v", c.compressed, c.raw, got)
		}
	}
}

func TestCompressRefuses(t *testing.T) {
	for _, c := range []Compression{Snappy, LZ4, Zlib, 0, 9} {
		raw := make([]byte, maxBlock+1)
		if c == 0 || c == 9 {
			raw = raw[:1]
		}
		if got, err := compress([]byte("ab"), c, raw); err == nil || len(got) != 2 {
			t.Errorf("%s: %d bytes are compressed, %v", c, len(raw), err)
		}
	}
}

// payload returns the compressed bytes after the size.
func payload(t testing.TB, c Compression, raw []byte) []byte {
	stored, err := compress(nil, c, raw)
	if err != nil || len(stored) >= len(raw) {
		t.Fatalf("%s: %d bytes of %d, %v", c, len(stored), len(raw), err)
	}
	return stored[rawSize:]
}

// sized returns a payload after sizes.
func sized(payload []byte, sizes ...uint32) (b []byte) {
	for _, n := range sizes {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return append(b, payload...)
}

// Version 1 has both sizes, and stores no block raw.
func TestDecompressVersion1(t *testing.T) {
	raw := bytes.Repeat([]byte("version one "), 100)
	for _, c := range compressions[1:] {
		p := payload(t, c, raw)
		got, err := decompress(nil, c, 1, sized(p, uint32(len(p)), uint32(len(raw))))
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%s: %q, %v", c, got, err)
		}
		// One byte becomes three of Snappy, two of LZ4 and nine of zlib.
		expanded := map[Compression][]byte{
			Snappy: {1, 0, 'x'},
			LZ4:    {0x10, 'x'},
			Zlib:   {0x78, 0x9c, 0xab, 0, 0, 0, 0x79, 0, 0x79},
		}[c]
		if got, err := decompress(nil, c, 1, sized(expanded, uint32(len(expanded)), 1)); err != nil || string(got) != "x" {
			t.Errorf("%s: %q, %v", c, got, err)
		}
	}
}

func TestDecompressDamage(t *testing.T) {
	raw := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	n := uint32(len(raw))
	for _, c := range compressions[1:] {
		p := payload(t, c, raw)
		m := uint32(len(p))
		zeros := payload(t, c, make([]byte, 1<<20))
		largest := payload(t, c, make([]byte, maxBlock))
		for _, d := range []struct {
			name    string
			version int
			stored  []byte
			kind    damage.Kind
			offset  int64
		}{
			{"nothing", 2, nil, damage.Truncated, 0},
			{"a cut size", 2, []byte{1, 0, 0}, damage.Truncated, 0},
			{"one size of two", 1, sized(nil, 0), damage.Truncated, 0},
			{"a size above the limit", 2, sized(largest, maxBlock+1), damage.Size, 0},
			{"a size above the limit in version 1", 1, sized(largest, uint32(len(largest)), maxBlock+1), damage.Size, 4},
			{"a compressed size that is too small", 1, sized(p, m-1, n), damage.Size, 0},
			{"a compressed size that is too large", 1, sized(p, m+1, n), damage.Size, 0},
			{"more bytes compressed than raw", 2, sized(p, m-1), damage.Size, 0},
			{"a size that the payload cannot reach", 2, sized(p[:20], maxBlock), damage.Size, 0},
			{"a size above the real one", 2, sized(zeros, 1<<20+1), damage.Codec, 4},
			{"a size below the real one", 2, sized(zeros, 1<<20-1), damage.Codec, 4},
			{"a size below the real one in version 1", 1, sized(p, m, n-1), damage.Codec, 8},
			{"a size of nothing", 1, sized(zeros, uint32(len(zeros)), 0), damage.Codec, 8},
			{"bytes after the payload", 2, sized(append(slices.Clone(p), 0x33), n), damage.Codec, 4},
			{"a cut payload", 2, sized(p[:m-1], n), damage.Codec, 4},
			{"no payload", 1, sized(nil, 0, 0), damage.Codec, 8},
		} {
			_, err := decompress(nil, c, d.version, d.stored)
			var e *damage.Error
			if d.name == "no payload" && c == LZ4 && err == nil {
				continue // an empty block compresses to nothing
			}
			if !errors.As(err, &e) || e.Kind != d.kind || e.Offset != d.offset {
				t.Errorf("%s, %s: %v; want %s at %d", c, d.name, err, d.kind, d.offset)
			}
			if _, err := decompressedSize(c, d.version, d.stored); (err != nil) != (d.kind != damage.Codec) {
				t.Errorf("%s, %s: decompressed size: %v", c, d.name, err)
			}
		}
	}
}

// A claimed size does not decide on the memory for zlib's output.
func TestDecompressReservesNoClaimedSize(t *testing.T) {
	stored := sized(payload(t, Zlib, noiseless(64<<10))[:2000], maxBlock/10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := decompress(nil, Zlib, 2, stored); err == nil {
		t.Fatal("a cut payload decompresses")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2*inflateStep {
		t.Errorf("%d bytes of memory for a payload of %d", n, len(stored))
	}
}

// noiseless returns n bytes that compress to about a quarter.
func noiseless(n int) []byte {
	b := noise(n)
	for i := range b {
		b[i] &= 3
	}
	return b
}

func TestDecompressAllocatesNothing(t *testing.T) {
	raw := noiseless(64 << 10)
	for _, c := range compressions {
		stored, err := compress(nil, c, raw)
		testenv.Must(t, err)
		dst, back := make([]byte, 0, 2*len(raw)), make([]byte, 0, len(raw))
		if n := testing.AllocsPerRun(20, func() {
			_, _ = compress(dst, c, raw)
			_, _ = decompress(back, c, 2, stored)
		}); n >= 1 {
			t.Errorf("%s: %v allocations", c, n)
		}
	}
}

func FuzzDecompress(f *testing.F) {
	for _, c := range compressions {
		for _, raw := range [][]byte{nil, []byte("a"), noise(100), make([]byte, 1000), noiseless(5000)} {
			stored, _ := compress(nil, c, raw)
			f.Add(stored, byte(c), false)
			f.Add(sized(stored, uint32(max(len(stored)-rawSize, 0))), byte(c), true)
		}
	}
	f.Fuzz(func(t *testing.T, stored []byte, kind byte, one bool) {
		c, version := compressions[kind%4], 2
		if one {
			version = 1
		}
		raw, err := decompress(nil, c, version, stored)
		if err != nil {
			if !errors.As(err, new(*damage.Error)) {
				t.Fatal(err)
			}
			return
		}
		again, err := compress(nil, c, raw)
		testenv.Must(t, err)
		if back, err := decompress(nil, c, 2, again); err != nil || !bytes.Equal(back, raw) {
			t.Fatalf("got %d bytes, want %d, %v", len(back), len(raw), err)
		}
	})
}
