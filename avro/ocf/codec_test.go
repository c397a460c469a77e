package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func newDecoder(t testing.TB, codec string, limit int64) *Decoder {
	t.Helper()
	d, err := NewDecoder(codec, limit)
	testenv.Must(t, err)
	return d
}

// stored returns a block with the data compressed by the codec.
func stored(t testing.TB, codec string, data []byte) *Block {
	t.Helper()
	file := writeFile(t, codec, testBlock{1, data})
	var b Block
	if err := scanner(mustHeader(t, file), file, Range{0, int64(len(file))}).Next(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestCodecs(t *testing.T) {
	blocks := []testBlock{
		{3, []byte("three rows")},
		{0, nil},
		{7, nil}, // rows of zero bytes
		{2, words(1, 200_000)},
		{1, noise(1, 2<<20)},
		{9, make([]byte, 3<<20)}, // with a very high ratio
		{1, []byte("x")},
	}
	for _, codec := range allCodecs {
		t.Run(codec, func(t *testing.T) {
			if !CheckCodec(codec) {
				t.Error("CheckCodec rejects the codec")
			}
			file := writeFile(t, codec, blocks...)
			h := mustHeader(t, file)
			if h.Codec != codec {
				t.Fatalf("the header has the codec %s, want %s", h.Codec, codec)
			}
			d := newDecoder(t, codec, 3<<20)
			s := scanner(h, file, Range{0, int64(len(file))})
			var b Block
			var got []byte
			for i, want := range blocks {
				testenv.Must(t, s.Next(t.Context(), &b))
				var err error
				if got, err = d.Decode(got, &b, "f.avro"); err != nil {
					t.Fatal(err)
				}
				if b.Rows != want.rows || !bytes.Equal(got, want.data) {
					t.Errorf("block %d: %d rows, %d bytes; want %d rows, %d bytes", i, b.Rows, len(got), want.rows, len(want.data))
				}
			}
			if err := s.Next(t.Context(), &b); !errors.Is(err, io.EOF) {
				t.Errorf("after the last block: %v", err)
			}
		})
	}
}

func TestAbsentCodec(t *testing.T) {
	file := writeFile(t, "", testBlock{1, []byte("x")})
	if h := mustHeader(t, file); h.Codec != "null" || bytes.Contains(file, []byte(KeyCodec)) {
		t.Errorf("codec %q in %q", h.Codec, file)
	}
}

// TestDecodeLimit has blocks one byte over the limit, and at it.
func TestDecodeLimit(t *testing.T) {
	for _, codec := range allCodecs {
		for _, data := range [][]byte{words(1, 70_000), make([]byte, 2<<20), []byte("ab")} {
			b := stored(t, codec, data)
			if _, err := newDecoder(t, codec, int64(len(data))).Decode(nil, b, "f.avro"); err != nil {
				t.Errorf("%s, %d bytes at the limit: %v", codec, len(data), err)
			}
			_, err := newDecoder(t, codec, int64(len(data))-1).Decode(nil, b, "f.avro")
			wantDamage(t, err, damage.Size, b.Offset)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s: got %v, want %v as the cause", codec, err, ErrTooLarge)
			}
		}
	}
	for _, limit := range []int64{0, -1} {
		if _, err := NewDecoder("null", limit); err == nil {
			t.Errorf("limit %d was accepted", limit)
		}
	}
	if _, err := NewDecoder("lzo", 1); err == nil {
		t.Error("codec lzo was accepted")
	}
}

// TestDecodeLimitSavesMemory has blocks far beyond the limit: they must be rejected
// before anything is decompressed or copied.
func TestDecodeLimitSavesMemory(t *testing.T) {
	large := make([]byte, 32<<20)
	run := "\x02\x00\x10x" // 128 KiB of one byte
	wide := "\x28\xb5\x2f\xfd\x00\x98" + strings.Repeat(run, 256) + "\x01\x00\x00"
	tests := []struct {
		codec string
		block *Block
	}{
		{codecNull, &Block{Data: large}},
		{codecSnappy, stored(t, codecSnappy, large)},
		{codecZstd, &Block{Data: []byte(wide)}}, // with a window of 512 MiB
		{codecDeflate, stored(t, codecDeflate, large)},
	}
	for _, tt := range tests {
		t.Run(tt.codec, func(t *testing.T) {
			d := newDecoder(t, tt.codec, 1000)
			before := allocated()
			_, err := d.Decode(nil, tt.block, "f.avro")
			if n := allocated() - before; n > 16<<20 {
				t.Errorf("%d bytes of memory for a limit of 1000", n)
			}
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestDecodeDamage(t *testing.T) {
	for _, codec := range allCodecs[1:] {
		sound := stored(t, codec, words(1, 5000))
		d := newDecoder(t, codec, 1<<20)
		for name, data := range map[string][]byte{
			"empty":     nil,
			"cut":       sound.Data[:len(sound.Data)*2/3],
			"noise":     noise(1, 500),
			"text":      []byte("these are not compressed bytes"),
			"all ones":  bytes.Repeat([]byte{0xff}, 100),
			"one byte":  {0x55},
			"few bytes": {1, 2, 3, 4, 5},
		} {
			if codec == codecZstd && len(data) == 0 {
				continue // no frames are no bytes
			}
			_, err := d.Decode(nil, &Block{Offset: 77, Data: data}, "f.avro")
			var e *damage.Error
			if !errors.As(err, &e) || e.Offset != 77 || e.File != "f.avro" {
				t.Errorf("%s, %s: got %v", codec, name, err)
			}
		}
		if got, err := d.Decode(nil, sound, "f.avro"); err != nil || !bytes.Equal(got, words(1, 5000)) {
			t.Errorf("%s: after damage: %d bytes, %v", codec, len(got), err)
		}
	}
}

// TestDecodeChecksums changes stored literals, which only a checksum detects.
func TestDecodeChecksums(t *testing.T) {
	for _, codec := range []string{codecSnappy, codecZstd, codecXZ} {
		b := stored(t, codec, noise(5, 1000)) // stored uncompressed
		b.Data[len(b.Data)/2] ^= 0x10
		_, err := newDecoder(t, codec, 1<<20).Decode(nil, b, "f.avro")
		wantDamage(t, err, damage.Checksum, b.Offset)
	}
	b := stored(t, codecBzip2, words(1, 1000))
	b.Data[10] ^= 1 // the block's CRC
	_, err := newDecoder(t, codecBzip2, 1<<20).Decode(nil, b, "f.avro")
	wantDamage(t, err, damage.Checksum, b.Offset)
}

// TestDecodeClaims has tiny blocks that claim to be large: a claim alone
// must not allocate memory.
func TestDecodeClaims(t *testing.T) {
	const limit = 512 << 20
	xz := stored(t, codecXZ, []byte("x")).Data
	xz = slices.Clone(xz)
	xz[12+4] = 40 // a dictionary of 4 GiB, with the header's CRC adjusted
	binary.LittleEndian.PutUint32(xz[12+8:], crc32.ChecksumIEEE(xz[12:12+8]))
	tests := []struct {
		codec string
		data  []byte
	}{
		{codecSnappy, append(binary.AppendUvarint(nil, limit), "\x00x\x00\x00\x00\x00"...)},
		{codecZstd, []byte("\x28\xb5\x2f\xfd\x80\x68\x00\x00\x00\x20\x00\x00\x00")},     // content size 512 MiB
		{codecZstd, []byte("\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20\x00\x00\x00")},         // and one segment
		{codecZstd, []byte("\x28\xb5\x2f\xfd\x00\x98\x00\x00\x00")},                     // window 512 MiB
		{codecZstd, []byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x80\x01")}, // 2^63 bytes
		{codecXZ, xz},
	}
	for i, tt := range tests {
		t.Run(fmt.Sprint(i, tt.codec), func(t *testing.T) {
			d := newDecoder(t, tt.codec, limit)
			before := allocated()
			_, err := d.Decode(nil, &Block{Data: tt.data}, "f.avro")
			n := allocated() - before
			var e *damage.Error
			if !errors.As(err, &e) {
				t.Errorf("got %v", err)
			}
			if n > 16<<20 {
				t.Errorf("%d bytes of input took %d of memory (%v)", len(tt.data), n, err)
			}
		})
	}
}

// TestFalseSizesAreNotTooLarge has damaged sizes beyond the limit: a larger
// limit would not help.
func TestFalseSizesAreNotTooLarge(t *testing.T) {
	const limit = 1000
	spoil := func(b *Block, at int, value byte) []byte {
		b.Data[at] = value
		return b.Data
	}
	large := stored(t, codecXZ, words(1, 70_000)).Data
	tests := []struct {
		name, codec string
		data        []byte
	}{
		{"length", codecSnappy, append(binary.AppendUvarint(nil, 1<<31), stored(t, codecSnappy, []byte("x")).Data[1:]...)},
		{"content size", codecZstd, []byte("\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x20\x01\x00\x00")},
		{"stored block", codecZstd, append([]byte("\x28\xb5\x2f\xfd\x00\x00\x41\x00\x10"), make([]byte, 0x20008)...)},
		{"run of more than the window", codecZstd, []byte("\x28\xb5\x2f\xfd\x00\x00\x03\x00\x01x")},
		{"run of more than a block", codecZstd, []byte("\x28\xb5\x2f\xfd\x00\x98\x03\x00\x11x")},
		{"dictionary", codecXZ, spoil(stored(t, codecXZ, []byte("x")), 12+4, 40)},
		{"end of large data", codecXZ, large[:len(large)-20]},
	}
	for _, tt := range tests {
		t.Run(tt.codec+" "+tt.name, func(t *testing.T) {
			_, err := newDecoder(t, tt.codec, limit).Decode(nil, &Block{Data: tt.data}, "f.avro")
			wantDamage(t, err, damage.Codec, 0)
			if errors.Is(err, ErrTooLarge) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestZstdWindowIsNotSize has windows beyond the limit over data within it.
func TestZstdWindowIsNotSize(t *testing.T) {
	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(2*zstdWindow), zstd.WithEncoderConcurrency(1))
	testenv.Must(t, err)
	if _, err := w.Write(words(1, 300_000)); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, w.Close())
	for _, tt := range []struct {
		data, want []byte
	}{
		{[]byte("\x28\xb5\x2f\xfd\x00\xff\x09\x00\x00x"), []byte("x")},
		{wide.Bytes(), words(1, 300_000)},
	} {
		b := &Block{Data: tt.data}
		got, err := newDecoder(t, codecZstd, 1<<20).Decode(nil, b, "f.avro")
		if err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("%d bytes, %v; want %d bytes", len(got), err, len(tt.want))
		}
	}
	_, err = newDecoder(t, codecZstd, 299_999).Decode(nil, &Block{Data: wide.Bytes()}, "f.avro")
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// A block is decoded independently of an earlier one that failed or was too large.
func TestDecodeAfterFailure(t *testing.T) {
	const limit = 1000
	sound := words(1, 50)
	for _, codec := range allCodecs {
		d, next := newDecoder(t, codec, limit), stored(t, codec, sound)
		check := func(what string) {
			t.Helper()
			if got, err := d.Decode(nil, next, "f.avro"); err != nil || !bytes.Equal(got, sound) {
				t.Fatalf("%s after %s: %d bytes, %v", codec, what, len(got), err)
			}
		}
		for _, size := range []int{limit + 1, limit + 20, 2 * limit, 60 * limit} {
			if _, err := d.Decode(nil, stored(t, codec, words(2, size)), "f.avro"); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%s of %d bytes: %v", codec, size, err)
			}
			check(fmt.Sprint(size, " bytes"))
		}
		for _, text := range []string{string(sound), "rrrr", "rrrrrrrrrrrrs", strings.Repeat("ab", 20) + "cccc"} {
			whole := stored(t, codec, []byte(text)).Data
			for bit := range 8 * len(whole) {
				damaged := Block{Data: bytes.Clone(whole)}
				damaged.Data[bit/8] ^= 1 << (bit % 8)
				_, _ = d.Decode(nil, &damaged, "f.avro")
				check(fmt.Sprintf("bit %d of %q", bit, text))
			}
		}
	}
}

func TestDecodeAllocations(t *testing.T) {
	data := words(1, 64<<10)
	for _, codec := range []string{codecNull, codecDeflate, codecSnappy, codecZstd, codecBzip2} {
		b, d := stored(t, codec, data), newDecoder(t, codec, 1<<20)
		dst := make([]byte, 0, 1<<18)
		if n := testing.AllocsPerRun(20, func() {
			var err error
			if dst, err = d.Decode(dst, b, "f.avro"); err != nil {
				panic(err)
			}
		}); n > 2 {
			t.Errorf("%s: %v allocations for a block", codec, n)
		}
	}
}

func TestWriter(t *testing.T) {
	for _, codec := range allCodecs {
		if a, b := writeFile(t, codec, manyBlocks(5)...), writeFile(t, codec, manyBlocks(5)...); !bytes.Equal(a, b) {
			t.Errorf("%s: the same calls wrote different bytes", codec)
		}
	}
	if _, err := NewWriter(io.Discard, "{}", "lzo", testSync); err == nil {
		t.Error("codec lzo was accepted")
	}
	if _, err := NewWriter(io.Discard, "{}", "null", testSync, Meta{Key: "avro.x"}); err == nil || !strings.Contains(err.Error(), "avro.x") {
		t.Errorf("reserved key: %v", err)
	}
}

func TestWriterPoisoned(t *testing.T) {
	out := &brokenWriter{left: 2}
	w, err := NewWriter(out, `"int"`, "null", testSync)
	testenv.Must(t, err)
	if err := w.AppendBlock(-1, nil); err == nil {
		t.Error("-1 rows were accepted")
	}
	testenv.Must(t, w.AppendBlock(1, []byte("a")))
	first := w.AppendBlock(1, []byte("b"))
	if !errors.Is(first, errBroken) {
		t.Fatalf("got %v", first)
	}
	out.left = 5
	if err := w.AppendBlock(1, []byte("c")); !errors.Is(err, first) {
		t.Errorf("after a failed write: %v", err)
	}
	if _, err := NewWriter(&brokenWriter{}, `"int"`, "null", testSync); !errors.Is(err, errBroken) {
		t.Errorf("failed header: %v", err)
	}
}

var errBroken = errors.New("broken")

// brokenWriter fails after a number of writes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// TestDecodeProgress has a block that takes many steps to decompress and to count.
func TestDecodeProgress(t *testing.T) {
	const size = 5 << 20
	for _, codec := range []string{codecDeflate, codecBzip2, codecXZ} {
		b := stored(t, codec, bytes.Repeat([]byte("0123456 "), size/8))
		d := newDecoder(t, codec, size)
		calls, last := 0, 0
		d.Progress = func(read, total int) {
			if read < last || read > total || total != len(b.Data) {
				t.Errorf("%s: progress of %d bytes of %d after %d", codec, read, total, last)
			}
			calls, last = calls+1, read
		}
		if _, err := d.DecodeWithin(make([]byte, 0, size), b, "f.avro"); err != nil || calls < 4 || calls > 6 {
			t.Errorf("%s: %d calls, the last at %d bytes, error %v", codec, calls, last, err)
		}
		calls, last = 0, 0
		if _, err := d.Size(b, "f.avro"); err != nil || calls < 4 && codec != codecXZ {
			t.Errorf("%s: %d calls while the size is counted, error %v", codec, calls, err)
		}
	}
}
