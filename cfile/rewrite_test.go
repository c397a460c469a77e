package cfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// optionsOf returns the options with which Kudu wrote a file, but for the size of its
// blocks.
func optionsOf(f *File) Options {
	m := f.Footer()
	return Options{
		Type: m.Type, Encoding: m.Encoding, Compression: m.Compression, Nullable: m.Nullable,
		Positional: m.Positional != nil, ValueIndex: m.Value != nil, Metadata: m.Metadata,
		BlockSize: maxBlockSize,
	}
}

// What Kudu was told of index blocks when it wrote the samples.
const sampleIndexBlockSize = 200

// Snappy compresses some blocks of this sample a few bytes better here than in Kudu.
const otherSnappy = "str_prefix_validx_snappy.cf"

func TestSamplesAreWrittenAsKuduDoes(t *testing.T) {
	for name, file := range samples(t) {
		f := openBytes(t, file)
		if isBloom(f.Footer()) {
			continue // nothing here writes them
		}
		o := optionsOf(f)
		o.IndexBlockSize = sampleIndexBlockSize
		var again bytes.Buffer
		w, err := NewWriter(&again, o)
		testenv.Must(t, err)
		rewrite(t, f, w)
		testenv.Must(t, w.Close())
		if same := bytes.Equal(again.Bytes(), file); same == (name == otherSnappy) {
			t.Errorf("%s: %d bytes, written again as %d; the same: %v", name, len(file), again.Len(), same)
		}
		if name == otherSnappy {
			if contents(t, f) != contents(t, openBytes(t, again.Bytes())) {
				t.Errorf("%s: written again, it has other contents", name)
			}
		}
	}
}

// contents describes the blocks and the footer of a file in the order of its indexes, but
// for where the blocks are.
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

// rewrite writes the rows of a file in its blocks.
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
