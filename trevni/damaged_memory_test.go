package trevni

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestVerifyHoldsOneColumn checks that Verify of many columns needs only memory for a few.
func TestVerifyHoldsOneColumn(t *testing.T) {
	b := bytesFile(t, 100, Options{Codec: "null"}, 300<<10)
	memory := formattest.Memory{Limit: 4 << 20}
	f := mustOpenAccounted(t, b, &memory)
	for range 2 {
		if err := f.Verify(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if memory.Held > 1<<20 {
		t.Errorf("%d bytes held afterwards", memory.Held)
	}
}

func TestTooLongBlocksReleaseMemory(t *testing.T) {
	for _, codec := range []string{"deflate", "bzip2", "zstandard"} {
		b := dropCRC(bytesFile(t, 1, Options{Codec: codec, Checksum: "null"}, 300<<10, 100))
		binary.LittleEndian.PutUint32(b[openBytes(t, b).Columns()[0].Start+8:], 200<<10)
		var memory formattest.Memory
		c, err := mustOpenAccounted(t, b, &memory).Cursor(0)
		testenv.Must(t, err)
		before := memory.Held
		if err = c.SeekRow(0); err == nil {
			_, err = c.Value(nil)
		}
		if !isDamage(err) {
			t.Fatal(err)
		}
		if err = c.SeekRow(1); err == nil {
			_, err = c.Value(nil)
		}
		if err != nil || memory.Held < before {
			t.Errorf("%s: %d bytes held, %d before (%v)", codec, memory.Held, before, err)
		}
	}
}

// TestDamagedParentIsReleased checks that repeated seeks to a damaged block release its memory.
func TestDamagedParentIsReleased(t *testing.T) {
	b := parentFile(t, 1)
	blocks, err := openBytes(t, b).Blocks(0)
	testenv.Must(t, err)
	b[blocks[0].Offset+blocks[0].StoredSize] ^= 1 // of the checksum
	var memory formattest.Memory
	c, err := mustOpenAccounted(t, b, &memory).Cursor(0)
	testenv.Must(t, err)
	for range 100 {
		if err := c.SeekRow(30_000); !isDamage(err) {
			t.Fatal(err)
		}
	}
	if memory.Held > 200<<10 {
		t.Errorf("%d bytes held of a block of %d that could not be read", memory.Held, blocks[0].RawSize)
	}
}

func TestDamagedSnappyIsReleased(t *testing.T) {
	content := append(binary.AppendVarint(nil, 300<<10), bytes.Repeat([]byte("ab"), 150<<10)...)
	stored, err := encoderOf("snappy").encode(nil, content)
	testenv.Must(t, err)
	copy(stored[len(stored)-6:], "\xff\xff\xff\xff\xff\xff")
	b := rawFile{version: 2, rows: 1, meta: Metadata{{keyCodec, []byte("snappy")}}, cols: []rawColumn{{meta: meta("a bytes"), rows: 1, data: stored}}}.bytes()
	binary.LittleEndian.PutUint32(b[len(b)-len(stored)-8:], uint32(len(content)))
	var memory formattest.Memory
	c, err := mustOpenAccounted(t, b, &memory).Cursor(0)
	testenv.Must(t, err)
	for range 10 {
		err := c.SeekRow(0)
		if err == nil {
			_, err = c.Value(nil)
		}
		if !isDamage(err) {
			t.Fatal(err)
		}
	}
	if memory.Held > 400<<10 {
		t.Errorf("%d bytes held", memory.Held)
	}
}
