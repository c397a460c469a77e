package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// codecsWithSize are the codecs whose blocks state how much room they need.
var codecsWithSize = []string{"null", "snappy", "zstandard", "xz"}

// slackOf returns how much of the room that a codec needs is not for rows.
func slackOf(codec string) int64 {
	if codec == codecZstd {
		return zstdSlack
	}
	return 0
}

// mustSize returns the size of an intact block, which must equal the stated one.
func mustSize(t testing.TB, d *Decoder, codec string, b *Block) int64 {
	t.Helper()
	size, err := d.Size(b, "f.avro")
	if err != nil {
		t.Fatalf("%s: %v", codec, err)
	}
	room, known := d.StatedRoom(b)
	if known != slices.Contains(codecsWithSize, codec) || known && room != size {
		t.Errorf("%s: stated %d, %t; size %d", codec, room, known, size)
	}
	return size
}

// A block decodes in the memory that Size returns, and not in less.
func TestDecodeWithinTheSize(t *testing.T) {
	blocks := [][]byte{nil, []byte("x"), words(1, 100), noise(3, 5000), make([]byte, 140_000), words(4, 65_537)}
	for _, codec := range allCodecs {
		d := newDecoder(t, codec, 1<<20)
		for _, want := range blocks {
			b := stored(t, codec, want)
			size := mustSize(t, d, codec, b)
			if size != int64(len(want))+slackOf(codec) {
				t.Errorf("%s: size %d of %d bytes", codec, size, len(want))
			}
			for _, less := range []int64{1, 2, int64(len(want)) / 2, int64(len(want))} {
				room := int64(len(want)) - less
				if room < 0 || less == 0 {
					continue
				}
				out, err := d.DecodeWithin(make([]byte, 0, room), b, "f.avro")
				if !errors.Is(err, ErrRoom) || isDamage(err) || len(out) != 0 || int64(cap(out)) != room {
					t.Errorf("%s: %d bytes in room for %d: %d of %d, %v", codec, len(want), room, len(out), cap(out), err)
				}
			}
			memory := make([]byte, size+1) // the decoder must not use the last byte
			memory[size] = 0xa5
			out, err := d.DecodeWithin(memory[:min(3, size):size], b, "f.avro")
			if err != nil || !bytes.Equal(out, want) {
				t.Errorf("%s: %d bytes of %d in room for %d: %v", codec, len(out), len(want), size, err)
			}
			if len(want) > 0 && (&out[0] != &memory[0] || int64(cap(out)) != size) {
				t.Errorf("%s: %d bytes are not in the given memory", codec, len(want))
			}
			if memory[size] != 0xa5 {
				t.Errorf("%s: a byte after the room is written", codec)
			}
		}
	}
}

// A block beyond the limit is damage, with any room.
func TestDecodeWithinTheLimit(t *testing.T) {
	for _, codec := range allCodecs {
		for _, data := range [][]byte{words(1, 70_000), make([]byte, 200_000), []byte("ab")} {
			b := stored(t, codec, data)
			limit := int64(len(data)) - 1
			d := newDecoder(t, codec, limit)
			size, err := d.Size(b, "f.avro")
			if known := slices.Contains(codecsWithSize, codec); !known {
				wantDamage(t, err, damage.Size, b.Offset)
				if !errors.Is(err, ErrTooLarge) {
					t.Errorf("%s: size: %v", codec, err)
				}
				size = limit
			} else if err != nil {
				t.Errorf("%s: size: %v", codec, err)
			}
			for _, room := range []int64{size, limit + zstdSlack, 4 << 20} {
				if codec == codecNull && room < size {
					continue
				}
				out, err := d.DecodeWithin(make([]byte, 0, room), b, "f.avro")
				wantDamage(t, err, damage.Size, b.Offset)
				if !errors.Is(err, ErrTooLarge) || errors.Is(err, ErrRoom) || len(out) > 0 {
					t.Errorf("%s, room for %d: %d bytes, %v", codec, room, len(out), err)
				}
			}
		}
	}
}

