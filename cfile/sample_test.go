package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// sample returns a file that Kudu wrote.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "kudu", name))
	testenv.Must(t, err)
	return b
}

// samples returns all files that Kudu wrote by name.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/kudu/*.cf")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	all := map[string][]byte{}
	for _, p := range paths {
		all[filepath.Base(p)] = sample(t, filepath.Base(p))
	}
	return all
}

func openBytes(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.cf")
	testenv.Must(t, err)
	return f
}

// printRows appends rows as Kudu prints them. It supports only the types of the samples.
func printRows(dst []byte, f *Footer, r *Rows) []byte {
	valid, value := r.Valid, 0
	if !f.Nullable {
		n := r.BinaryLen()
		if w := f.Type.Width(); w > 0 {
			n = len(r.Fixed) / w
		}
		valid = bytes.Repeat([]byte{1}, n)
	}
	for _, v := range valid {
		if v == 0 {
			dst = append(dst, "NULL\n"...)
			continue
		}
		switch w := f.Type.Width(); f.Type {
		case Bool:
			dst = fmt.Appendln(dst, r.Fixed[value] == 1)
		case Int32:
			dst = fmt.Appendln(dst, int32(binary.LittleEndian.Uint32(r.Fixed[value*w:])))
		case Double:
			dst = fmt.Appendln(dst, math.Float64frombits(binary.LittleEndian.Uint64(r.Fixed[value*w:])))
		case String:
			dst = fmt.Appendf(dst, "%q\n", r.Binary(value))
		default:
			panic(f.Type)
		}
		value++
	}
	return dst
}

// readAll reads the rows of a file from first to last, n at a time.
func readAll(f *File, n int) (rows Rows, err error) {
	c := f.Cursor()
	defer c.Close()
	for {
		if _, err := c.Read(&rows, n); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
	}
}

func TestSamplesReadAsKuduPrintsThem(t *testing.T) {
	for name, b := range samples(t) {
		f := openBytes(t, b)
		for _, n := range []int{1, 7, 1 << 20} {
			rows, err := readAll(f, n)
			if err != nil {
				t.Errorf("%s, %d at a time: %v", name, n, err)
				continue
			}
			var want []byte
			if f.Footer().Values > 0 {
				want = sample(t, strings.TrimSuffix(name, ".cf")+".rows")
			}
			if got := printRows(nil, f.Footer(), &rows); !bytes.Equal(got, want) {
				t.Errorf("%s, %d at a time: %.100q…, expected %.100q…", name, n, got, want)
			}
		}
	}
}

// walk visits all blocks of a file, and decodes them.
func walk(f *File) error {
	_, err := readAll(f, 1000)
	if err != nil {
		return err
	}
	for _, root := range []*Pointer{f.footer.Positional, f.footer.Value} {
		if root == nil {
			continue
		}
		blocks := blockReader{f: f, from: f.readAt}
		err := f.visit(*root, func(n node) error {
			_, err := blocks.read(n.Pointer)
			return err
		})
		blocks.close()
		if err != nil {
			return err
		}
	}
	if f.footer.Dictionary != nil {
		_, err = f.dictionary()
	}
	return err
}

func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d)
}

// All bytes of a file are in a block, the header or the footer, and each of those has a
// checksum. The test changes one bit of a byte, and in longer files not of every byte. In soak
// it changes every bit.
func TestEveryChangeOfASampleIsReported(t *testing.T) {
	for name, b := range samples(t) {
		for i := range b {
			for bit := range 8 {
				if !soak.Full() && (bit != i%8 || min(i, len(b)-i) > 700 && i%9 != 0) {
					continue
				}
				b[i] ^= 1 << bit
				f, err := Open(bytes.NewReader(b), int64(len(b)), name)
				if err == nil {
					err = walk(f)
				}
				if !isDamage(err) {
					t.Fatalf("%s: byte %d, bit %d: %v", name, i, bit, err)
				}
				b[i] ^= 1 << bit
			}
		}
	}
}

func TestFootersOfSamples(t *testing.T) {
	for name, b := range samples(t) {
		f := openBytes(t, b)
		if got := f.footer.append(nil); !bytes.Equal(got, b[f.footerAt:]) {
			t.Errorf("%s: %x, expected %x", name, got, b[f.footerAt:])
		}
		if got := appendHeader(nil, true); !bytes.Equal(got, b[:f.headerSize]) {
			t.Errorf("%s: %x, expected %x", name, got, b[:f.headerSize])
		}
	}
}

// indexBlock builds the same index blocks as Kudu from the entries of the samples.
func TestIndexBlocksOfSamples(t *testing.T) {
	for name, b := range samples(t) {
		f := openBytes(t, b)
		for _, root := range []*Pointer{f.footer.Positional, f.footer.Value} {
			if root == nil {
				continue
			}
			blocks := blockReader{f: f, from: f.readAt}
			err := f.visit(*root, func(n node) error {
				if n.index == nil {
					return nil
				}
				var built indexBlock
				for i := range n.index.len() {
					built.add(n.index.entry(i))
				}
				want, err := blocks.read(n.Pointer)
				if got := built.append(nil, n.index.leaf); !bytes.Equal(got, want) {
					t.Errorf("%s: the index block at %d is %x, expected %x", name, n.Offset, got, want)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
