package encoding_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// unhex returns the bytes of hexadecimal digits, with spaces between them.
func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// drain reads a whole body and returns the first error.
func drain(d encoding.Decoder, body []byte) error {
	if err := d.Reset(body); err != nil {
		return err
	}
	var v encoding.Values
	for {
		v.Reset()
		if _, err := d.Read(&v, 1000); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// damageOf formats the kind and offset of damage.
func damageOf(err error) string {
	var d *damage.Error
	if !errors.As(err, &d) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%s at %d", d.Kind, d.Offset)
}

func TestDamage(t *testing.T) {
	dictionary, err := encoding.NewDictionary(unhex("00000000 01000000 0d000000 78 00 0c000000"))
	testenv.Must(t, err)
	for _, c := range []struct {
		name string
		d    encoding.Decoder
		body string
		want string
	}{
		{"plain without a header", encoding.NewPlain(4), "00000000 000000", "truncated at 0"},
		{"plain with too few values", encoding.NewPlain(4), "02000000 00000000 01000000 020000", "size at 8"},
		{"plain with too many values", encoding.NewPlain(1), "02000000 00000000 010203", "size at 8"},
		{"plain of 4 GiB", encoding.NewPlain(16), "00000010 00000000", "size at 8"},
		{"BOOL without a header", encoding.NewPlainBool(), "", "truncated at 0"},
		{"BOOL with too few bits", encoding.NewPlainBool(), "09000000 00000000 ff", "size at 8"},
		{"BOOL with too many bits", encoding.NewPlainBool(), "08000000 00000000 ffff", "size at 8"},

		{"BINARY without a header", encoding.NewPlainBinary(), "00000000 00000000 0c0000", "truncated at 0"},
		{"BINARY, data in the header", encoding.NewPlainBinary(), "00000000 00000000 0b000000", "size at 8"},
		{"BINARY, data past the end", encoding.NewPlainBinary(), "00000000 00000000 0d000000", "size at 8"},
		{"BINARY, more values than offsets", encoding.NewPlainBinary(), "00000000 05000000 0c000000 000c0c0c0c", "count at 4"},
		{"BINARY, cut offsets", encoding.NewPlainBinary(), "00000000 01000000 0c000000 ff0c0c0c0c", "truncated at 12"},
		{"BINARY, a gap before", encoding.NewPlainBinary(), "00000000 01000000 0d000000 78 00 0d000000", "value at 13"},
		{"BINARY, data of no value", encoding.NewPlainBinary(), "00000000 00000000 0d000000 78", "value at 13"},
		{"BINARY, falling", encoding.NewPlainBinary(), "00000000 03000000 0e000000 7879 00 0c0e0d00", "value at 14"},
		{"BINARY, past the data", encoding.NewPlainBinary(), "00000000 02000000 0e000000 7879 00 0c0f0000", "value at 14"},
		{"BINARY, bytes after", encoding.NewPlainBinary(), "00000000 01000000 0d000000 78 00 0c000000 00", "trailing bytes at 18"},

		{"RLE without a header", encoding.NewRLE(4), "00000000 000000", "truncated at 0"},
		{"RLE without runs", encoding.NewRLE(4), "01000000 00000000", "truncated at 8"},
		{"RLE, an empty repeat", encoding.NewRLE(4), "01000000 00000000 00 07000000 02 07000000", "truncated at 8"},
		{"RLE, an empty literal", encoding.NewRLE(4), "01000000 00000000 01 02 07000000", "truncated at 8"},
		{"RLE, a cut repeat", encoding.NewRLE(4), "01000000 00000000 02 070000", "truncated at 8"},
		{"RLE, a cut literal", encoding.NewRLE(4), "02000000 00000000 03 07000000 0800", "truncated at 13"},
		{"RLE, a header without end", encoding.NewRLE(1), "01000000 00000000 8080808080", "truncated at 8"},
		{"RLE, a header of 33 bits", encoding.NewRLE(1), "01000000 00000000 828080801f 07", "truncated at 8"},
		{"RLE, bytes after", encoding.NewRLE(1), "01000000 00000000 0207 00", "trailing bytes at 10"},
		{"RLE BOOL, neither 0 nor 1", encoding.NewRLEBool(), "01000000 00000000 0202", "value at 9"},
		{"RLE BOOL, too few bits", encoding.NewRLEBool(), "09000000 00000000 05ff", "truncated at 10"},

		{"prefix without a header", encoding.NewPrefix(), "", "truncated at 0"},
		{"prefix with a cut header", encoding.NewPrefix(), "00 00 00 10", "truncated at 0"},
		{"prefix without restarts", encoding.NewPrefix(), "00 00 00 10 00 000000", "truncated at 5"},
		{"prefix, no interval", encoding.NewPrefix(), "00 00 00 00 00 00000000", "header at 0"},
		{"prefix, too few restarts", encoding.NewPrefix(), "00 11 00 10 00 00000000", "count at 5"},
		{"prefix, too many restarts", encoding.NewPrefix(), "00 01 00 10 00 000178 08000000 01000000", "count at 12"},
		{"prefix, restarts before the body", encoding.NewPrefix(), "00 05 00 01 00 04000000", "truncated at 5"},
		{"prefix, no entry", encoding.NewPrefix(), "00 01 00 10 00 00000000", "truncated at 5"},
		{"prefix, half an entry", encoding.NewPrefix(), "00 01 00 10 00 00 00000000", "truncated at 5"},
		{"prefix, a cut entry", encoding.NewPrefix(), "00 01 00 10 00 000278 00000000", "truncated at 5"},
		{"prefix, an entry of 4 GiB", encoding.NewPrefix(), "00 01 00 10 00 00ffffffff0f 00000000", "truncated at 5"},
		{"prefix, the first shares", encoding.NewPrefix(), "00 01 00 10 00 0100 00000000", "value at 5"},
		{"prefix, too much shared", encoding.NewPrefix(), "00 02 00 10 00 000178 0200 00000000", "value at 8"},
		{"prefix, a restart elsewhere", encoding.NewPrefix(), "00 02 00 01 00 0000 0000 06000000 01000000", "value at 9"},
		{"prefix, a restart that shares", encoding.NewPrefix(), "00 02 00 01 00 000178 0100 08000000 01000000", "value at 10"},
		{"prefix, bytes after", encoding.NewPrefix(), "00 01 00 10 00 0000 00 00000000", "trailing bytes at 7"},

		{"group varint without a header", encoding.NewGroupVarint(), "00", "truncated at 0"},
		{"group varint without values", encoding.NewGroupVarint(), "00 01 00 00 00", "truncated at 5"},
		{"group varint, cut", encoding.NewGroupVarint(), "00 01 00 00 00 c0 01000000 0000", "truncated at 5"},
		{"group varint, beyond 32 bits", encoding.NewGroupVarint(), "30 01 ffffffff 00 00 00 01 00 00 00", "value at 0"},
		{"group varint, bytes after", encoding.NewGroupVarint(), "00 01 00 00 00 00 01 00 00 00 00", "trailing bytes at 10"},

		{"dictionary without a mode", encoding.NewDict(dictionary), "010000", "truncated at 0"},
		{"dictionary of mode 3", encoding.NewDict(dictionary), "03000000 00000000", "header at 0"},
		{"dictionary, no plain block", encoding.NewDict(dictionary), "02000000 00000000", "truncated at 4"},
		{"dictionary, bytes after", encoding.NewDict(dictionary), "02000000 00000000 01000000 0d000000 78 00 0c000000 00", "trailing bytes at 22"},
	} {
		if got := damageOf(drain(c.d, unhex(c.body))); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestDamagedDictionary(t *testing.T) {
	for _, c := range []struct{ name, block, want string }{
		{"none", "", "truncated at 0"},
		{"a claim of 2³² words", "00000000 ffffffff 0c000000 000c0c0c0c", "count at 4"},
		{"falling", "00000000 03000000 0e000000 7879 00 0c0e0d00", "value at 14"},
		{"bytes after", "00000000 01000000 0d000000 78 00 0c000000 00", "trailing bytes at 18"},
	} {
		if _, err := encoding.NewDictionary(unhex(c.block)); damageOf(err) != c.want {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

// TestSkipTooFar skips more values than are left.
func TestSkipTooFar(t *testing.T) {
	for _, c := range codecs() {
		v := c.values(9, func(int) []byte { return make([]byte, 16) })
		d := c.decode()
		for _, n := range []int{-1, 9, math.MaxInt} {
			testenv.Must(t, d.Reset(c.append(nil, 0, v)))
			if _, err := d.Read(new(encoding.Values), 1); err != nil {
				t.Fatal(err)
			}
			if err := d.Skip(n); !strings.HasPrefix(damageOf(err), "count") {
				t.Errorf("%s, %d: %v; want damage of the count", c.name, n, err)
			}
		}
	}
}

// TestSkipsDamage skips values that are missing.
func TestSkipsDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		d    encoding.Decoder
		body string
		skip int
		want string
	}{
		{"RLE", encoding.NewRLE(4), "02000000 00000000 02 07000000", 2, "truncated at 13"},
		{"group varint", encoding.NewGroupVarint(), "00 09 00 00 00 00 00 00 00 00 00 00 00 00 00", 9, "truncated at 15"},
		{"group varint, all cut", encoding.NewGroupVarint(), "00 64 00 00 00 ff 00", 100, "truncated at 7"},
		{"BINARY", encoding.NewPlainBinary(), "00000000 03000000 0e000000 7879 00 0c0f0000", 1, "value at 14"},
		{"prefix", encoding.NewPrefix(), "00 02 00 10 00 000178 0200 00000000", 2, "value at 8"},
	} {
		err := c.d.Reset(unhex(c.body))
		if err == nil {
			err = c.d.Skip(c.skip)
		}
		if got := damageOf(err); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

func TestBits(t *testing.T) {
	body := encoding.AppendBits(nil, bools("1101000011111111111111111101"))
	var b encoding.Bits
	var v encoding.Values
	for _, c := range []struct{ skip, set int }{{0, 0}, {3, 2}, {9, 4}, {28, 22}} {
		b.Reset(body, 28)
		set, err := b.Skip(c.skip)
		if err != nil || set != c.set {
			t.Errorf("%d of %d bits are 1, %v; want %d", set, c.skip, err, c.set)
		}
		v.Reset()
		if n, err := b.Read(&v, 100); c.skip < 28 && (err != nil || n != 28-c.skip) || c.skip == 28 && err != io.EOF {
			t.Errorf("read %d bits after %d, %v", n, c.skip, err)
		}
	}
	b.Reset(body, 29)
	if _, err := b.Skip(30); damageOf(err) != "count at 0" {
		t.Errorf("30 bits of 29: %v", err)
	}
	b.Reset(unhex("02 00 00"), 1)
	if _, err := b.Skip(1); err != nil {
		t.Error(err)
	}
	if _, err := b.Read(&v, 1); damageOf(err) != "trailing bytes at 2" {
		t.Errorf("a byte after the bits: %v", err)
	}
}