// A block is decoded independently of an earlier one that had no room, was damaged or
// was only counted.
func TestDecodeWithinAfterFailure(t *testing.T) {
	first, second := words(1, 40_000), words(2, 30_000)
	for _, codec := range allCodecs {
		a, b := stored(t, codec, first), stored(t, codec, second)
		cut := &Block{Data: a.Data[:len(a.Data)/2]}
		large := stored(t, codec, make([]byte, 150_000))
		d := newDecoder(t, codec, 100_000)
		for name, before := range map[string]func(){
			"no room": func() {
				for _, room := range []int{0, 1, 20_000, len(first) - 1} {
					if _, err := d.DecodeWithin(make([]byte, 0, room), a, "f.avro"); !errors.Is(err, ErrRoom) {
						t.Errorf("%s: %v", codec, err)
					}
				}
			},
			"damage":         func() { _, _ = d.DecodeWithin(make([]byte, 0, 1<<20), cut, "f.avro") },
			"size":           func() { mustSize(t, d, codec, a) },
			"size of damage": func() { _, _ = d.Size(cut, "f.avro") },
			"too large": func() {
				_, _ = d.Size(large, "f.avro")
			},
		} {
			before()
			out, err := d.DecodeWithin(make([]byte, 0, mustSize(t, d, codec, b)), b, "f.avro")
			if err != nil || !bytes.Equal(out, second) {
				t.Errorf("%s after %s: %d bytes, %v", codec, name, len(out), err)
			}
		}
	}
}

// If data is damaged, Size fails, or decoding in room of that size fails otherwise than
// for lack of room. A caller that adds room until it suffices therefore ends.
func TestSizeOfDamage(t *testing.T) {
	for _, codec := range allCodecs[1:] {
		sound := stored(t, codec, words(1, 5000))
		d := newDecoder(t, codec, 1<<20)
		inputs := map[string][]byte{
			"empty": nil,
			"noise": noise(1, 500),
			"text":  []byte("these are not compressed bytes"),
			"ones":  bytes.Repeat([]byte{0xff}, 100),
			"byte":  {0x55},
		}
		for n := 1; n < len(sound.Data); n += 1 + len(sound.Data)/20 {
			inputs[fmt.Sprint("cut at ", n)] = sound.Data[:n]
		}
		for name, data := range inputs {
			if codec == codecZstd && len(data) == 0 {
				continue // empty data is valid: it has no frames
			}
			b := &Block{Offset: 77, Data: data}
			size, err := d.Size(b, "f.avro")
			if err == nil {
				if !slices.Contains(codecsWithSize, codec) {
					t.Errorf("%s, %s: size %d", codec, name, size)
				}
				_, err = d.DecodeWithin(make([]byte, 0, size), b, "f.avro")
			}
			var e *damage.Error
			if !errors.As(err, &e) || e.Offset != 77 || errors.Is(err, ErrRoom) || errors.Is(err, ErrTooLarge) {
				t.Errorf("%s, %s: got %v", codec, name, err)
			}
		}
	}
}

// Counting takes no memory for rows, even for many.
func TestSizeTakesNoMemory(t *testing.T) {
	for _, codec := range []string{"deflate", "bzip2"} {
		b := stored(t, codec, make([]byte, 4<<20))
		d := newDecoder(t, codec, 8<<20)
		mustSize(t, d, codec, b) // allocates the decoder's tables
		before := allocated()
		mustSize(t, d, codec, b)
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%s: %d bytes for a size", codec, n)
		}
	}
}

// zstdStream returns data as stored by a program that compresses a stream: no frame
// states its size.
func zstdStream(t *testing.T, pieces ...[]byte) *Block {
	t.Helper()
	var out bytes.Buffer
	for _, data := range pieces {
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10))
		testenv.Must(t, err)
		for len(data) > 0 {
			n := min(1000, len(data))
			if _, err := z.Write(data[:n]); err != nil {
				t.Fatal(err)
			}
			data = data[n:]
		}
		testenv.Must(t, z.Close())
	}
	return &Block{Data: out.Bytes()}
}

