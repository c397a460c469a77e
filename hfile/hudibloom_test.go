package hfile

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// hudiFilters are filters by Hadoop's code, which Hudi's is made of, of the texts of
// hashVectors but the empty one.
var hudiFilters = []struct{ name, kind, text string }{
	{"Jenkins", hudiSimple, "/////wAAAAcAAAAAkCSWgtKUHRNGpGWgKJtoQyDIRw=="},
	{"Murmur", hudiSimple, "/////wAAAAcBAAAAkPRxJBViOJDeskxLQGYBdAEDCQ=="},
	{"dynamic", hudiDynamic, "/////wAAAAcBAAAAPAAAAAQAAAACAAAAA/////8AAAAHAQAAADwFwAh5f42iAP////8AAAAHAQAAADw2ArNIQkwOAP////8AAAAHAQAAADxBAQAEAzRAAw=="},
}

func TestHudiBloom(t *testing.T) {
	for _, c := range hudiFilters {
		h, err := ParseHudiBloom(c.text, c.kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range hashVectors[1:] {
			if !h.MayContain([]byte(v.text)) {
				t.Errorf("%s: it does not have %q", c.name, v.text)
			}
		}
		found := 0
		for i := range 1000 {
			if h.MayContain(fmt.Append(nil, "absent", i)) {
				found++
			}
		}
		if found > 100 {
			t.Errorf("%s: it has %d of 1000 rows that are not there", c.name, found)
		}
	}
	b, err := base64.StdEncoding.DecodeString(hudiFilters[1].text)
	if err != nil {
		t.Fatal(err)
	}
	f := hudiFilter{hashes: 7, hash: murmurByHudi, kind: hashMurmur, bits: 144, array: make([]byte, 18)}
	for _, v := range hashVectors[1:] {
		f.add([]byte(v.text))
	}
	if got := f.append(nil); !slices.Equal(got, b) {
		t.Errorf("the filter is %x, Hadoop's %x", got, b)
	}
}

// Of filters older than their versions the number of hash functions comes first.
func TestHudiBloomWithoutVersion(t *testing.T) {
	b, err := base64.StdEncoding.DecodeString(hudiFilters[0].text)
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(append(b[4:8:8], b[9:]...)), hudiSimple)
	if err != nil || !h.MayContain([]byte("abc")) {
		t.Error(err)
	}
}

func TestHudiBloomDamage(t *testing.T) {
	for _, c := range hudiFilters {
		b, err := base64.StdEncoding.DecodeString(c.text)
		if err != nil {
			t.Fatal(err)
		}
		put := func(at int, v int32) []byte {
			b := slices.Clone(b)
			binary.BigEndian.PutUint32(b[at:], uint32(v))
			return b
		}
		damaged := map[string][]byte{
			"another version": put(0, -2), "no hash functions": put(4, 0), "many": put(4, maxHashes+1),
			"an unknown one": append(append(slices.Clone(b[:8]), 2), b[9:]...), "no bits": put(9, 0), "negative bits": put(9, -9),
			"more bits": put(9, 1<<30), "bytes behind it": append(slices.Clone(b), 0),
		}
		if c.kind == hudiDynamic {
			delete(damaged, "more bits") // of the filters together, which nobody asks for
			damaged["filters"], damaged["negative filters"] = put(hudiHeadSize+8, 1<<30), put(hudiHeadSize+8, -1)
		}
		for n := range b {
			damaged[fmt.Sprint("the first ", n)] = b[:n]
		}
		for name, d := range damaged {
			if _, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(d), c.kind); err == nil {
				t.Errorf("%s, %s: nothing is reported", c.name, name)
			}
		}
	}
	if _, err := ParseHudiBloom("!", hudiSimple); err == nil {
		t.Error("what is no Base64 is read")
	}
	if _, err := ParseHudiBloom("", "OTHER"); err == nil {
		t.Error("an unknown kind is read")
	}
}

// FuzzHudiBloom reads arbitrary bytes as a filter of each kind.
func FuzzHudiBloom(f *testing.F) {
	for _, c := range hudiFilters {
		b, err := base64.StdEncoding.DecodeString(c.text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, kind := range []string{hudiSimple, hudiDynamic} {
			h, err := ParseHudiBloom(base64.StdEncoding.EncodeToString(b), kind)
			if err != nil {
				damageOnly(t, err)
				continue
			}
			h.MayContain(b)
		}
	})
}
