package ocf

import (
	"bytes"
	"compress/bzip2"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d)
}

func FuzzHeader(f *testing.F) {
	f.Add(writeFile(f, "deflate", testBlock{1, []byte("x")}))
	f.Add([]byte(objMagic + long(-1) + long(int64(len(schemaEntry))) + schemaEntry + "\x00" + sync16))
	f.Add([]byte(objMagic + long(1<<40) + schemaEntry + "\x00" + sync16))
	f.Fuzz(func(t *testing.T, file []byte) {
		h, err := ReadHeader(bytes.NewReader(file), int64(len(file)), "f.avro")
		if err != nil {
			if !isDamage(err) {
				t.Fatalf("not damage: %v", err)
			}
			return
		}
		if h.Schema == "" || !CheckCodec(h.Codec) || h.Size > int64(len(file)) || !bytes.Equal(file[h.Size-SyncSize:h.Size], h.Sync[:]) {
			t.Fatalf("accepted %+v", h)
		}
	})
}

// checkBzip2 compares decoded bzip2 data with the result of the standard library, which
// also accepts some blocks with impossible unused codes.
func checkBzip2(t *testing.T, b *Block, data []byte, err error, limit int64) {
	t.Helper()
	want, wantErr := io.ReadAll(io.LimitReader(bzip2.NewReader(bytes.NewReader(b.Data)), limit+1))
	if int64(len(want)) > limit {
		wantErr = ErrTooLarge
	}
	if err == nil && (wantErr != nil || !bytes.Equal(data, want)) {
		t.Fatalf("%d bytes, %v; the standard library returns %d, %v", len(data), err, len(want), wantErr)
	}
}

// checkWithin decodes a block in room of its size. The result must be the same as with
// unlimited room: the same bytes, or damage of the same kind.
func checkWithin(t *testing.T, d *Decoder, b *Block, data []byte, want error, limit int64) {
	t.Helper()
	var got []byte
	size, err := d.Size(b, "f.avro")
	if err == nil {
		memory := make([]byte, size)
		if got, err = d.DecodeWithin(memory[:0], b, "f.avro"); len(got) > 0 && &got[0] != &memory[0] {
			t.Fatalf("%d bytes outside of the room for %d", len(got), size)
		}
	}
	if size > max(limit, int64(len(b.Data)))+zstdSlack {
		t.Fatalf("room for %d bytes", size)
	}
	if want == nil {
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes in room for %d, %v; want %d", len(got), size, err, len(data))
		}
		return
	}
	var a, c *damage.Error
	if !errors.As(err, &a) || !errors.As(want, &c) || a.Kind != c.Kind || errors.Is(err, ErrTooLarge) != errors.Is(want, ErrTooLarge) {
		t.Fatalf("in room for %d: %v; want %v", size, err, want)
	}
}

// FuzzBlocks scans, resynchronizes and decodes anything that follows a valid
// header; blocks and losses must cover it exactly once.
func FuzzBlocks(f *testing.F) {
	const limit = 1 << 20
	var heads [][]byte
	for i, codec := range allCodecs {
		heads = append(heads, writeFile(f, codec))
		file := writeFile(f, codec, testBlock{2, words(1, 300)}, testBlock{0, nil}, testBlock{1, []byte("x")})
		f.Add(uint8(i), file[len(heads[i]):], 40)
	}
	for _, b := range foreignBlocks {
		data, err := base64.StdEncoding.DecodeString(b.base64)
		testenv.Must(f, err)
		f.Add(uint8(slices.Index(allCodecs, b.codec)), []byte(long(1)+long(int64(len(data)))+string(data)+sync16), 0)
	}
	f.Fuzz(func(t *testing.T, codec uint8, tail []byte, cut int) {
		if len(tail) > 1<<16 {
			t.Skip()
		}
		codec %= uint8(len(allCodecs))
		file := append(bytes.Clone(heads[codec]), tail...)
		h := mustHeader(t, file)
		d := newDecoder(t, allCodecs[codec], limit)
		s := scanner(h, file, Range{0, int64(len(file))})
		end := h.Size
		var b Block
		var data []byte
		for {
			err := s.Next(context.Background(), &b)
			if errors.Is(err, io.EOF) {
				break
			}
			at := b.Range()
			if err != nil {
				if !isDamage(err) {
					t.Fatalf("not damage: %v", err)
				}
				if at, err = s.Resync(context.Background()); err != nil {
					t.Fatal(err)
				}
			} else if data, err = d.Decode(data, &b, "f.avro"); err != nil && !isDamage(err) {
				t.Fatalf("not damage: %v", err)
			} else if int64(len(data)) > limit {
				t.Fatalf("%d bytes decoded", len(data))
			} else {
				checkWithin(t, d, &b, data, err, limit)
				if allCodecs[codec] == codecBzip2 {
					checkBzip2(t, &b, data, err, limit)
				}
			}
			if at.Start != end || at.End <= at.Start {
				t.Fatalf("got range %v, want one from %d", at, end)
			}
			end = at.End
		}
		if end != int64(len(file)) {
			t.Fatalf("covered up to %d of %d", end, len(file))
		}
		// If bytes contain a marker in a wrong place, their ranges are not exact,
		// but scanning them must end.
		mid := int64(cut) % int64(len(file))
		scanAll(t, scanner(h, file, Range{0, mid}))
		scanAll(t, scanner(h, file, Range{mid, int64(len(file))}))
	})
}