// Frames without a size need room for the most that their blocks can contain.
func TestDecodeWithinOfStreams(t *testing.T) {
	for name, pieces := range map[string][][]byte{
		"short":     {words(1, 100)},
		"long":      {words(2, 300_000)},
		"noise":     {noise(3, 200_000)},
		"zeros":     {make([]byte, 400_000)},
		"frames":    {words(4, 150_000), noise(5, 10), make([]byte, 200_000)},
		"no frames": {},
	} {
		b, want := zstdStream(t, pieces...), bytes.Join(pieces, nil)
		d := newDecoder(t, codecZstd, 1<<20)
		size := mustSize(t, d, codecZstd, b)
		if size < int64(len(want)) || size > 1<<20+zstdSlack {
			t.Errorf("%s: size %d of %d bytes", name, size, len(want))
		}
		memory := make([]byte, size)
		out, err := d.DecodeWithin(memory[:0], b, "f.avro")
		if err != nil || !bytes.Equal(out, want) || len(out) > 0 && &out[0] != &memory[0] {
			t.Errorf("%s: %d bytes of %d in room for %d, %v", name, len(out), len(want), size, err)
		}
		if room := size - zstdSlack - 1; room >= 0 {
			if out, err := d.DecodeWithin(make([]byte, 0, room), b, "f.avro"); !errors.Is(err, ErrRoom) || len(out) > 0 {
				t.Errorf("%s: %d bytes in room for %d, %v", name, len(out), room, err)
			}
		}
		if len(want) == 0 {
			continue
		}
		// If the limit is less than that, the actual size counts.
		for _, less := range []int{0, 1} {
			d := newDecoder(t, codecZstd, int64(len(want)-less))
			size := mustSize(t, d, codecZstd, b)
			out, err := d.DecodeWithin(make([]byte, 0, size), b, "f.avro")
			if less == 0 && (err != nil || !bytes.Equal(out, want)) || less > 0 && !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s, limit of %d: %d bytes, %v", name, len(want)-less, len(out), err)
			}
		}
	}
}

// xzClaiming returns xz data of 5000 bytes whose index claims another size, 128 to 16383.
func xzClaiming(t *testing.T, claim int) *Block {
	t.Helper()
	b := stored(t, codecXZ, words(1, 5000))
	foot := b.Data[len(b.Data)-12:]
	size := 4 * (int(binary.LittleEndian.Uint32(foot[4:])) + 1)
	index := b.Data[len(b.Data)-12-size : len(b.Data)-12]
	at := bytes.Index(index, binary.AppendUvarint(nil, 5000))
	binary.PutUvarint(index[at:], uint64(claim))
	binary.LittleEndian.PutUint32(index[size-4:], crc32.ChecksumIEEE(index[:size-4]))
	return b
}

// A false size in the index is damage, never a lack of room that no room ends.
func TestFalseSizeOfXZ(t *testing.T) {
	d := newDecoder(t, codecXZ, 10_000)
	for _, claim := range []int{128, 4096, 4999, 5001, 9_999, 10_001, 16_383} {
		_, err := d.Decode(nil, xzClaiming(t, claim), "f.avro")
		if !isDamage(err) || errors.Is(err, ErrRoom) || errors.Is(err, ErrTooLarge) != (claim > 10_000) {
			t.Errorf("%d bytes claimed: %v", claim, err)
		}
	}
}

// TestXZStructure has streams with valid blocks and an invalid index.
func TestXZStructure(t *testing.T) {
	sound := stored(t, codecXZ, []byte("x")).Data
	at := len(sound) - 12 - 4*(int(binary.LittleEndian.Uint32(sound[len(sound)-8:]))+1)
	stream := func(blocks, count int, size uint64) []byte {
		index := binary.AppendUvarint([]byte{0}, uint64(count))
		for range blocks {
			index = binary.AppendUvarint(append(index, 9), size)
		}
		index = append(index, make([]byte, -len(index)&3)...)
		index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
		return slices.Concat(sound[:12], bytes.Repeat(sound[12:at], blocks), index, make([]byte, 12))
	}
	damaged := stream(1, 1, 1)
	damaged[len(damaged)-12-4-1] ^= 1 // before the CRC
	for _, c := range []struct {
		name   string
		stream []byte
		sound  bool
	}{
		{"one block", stream(1, 1, 1), true},
		{"the most blocks", stream(maxXZBlocks, maxXZBlocks, 1), true},
		{"too many blocks", stream(maxXZBlocks+1, maxXZBlocks+1, 1), false},
		{"a wrong number of blocks", stream(1, 2, 1), false},
		{"the largest size", stream(1, 1, math.MaxInt32), true},
		{"a larger size", stream(1, 1, math.MaxInt32+1), false},
		{"a damaged index", damaged, false},
	} {
		if _, err := checkXZ(c.stream, 1<<20); (err == nil) != c.sound {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
