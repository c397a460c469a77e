package cfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// optionsOf returns the options with which Kudu wrote a file, except for the size of its
// blocks.
func optionsOf(f *File) Options {
	m := f.Footer()
	return Options{
		Type: m.Type, Encoding: m.Encoding, Compression: m.Compression, Nullable: m.Nullable,
		Positional: m.Positional != nil, ValueIndex: m.Value != nil, Metadata: m.Metadata,
		BlockSize: maxBlockSize,
	}
}

// sampleIndexBlockSize is the size of index blocks for which Kudu wrote the samples.
const sampleIndexBlockSize = 200

// otherSnappy is a sample in which Snappy compresses some blocks a few bytes better here.
const otherSnappy = "str_prefix_validx_snappy.cf"

func TestSamplesAreWrittenAsKuduDoes(t *testing.T) {
	for name, file := range samples(t) {
		f := openBytes(t, file)
		if isBloom(f.Footer()) {
			continue // Writer does not write them
		}
		o := optionsOf(f)
		o.IndexBlockSize = sampleIndexBlockSize
		var again bytes.Buffer
		w, err := NewWriter(&again, o)
		testenv.Must(t, err)
		rewrite(t, f, w)
		testenv.Must(t, w.Close())
		if same := bytes.Equal(again.Bytes(), file); same == (name == otherSnappy) {
			t.Errorf("%s: rewritten from %d to %d bytes; equal: %v", name, len(file), again.Len(), same)
		}
		if name == otherSnappy {
			if contents(t, f) != contents(t, openBytes(t, again.Bytes())) {
				t.Errorf("%s: the rewritten file has other contents", name)
			}
		}
	}
}

// contents describes the blocks and the footer of a file in the order of its indexes, without
// the places of the blocks.
func contents(t *testing.T, f *File) string {
	t.Helper()
	var s strings.Builder
	reader := blockReader{f: f, from: f.readBlock}
	footer := *f.Footer()
	for _, root := range []**Pointer{&footer.Positional, &footer.Value} {
		if *root == nil {
			continue
		}
		err := f.visit(**root, func(n node) error {
			raw, err := reader.read(n.Pointer)
			fmt.Fprintf(&s, "%d %x ", n.level, n.key)
			if n.index == nil {
				fmt.Fprintf(&s, "%x\n", raw)
			} else {
				fmt.Fprintf(&s, "%d\n", n.index.len())
			}
			return err
		})
		testenv.Must(t, err)
		*root = nil
	}
	fmt.Fprintf(&s, "%+v", footer)
	return s.String()
}

// rewrite writes the rows of a file in the same blocks.
func rewrite(t *testing.T, f *File, w *Writer) {
	t.Helper()
	blocks, err := f.Blocks()
	testenv.Must(t, err)
	rows, err := readAll(f, 1000)
	testenv.Must(t, err)
	for i, b := range blocks {
		end := f.Footer().Values
		if i+1 < len(blocks) {
			end = blocks[i+1].Ordinal
		}
		if err = w.Append(rows.part(w.o, int(b.Ordinal), int(end))); err == nil {
			err = w.EndBlock()
		}
		testenv.Must(t, err)
	}
}
