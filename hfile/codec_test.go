package hfile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// chunk returns bytes after n as their length.
func chunk(n int, b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(n)), b...)
}

// framed returns bytes compressed with each codec. All but GZ have two blocks, the second with
// two chunks.
func framed(t testing.TB, raw []byte) map[Codec][]byte {
	t.Helper()
	half, end := len(raw)/2, len(raw)*3/4
	z, err := zstd.NewWriter(nil)
	testenv.Must(t, err)
	frame := func(compress func(b []byte) []byte) []byte {
		piece := func(b []byte) []byte { b = compress(b); return chunk(len(b), b) }
		return slices.Concat(chunk(half, piece(raw[:half])), chunk(len(raw)-half, piece(raw[half:end])), piece(raw[end:]))
	}
	gz, err := appendGzip(nil, raw)
	testenv.Must(t, err)
	return map[Codec][]byte{
		GZ:     gz,
		Snappy: frame(func(b []byte) []byte { return snappy.Encode(nil, b) }),
		LZ4: frame(func(b []byte) []byte {
			dst := make([]byte, lz4.CompressBlockBound(len(b)))
			var c lz4.Compressor
			n, err := c.CompressBlock(b, dst)
			if err != nil || n == 0 {
				t.Fatal(n, err)
			}
			return dst[:n]
		}),
		ZSTD: frame(func(b []byte) []byte { return z.EncodeAll(b, nil) }),
	}
}

func TestDecompress(t *testing.T) {
	raw := bytes.Repeat([]byte("bytes, and more of them. "), 40)
	payloads := framed(t, raw)
	z, err := zstd.NewWriter(nil)
	testenv.Must(t, err)
	for codec, payload := range payloads {
		check := func(name string, payload []byte, size int, sound bool) {
			t.Helper()
			got := make([]byte, size)
			if err := decompress(codec, got, payload); (err == nil) != sound || sound && !bytes.Equal(got, raw[:size]) {
				t.Errorf("%s, %s: %v", codec, name, err)
			}
		}
		check("all", payload, len(raw), true)
		check("less is expected", payload, len(raw)-1, false)
		check("more is expected", payload, len(raw)+1, false)
		for n := range payload {
			check("cut", payload[:n], len(raw), false)
		}
		check("bytes after it", append(slices.Clone(payload), 0), len(raw), false)
		check("again after it", slices.Concat(payload, payload), len(raw), false)
	}
	// HBase's own ZSTD codec does not use Hadoop's framing.
	bare := z.EncodeAll(raw, nil)
	for size, sound := range map[int]bool{len(raw): true, len(raw) + 1: false, len(raw) - 1: false} {
		if err := decompress(ZSTD, make([]byte, size), bare); (err == nil) != sound {
			t.Errorf("%d bytes of ZSTD: %v", size, err)
		}
	}
	if decompress(Codec(5), nil, nil) == nil {
		t.Error("BZIP2 is decompressed")
	}
}

func TestFraming(t *testing.T) {
	store := func(dst, src []byte) (int, error) { return copy(dst, src), nil }
	for name, payload := range map[string][]byte{
		"a length is cut":               {0, 0, 0},
		"a negative length of a block":  chunk(-1, nil),
		"a negative length of a chunk":  chunk(4, chunk(-1, []byte("abcd"))),
		"a block that is too long":      chunk(5, chunk(5, []byte("abcde"))),
		"a chunk beyond the payload":    chunk(4, chunk(5, []byte("abcd"))),
		"a chunk of nothing":            chunk(4, slices.Concat(chunk(0, nil), chunk(4, []byte("abcd")))),
		"a block that is too short":     chunk(3, chunk(3, []byte("abc"))),
		"a chunk longer than its block": chunk(2, chunk(4, []byte("abcd"))),
	} {
		if unframe(make([]byte, 4), payload, store) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := unframe(make([]byte, 4), slices.Concat(chunk(0, nil), chunk(4, chunk(4, []byte("abcd")))), store); err != nil {
		t.Error(err)
	}
}

// A block that claims more than its bytes can decompress to is refused before memory is reserved.
func TestMaxDecoded(t *testing.T) {
	f := everything(t, GZ).changed(t, magicData, 0, func(b []byte) { binary.BigEndian.PutUint32(b[12:], 1<<24) })
	if err := f.verify(); kindOf(err) != "size" {
		t.Error(err)
	}
	zeros := make([]byte, 100_000)
	for codec, payload := range framed(t, zeros) {
		if n := maxDecoded(codec, len(payload)); n < int64(len(zeros)) {
			t.Errorf("%d bytes of %s: got a limit of %d, want at least %d", len(payload), codec, n, len(zeros))
		}
	}
	if maxDecoded(None, 7) != 7 {
		t.Error("the limit without a codec is not the size")
	}
}
