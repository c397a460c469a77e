package bloom

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
)

// raw is a file of blocks, of which the first keys are a, b, …
func raw(t testing.TB, o cfile.Options, blocks ...[]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := cfile.NewWriter(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range blocks {
		key := []byte{'a' + byte(i)}
		if err := w.AppendBlock(b, key, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestShortBlock(t *testing.T) {
	for n := range 4 {
		_, err := parse(everything[:n])
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Truncated {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestLongBlock is one that no writer makes.
func TestLongBlock(t *testing.T) {
	_, err := parse(append([]byte{2, 0, 0, 0, 8, 3}, make([]byte, maxBitmap+1)...))
	if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Size {
		t.Error(err)
	}
}

var plain = cfile.Options{Type: cfile.Binary, Encoding: cfile.Plain, ValueIndex: true}

// One filter has bits for all keys; in others something is wrong.
var everything = []byte{2, 0, 0, 0, 8, 3, 0xff, 0xff}

func TestDamage(t *testing.T) {
	for what, c := range map[string]struct {
		block []byte
		kind  damage.Kind // empty: none
	}{
		"sound":                    {everything, ""},
		"an unknown field":         {[]byte{4, 0, 0, 0, 16, 7, 8, 3, 0xff}, ""},
		"a long header":            {[]byte{5, 0, 0, 0, 8, 3, 0xff, 0xff}, damage.Size},
		"a very long header":       {[]byte{0xff, 0xff, 0xff, 0xff, 8, 3, 0xff, 0xff}, damage.Size},
		"a field without an end":   {[]byte{2, 0, 0, 0, 8, 0x83, 0xff, 0xff}, damage.Header},
		"a tag without an end":     {[]byte{1, 0, 0, 0, 0x88, 1, 3, 0xff}, damage.Header},
		"another field cut":        {[]byte{2, 0, 0, 0, 18, 9, 0xff, 0xff}, damage.Header},
		"no hash functions":        {[]byte{0, 0, 0, 0, 0xff}, damage.Count},
		"zero hash functions":      {[]byte{2, 0, 0, 0, 8, 0, 0xff}, damage.Count},
		"too many hash functions":  {[]byte{3, 0, 0, 0, 8, 0xcd, 8, 0xff}, damage.Count},
		"a negative number":        {append([]byte{11, 0, 0, 0, 8}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), damage.Count},
		"hash functions as a text": {[]byte{3, 0, 0, 0, 10, 1, 3, 0xff}, damage.Count},
		"no bits":                  {[]byte{2, 0, 0, 0, 8, 3}, damage.Size},
	} {
		p := opened(t, raw(t, plain, everything, c.block)).Prober()
		first, err := p.MayContain([]byte("a"))
		if err != nil || !first {
			t.Errorf("%s: the block before: %v", what, err)
		}
		_, err = p.MayContain([]byte("b"))
		var d *damage.Error
		if c.kind == "" {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		} else if !errors.As(err, &d) || d.Kind != c.kind || d.File != "test.cf" || d.Offset < 16+int64(len(everything))+4 {
			t.Errorf("%s: %v, want %s", what, err, c.kind)
		}
		if first, err = p.MayContain([]byte("a")); err != nil || !first {
			t.Errorf("%s: the block before, again: %v", what, err)
		}
		p.Close()
	}
}

// TestOtherFiles are CFiles, but no BloomFiles.
func TestOtherFiles(t *testing.T) {
	rows := plain
	rows.Positional = true
	var file bytes.Buffer
	w, err := cfile.NewWriter(&file, rows)
	if err != nil {
		t.Fatal(err)
	}
	var r cfile.Rows
	r.AppendBinary([]byte("a"))
	if err := errors.Join(w.Append(&r), w.Close()); err != nil {
		t.Fatal(err)
	}
	with := func(change func(o *cfile.Options)) []byte {
		o := plain
		change(&o)
		return raw(t, o)
	}
	for what, c := range map[string]struct {
		file []byte
		kind damage.Kind
	}{
		"rows":          {file.Bytes(), damage.Count},
		"integers":      {with(func(o *cfile.Options) { o.Type = cfile.Int32 }), damage.Header},
		"a dictionary":  {with(func(o *cfile.Options) { o.Encoding = cfile.Dict }), damage.Header},
		"compressed":    {with(func(o *cfile.Options) { o.Compression = cfile.Snappy }), damage.Codec},
		"without index": {with(func(o *cfile.Options) { o.ValueIndex, o.Positional = false, true }), damage.Header},
		"nullable":      {with(func(o *cfile.Options) { o.ValueIndex, o.Positional, o.Nullable = false, true, true }), damage.Header},
		"no CFile":      {bytes.Repeat([]byte{'x'}, 100), damage.Magic},
	} {
		_, err := Open(bytes.NewReader(c.file), int64(len(c.file)), "test.cf")
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != c.kind || d.File != "test.cf" {
			t.Errorf("%s: %v, want %s", what, err, c.kind)
		}
	}
}

func isDamage(err error) bool { return errors.As(err, new(*damage.Error)) }

// FuzzBloom asks arbitrary files.
func FuzzBloom(f *testing.F) {
	f.Add(written(f, Options{BlockSize: 8}, 100, text), text(nil, 50))
	unchecked := plain
	unchecked.NoChecksums = true // what is changed of it is read on
	f.Add(raw(f, unchecked, everything, everything), []byte("a"))
	f.Fuzz(func(t *testing.T, b, key []byte) {
		file, err := Open(bytes.NewReader(b), int64(len(b)), "fuzz.cf")
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		p := file.Prober()
		defer p.Close()
		for _, key := range [][]byte{key, {}, {0xff}} {
			if _, err := p.MayContain(key); err != nil && !isDamage(err) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzFilter asks arbitrary blocks.
func FuzzFilter(f *testing.F) {
	f.Add(everything, uint64(1))
	f.Fuzz(func(t *testing.T, block []byte, hash uint64) {
		filter, err := parse(block)
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		filter.mayContain(hash)
	})
}
