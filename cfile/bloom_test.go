package cfile

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// TestBloomFile checks that a BloomFile of Kudu opens as a part without rows that describes filters.
func TestBloomFile(t *testing.T) {
	p := openLone(t, sample(t, "bloom_4000keys.cf"))
	const want = "3 Bloom filters (13 hash functions, 98304 bits) of about 3987 keys"
	if h, ok := p.(format.Holder); !ok || h.Contents() != want || p.Rows() != 0 || p.Schema() != "" {
		t.Errorf("%T, %q, %d rows of schema %q, want %q", p, h.Contents(), p.Rows(), p.Schema(), want)
	}
	if blocks, err := p.Blocks(0); err != nil || len(blocks) != 1 || blocks[0].StoredSize < 3*4096 {
		t.Errorf("blocks %+v, %v", blocks, err)
	}
	var dump strings.Builder
	if err := p.Dump(&dump); err != nil || !strings.Contains(dump.String(), "13 hash functions") {
		t.Errorf("%v:\n%.2000s", err, dump.String())
	}
	if err := p.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// bloomFile returns a file without rows, whose blocks have keys in a value index.
func bloomFile(t testing.TB, blocks ...string) []byte {
	file := rawFile{Footer: Footer{Type: Binary, Encoding: Plain, Incompatible: FeatureChecksums}, fan: 2, order: "v"}
	for i, b := range blocks {
		key := []byte{'a' + byte(i)}
		file.blocks = append(file.blocks, rawBlock{first: key, last: key, raw: []byte(b)})
	}
	return file.bytes(t)
}

// A BloomFile without blocks looks like an empty column of keys.
func TestEmptyBloomFile(t *testing.T) {
	if p := openLone(t, bloomFile(t)); p.Schema() == "" {
		t.Errorf("%T", p)
	}
}

// Verify finds a damaged filter after a sound one.
func TestBloomDamage(t *testing.T) {
	const sound = "\x02\x00\x00\x00\x08\x03\xff\xff"
	for name, c := range map[string]struct {
		block string
		kind  damage.Kind // empty: none
	}{
		"sound":                    {sound, ""},
		"an unknown field":         {"\x04\x00\x00\x00\x10\x07\x08\x03\xff", ""},
		"a long header":            {"\x05\x00\x00\x00\x08\x03\xff\xff", damage.Size},
		"a very long header":       {"\xff\xff\xff\xff\x08\x03\xff\xff", damage.Size},
		"a field without an end":   {"\x02\x00\x00\x00\x08\x83\xff\xff", damage.Header},
		"no number of functions":   {"\x00\x00\x00\x00\xff", damage.Header},
		"no hash functions":        {"\x02\x00\x00\x00\x08\x00\xff", damage.Count},
		"too many hash functions":  {"\x06\x00\x00\x00\x08\xff\xff\xff\xff\x0f\xff", damage.Value},
		"hash functions as a text": {"\x03\x00\x00\x00\x0a\x01\x03\xff", damage.Header},
		"no bits":                  {"\x02\x00\x00\x00\x08\x03", damage.Size},
	} {
		p := openLone(t, bloomFile(t, sound, c.block))
		if _, ok := p.(format.Holder); !ok {
			t.Errorf("%s: %T", name, p)
		}
		err := p.Verify(t.Context(), nil)
		if d := (*damage.Error)(nil); (err != nil) != (c.kind != "") || err != nil && (!errors.As(err, &d) || d.Kind != c.kind || !partDamage(err) || d.Offset < 24) {
			t.Errorf("%s: %v, want %q", name, err, c.kind)
		}
		if err := p.Dump(io.Discard); err != nil {
			t.Errorf("%s: dump: %v", name, err)
		}
	}
}

// FuzzFilter parses arbitrary blocks.
func FuzzFilter(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x08\x03\xff\xff"))
	f.Fuzz(func(t *testing.T, block []byte) {
		if len(block) < minBlock {
			return
		}
		hashes, bitmap, err := parseFilter(block)
		if err != nil && !isDamage(err) || err == nil && !(estimateKeys(hashes, bitmap) >= 0) {
			t.Fatalf("%d hash functions, %d bytes, %v", hashes, len(bitmap), err)
		}
	})
}
