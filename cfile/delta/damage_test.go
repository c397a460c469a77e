package delta

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
)

var sound = noStats()

// plain are the options of a DeltaFile whose values need not be deltas.
func plain(stats []byte) cfile.Options {
	return cfile.Options{
		Type: cfile.Binary, Encoding: cfile.Plain, ValueIndex: true, WholeKeys: true,
		Metadata: []cfile.Pair{{Key: "other"}, {Key: statsKey, Value: stats}},
	}
}

func raw(t testing.TB, o cfile.Options, values ...[]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := cfile.NewWriter(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	var rows cfile.Rows
	for _, v := range values {
		rows.AppendBinary(v)
	}
	if err := errors.Join(w.Append(&rows), w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// TestDamage of a delta behind one that is sound.
func TestDamage(t *testing.T) {
	for what, c := range map[string]struct {
		value string
		kind  damage.Kind
	}{
		"nothing":           {"", damage.Truncated},
		"a row that is cut": {"f9ff", damage.Truncated},
		"no time":           {"06", damage.Truncated},
		"no change":         {"0605", damage.Truncated},
		"a great row":       {"fc01000000060502", damage.Value},
		"an earlier row":    {"040502", damage.Value},
		"another kind":      {"060504", damage.Value},
		"a cut cell":        {"0605010203ff", damage.Size},
	} {
		c1 := cursor(t, opened(t, raw(t, plain(sound.append(nil)), unhex(t, "050502"), unhex(t, c.value))))
		var d Delta
		if err := c1.Next(&d); err != nil || d.Row != 5 || d.Timestamp != 5 || d.Kind != Delete {
			t.Errorf("%s: the delta before: %+v, %v", what, d, err)
		}
		err := c1.Next(&d)
		if e := (*damage.Error)(nil); !errors.As(err, &e) || e.Kind != c.kind || e.File != "test.cf" || e.Row != 1 {
			t.Errorf("%s: %v, want %s", what, err, c.kind)
		}
	}
}

// TestOtherFiles are CFiles, but no DeltaFiles.
func TestOtherFiles(t *testing.T) {
	with := func(change func(o *cfile.Options)) []byte {
		o := plain(sound.append(nil))
		change(&o)
		return raw(t, o)
	}
	// No writer makes an index of nulls, so the footer is changed: 8 is_type_nullable bool.
	nulls := with(func(o *cfile.Options) { o.NoChecksums = true })
	nulls[bytes.LastIndex(nulls, []byte{8 << 3, 0})+1] = 1
	stats := func(text string) []byte { return raw(t, plain(unhex(t, text))) }
	const rest = "19f00800000000000021f208000000000000"
	for what, c := range map[string]struct {
		file []byte
		kind damage.Kind // empty: none
	}{
		"sound":             {with(func(*cfile.Options) {}), ""},
		"integers":          {with(func(o *cfile.Options) { o.Type = cfile.Int32 }), damage.Header},
		"a dictionary":      {with(func(o *cfile.Options) { o.Encoding = cfile.Dict }), damage.Header},
		"nullable":          {nulls, damage.Header},
		"without index":     {with(func(o *cfile.Options) { o.ValueIndex, o.Positional = false, true }), damage.Header},
		"without stats":     {with(func(o *cfile.Options) { o.Metadata = nil }), damage.Header},
		"empty stats":       {stats(""), damage.Header},
		"no deletes":        {stats(rest), damage.Header},
		"no first time":     {stats("080021f208000000000000"), damage.Header},
		"no last time":      {stats("080019f008000000000000"), damage.Header},
		"a time as varint":  {stats("0800180121f208000000000000"), damage.Header},
		"few":               {stats("0800" + rest), ""},
		"unknown fields":    {stats("0800" + rest + "3d01000000" + "4201ff"), ""},
		"columns":           {stats("0800" + rest + "2a0408051001" + "2a0408021001"), ""},
		"a great column":    {stats("0800" + rest + "2a08" + "088080808008" + "1001"), damage.Value},
		"a cut tag":         {stats("0800" + rest + "80"), damage.Header},
		"a cut column":      {stats("0800" + rest + "2a04"), damage.Header},
		"a cut field in it": {stats("0800" + rest + "2a0108"), damage.Header},
		"no CFile":          {bytes.Repeat([]byte{'x'}, 100), damage.Magic},
	} {
		f, err := Open(bytes.NewReader(c.file), int64(len(c.file)), "test.cf")
		if c.kind == "" {
			if err != nil || what == "columns" && f.Stats().Columns[0].Column != 2 {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != c.kind || d.File != "test.cf" {
			t.Errorf("%s: %v, want %s", what, err, c.kind)
		}
	}
}

// FuzzFile reads arbitrary files.
func FuzzFile(f *testing.F) {
	all := sample(Redo, 5)
	f.Add(written(f, Redo, all), uint32(10))
	o := plain(sound.append(nil))
	o.NoChecksums = true // what is changed of it is read on
	f.Add(raw(f, o, []byte{5, 5, 2}, []byte{6, 6, 1, 2, 6, 'h', 'e', 'l', 'l', 'o'}), uint32(6))
	f.Fuzz(func(t *testing.T, b []byte, row uint32) {
		file, err := Open(bytes.NewReader(b), int64(len(b)), "fuzz.cf")
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		c := file.Cursor()
		defer c.Close()
		var d Delta
		for err == nil {
			err = c.Next(&d)
		}
		if !errors.Is(err, io.EOF) && !isDamage(err) {
			t.Fatal(err)
		}
		if err = c.SeekRow(row); err == nil {
			err = c.Next(&d)
		}
		if err != nil && !errors.Is(err, io.EOF) && !isDamage(err) {
			t.Fatal(err)
		}
	})
}

// FuzzChange holds what is read of arbitrary bytes to what is written of it.
func FuzzChange(f *testing.F) {
	f.Add([]byte{1, 2, 6, 'h', 'e', 'l', 'l', 'o'})
	f.Add([]byte{3, 1, 0, 2, 1})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		var c, again Change
		if err := c.Parse(b); err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		got, err := c.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		// Numbers may be longer than they need to be, in what is read.
		if len(got) > len(b) || again.Parse(got) != nil || len(again.Cells) != len(c.Cells) {
			t.Fatalf("%x became %x", b, got)
		}
	})
}

// FuzzKey does the same with keys and statistics.
func FuzzKey(f *testing.F) {
	f.Add([]byte{0xfa, 1, 8, 0xf0, 5})
	f.Add(sound.append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if k, rest, err := parseKey(b); err == nil {
			again, left, err := parseKey(append(k.append(nil), rest...))
			if err != nil || again != k || !bytes.Equal(left, rest) {
				t.Fatalf("%x is %v, and then %v, %v", b, k, again, err)
			}
		} else if !isDamage(err) {
			t.Fatal(err)
		}
		if s, err := parseStats(b); err == nil {
			if _, err := parseStats(s.append(nil)); err != nil {
				t.Fatal(err)
			}
		} else if !isDamage(err) {
			t.Fatal(err)
		}
	})
}
