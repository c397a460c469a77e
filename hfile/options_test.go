package hfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// wantError fails unless err contains a text.
func wantError(t *testing.T, name string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want: %s", name, err, text)
	}
}

func TestOptionsOfTheCommandLine(t *testing.T) {
	key := []string{"id"}
	for _, c := range []struct {
		chosen map[string][]string
		want   string // document, or a part of the error
	}{
		{map[string][]string{"key": key}, `{"key":["id"]}`},
		{map[string][]string{"key": {"a,b"}, "column": {"f:q:r"}, "timestamp": {"7"}, "block-codec": {"gz"}, "bloom": {"hudi"}},
			`{"key":["a","b"],"family":"f","qualifier":"q:r","timestamp":7,"block_codec":"gz","bloom":"hudi"}`},
		{map[string][]string{"key": key, "column": {"f:"}}, `{"key":["id"],"family":"f"}`},
		{map[string][]string{}, "needs --key"},
		{map[string][]string{"key": {"a,"}}, "names an empty field"},
		{map[string][]string{"key": key, "column": {"q"}}, "not of the form FAMILY:QUALIFIER"},
		{map[string][]string{"key": key, "column": {":q"}}, "not of the form FAMILY:QUALIFIER"},
		{map[string][]string{"key": key, "column": {strings.Repeat("f", MaxFamily+1) + ":q"}}, "a family of 128 bytes"},
		{map[string][]string{"key": key, "column": {"f:" + strings.Repeat("q", maxQualifier+1)}}, "a qualifier of 4097 bytes"},
		{map[string][]string{"key": key, "timestamp": {"now"}}, "not a number of milliseconds"},
		{map[string][]string{"key": key, "timestamp": {"-1"}}, "is negative"},
		{map[string][]string{"key": key, "block-codec": {"zstd"}}, "unknown block codec"},
		{map[string][]string{"key": key, "bloom": {"true"}}, `unknown form "true" of a Bloom filter`},
	} {
		document, err := Format.Options(c.chosen)
		if strings.HasPrefix(c.want, "{") {
			if err != nil || string(document) != c.want {
				t.Errorf("%v became %s, %v", c.chosen, document, err)
			}
		} else {
			wantError(t, c.want, err, c.want)
		}
	}
}

// TestOptionsOfAPlan checks that a task refuses a document that no planner wrote.
func TestOptionsOfAPlan(t *testing.T) {
	for document, text := range map[string]string{
		`{"key":["id"],"later":1}`:           `unknown field "later"`,
		`{"key":["id"],"block_codec":"lzo"}`: "unknown block codec",
		`{}`:                                 "needs --key",
	} {
		_, err := Format.Writer([]byte(document))
		wantError(t, document, err, text)
	}
}

func TestPartOfSeveralFiles(t *testing.T) {
	f := formattest.NewFile("f", madeFile(t, WriterOptions{}, 1))
	_, err := Format.Open([]format.File{f, f}, format.OpenOptions{})
	wantDamage(t, "two files", err, "a part of 2 files")
}

// TestBlocksOfAPart checks the list of the blocks of a part, and its errors if the index is wrong.
func TestBlocksOfAPart(t *testing.T) {
	f := madeFile(t, WriterOptions{BlockSize: 150}, 30)
	for _, c := range []struct {
		text   string
		change func(root []byte)
	}{
		{"", func([]byte) {}},
		{"leads back to a block before 33", be64(rootEntry(1), -1)},
		{"a block is recorded at 1048576", be64(rootEntry(1), 1<<20)},
		{"bytes, the index says 100", be32(rootEntry(1)+8, 100)},
	} {
		p, err := Format.Open([]format.File{formattest.NewFile("f", f.changed(t, magicRoot, 0, c.change))}, format.OpenOptions{})
		testenv.Must(t, err)
		blocks, err := p.Blocks(0)
		if c.text != "" {
			wantDamage(t, c.text, err, c.text)
		} else if n := len(f.offsets(t, magicData)); err != nil || len(blocks) != n {
			t.Errorf("%d blocks of %d, %v", len(blocks), n, err)
		}
	}
}

// TestBlocksFitMemory checks that a list of blocks that does not fit the memory is refused.
func TestBlocksFitMemory(t *testing.T) {
	f := madeFile(t, WriterOptions{BlockSize: 1}, 2000)
	memory := &formattest.Memory{Limit: 1 << 30}
	p, err := Format.Open([]format.File{formattest.NewFile("f", f)}, format.OpenOptions{Memory: memory})
	testenv.Must(t, err)
	memory.Limit = memory.Held + 16<<10
	if _, err := p.Blocks(0); !errors.Is(err, formattest.ErrMemory) {
		t.Errorf("the blocks are listed: %v", err)
	}
	memory.Limit = 1 << 30
	if blocks, err := p.Blocks(0); err != nil || len(blocks) != 2000 {
		t.Errorf("%d blocks, %v", len(blocks), err)
	}
}
