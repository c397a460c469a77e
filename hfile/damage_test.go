package hfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// file has the bytes of a file to change.
type file []byte

// madeFile returns a file of n cells, each in its own row.
func madeFile(t testing.TB, o WriterOptions, n int) file { return madeBy(t, o, n, func(*Writer) {}) }

// everything returns a small file with everything that a Writer writes.
func everything(t testing.TB, codec Codec) file {
	o := WriterOptions{
		BlockSize: 150, IndexBlockSize: 100, Codec: codec, RowBloom: true,
		Meta: []Pair{{"meta", []byte("block")}}, Info: Info{{"a key", []byte("a value")}},
	}
	return madeFile(t, o, 60)
}

// open opens the file.
func (f file) open() (*Reader, error) {
	return Open(bytes.NewReader(f), int64(len(f)), OpenOptions{Name: "f"})
}

// verify opens and verifies the file.
func (f file) verify() error {
	r, err := f.open()
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Verify(context.Background())
}

// content returns everything that can be read from the file.
func (f file) content() (string, error) {
	r, err := f.open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	var all bytes.Buffer
	fmt.Fprintln(&all, r.Info(), r.Entries())
	for _, name := range r.MetaNames() {
		b, err := r.Meta(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "%s %q\n", name, b)
	}
	s := r.Scan()
	defer s.Close()
	for s.Next() {
		fmt.Fprintf(&all, "%s %q\n", s.Key(), s.Value())
	}
	return all.String(), s.Err()
}

// header returns the header of the block at an offset.
func (f file) header(t testing.TB, at int64) blockHeader {
	t.Helper()
	h, err := parseBlockHeader(f[at:], at, int64(len(f))-trailerSize-at)
	testenv.Must(t, err)
	return h
}

// offsets returns the offsets of the blocks with a magic.
func (f file) offsets(t testing.TB, magic string) (found []int64) {
	t.Helper()
	for at := int64(0); at < int64(len(f)-trailerSize); {
		h := f.header(t, at)
		if h.magic == magic {
			found = append(found, at)
		}
		at += int64(h.size())
	}
	return found
}

// changed returns a copy of the file with a change of its n-th block of a magic, and the
// block's new checksums.
func (f file) changed(t testing.TB, magic string, n int, change func(block []byte)) file {
	t.Helper()
	at := f.offsets(t, magic)[n]
	h := f.header(t, at)
	f = slices.Clone(f)
	change(f[at:])
	for i := range chunks(h.covered, h.perChecksum) {
		covered := f[at : at+int64(h.covered)]
		sum := h.checksum.sum(covered[i*h.perChecksum : min((i+1)*h.perChecksum, len(covered))])
		binary.BigEndian.PutUint32(f[at+int64(h.covered+i*checksumSize):], sum)
	}
	return f
}

// withTrailer returns a copy of the file with a changed trailer.
func (f file) withTrailer(t testing.TB, change func(*Trailer)) file {
	t.Helper()
	end := len(f) - trailerSize
	trailer, err := parseTrailer(f[end:], int64(end))
	testenv.Must(t, err)
	change(trailer)
	return trailer.append(slices.Clone(f[:end]))
}

// kindOf returns the kind of the file's damage, or "" if err is not such damage.
func kindOf(err error) damage.Kind {
	var d *damage.Error
	if errors.As(err, &d) && d.File == "f" {
		return d.Kind
	}
	return ""
}

// TestEveryByte changes each byte of a file. Changes of blocks are reported. The trailer has no
// checksum: changes of it that are not reported do not change what is read.
func TestEveryByte(t *testing.T) {
	for _, codec := range []Codec{None, GZ} {
		sound := everything(t, codec)
		want, err := sound.content()
		if err == nil {
			err = sound.verify()
		}
		testenv.Must(t, err)
		end := len(sound) - trailerSize
		padding := end + 200 // zeros; only some of them are changed
		for i := range sound {
			if i > padding && i < len(sound)-versionSize && i%100 > 0 {
				continue
			}
			f := slices.Clone(sound)
			f[i] ^= 1 << (i % 8)
			err := f.verify()
			if err != nil {
				if kindOf(err) == "" {
					t.Fatalf("byte %d: %v", i, err)
				}
				continue
			}
			if got, err := f.content(); i < end || err != nil || got != want {
				t.Errorf("%s: a change of byte %d of %d is not reported", codec, i, len(f))
			}
		}
	}
}

// TestEveryLength checks that a file that is cut at any byte is damaged.
func TestEveryLength(t *testing.T) {
	f := everything(t, None)
	for n := range f {
		if err := f[:n].verify(); kindOf(err) == "" {
			t.Fatalf("the first %d of %d bytes: want damage, got %v", n, len(f), err)
		}
	}
}

// TestDump checks that dumps have all bytes of files: it restores files from their dumps.
func TestDump(t *testing.T) {
	files := samples(t)
	files["none"], files["gzip"] = everything(t, None), everything(t, GZ)
	files["columns"] = madeFile(t, WriterOptions{}, 0)
	for name, f := range files {
		if len(f) > 20_000 {
			continue
		}
		r, err := f.open()
		testenv.Must(t, err)
		var dump bytes.Buffer
		testenv.Must(t, r.Dump(&dump))
		if dumped := formattest.Dumped(dump.Bytes()); !bytes.Equal(dumped, f) {
			t.Errorf("%s: the dump has %d bytes of %d, or wrong bytes", name, len(dumped), len(f))
		}
	}
}
