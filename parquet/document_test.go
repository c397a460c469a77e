package parquet

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestThriftErrors checks why a document is refused, and where. A few million lists in lists
// would take all of the stack.
func TestThriftErrors(t *testing.T) {
	for _, c := range []struct {
		name, b, want string
		at            int64
	}{
		{"nothing", "", "it ends too early", 0},
		{"structures in structures", strings.Repeat("\x1c", 17) + strings.Repeat("\x00", 18), "more than 16 levels", 17},
		{"lists in lists", strings.Repeat("\x19", 10_000_000), "more than 16 levels", 17},
		{"a map", "\x1b\x00\x00", "type 11", 1},
		{"no type", "\x10\x00", "type 0", 1},
		{"a long list", "\x19\xf5\x04\x00\x00\x00", "a list of 4 items in 3 bytes", 3},
		{"many structures", "\x19\xfc\x20" + strings.Repeat("\x00", 33), "32 structures in 36 bytes", 3},
		{"a long string", "\x18\x02a", "it ends too early", 2},
		{"a large number", "\x16" + strings.Repeat("\xff", 10) + "\x00", "it ends too early", 1},
	} {
		_, err := unmarshal("f", 100, []byte(c.b), new(pq.FileMetaData))
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != damage.Header || d.Offset != 100+c.at || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q at %d", c.name, err, c.want, 100+c.at)
		}
	}
	most := strings.Repeat("\x19", 16) + "\x03\x00"
	if n, _, err := walkDocument("f", 0, []byte(most), nil, nil); n != len(most) || err != nil {
		t.Errorf("%d of %d bytes, %v", n, len(most), err)
	}
}

// TestThriftItems checks that the items of a document are its bytes.
func TestThriftItems(t *testing.T) {
	doc := "\x15\x02" + "\x18\x02ab" + "\x11" + "\x17\x00\x00\x00\x00\x00\x00\xf0\x3f" + "\x19\x21\x01\x02" + "\x1c\x13\xff\x00" + "\x06\xc8\x01\x07" + "\x00"
	var got []string
	at := 0
	n, _, err := walkDocument("f", 0, []byte(doc+"rest"), nil, func(i thriftItem) {
		if i.from != at {
			t.Errorf("an item at %d, want %d", i.from, at)
		}
		at = i.to
		got = append(got, i.label())
	})
	want := []string{
		"field 1: 1", `field 2: "ab"`, "field 3: true", "field 4: 1", "field 5: 2 items", "  item 0: true", "  item 1: false",
		"field 6", "  field 1: -1", "end", "field 100: -4", "end",
	}
	if n != len(doc) || at != n || err != nil || !slices.Equal(got, want) {
		t.Errorf("%d bytes, %v\n got %q\nwant %q", n, err, got, want)
	}
}

// TestDumpOfDamagedIndex checks that a dump reports a column index that is no document, which
// nothing else in a dump reads.
func TestDumpOfDamagedIndex(t *testing.T) {
	b := smallFile(t, "snappy")
	p := mustOpen(t, b)
	at := int64(0)
	for i := range p.chunks {
		at = max(at, p.chunks[i].columnIndex.offset)
	}
	b[at] = 0x1b // a map
	var out bytes.Buffer
	err := p.Dump(&out)
	var d *damage.Error
	if !errors.As(err, &d) || d.Offset != at+1 || !bytes.Equal(formattest.Dumped(out.Bytes()), b) {
		t.Error(err)
	}
}

// TestDocumentMemory checks that the memory of a document includes that of its lists.
func TestDocumentMemory(t *testing.T) {
	m := pq.OffsetIndex{PageLocations: make([]pq.PageLocation, 100)}
	b, err := marshal(&m)
	testenv.Must(t, err)
	typ := reflect.TypeOf(m)
	least := int64(typ.Size()) + int64(len(b))
	_, got, err := walkDocument("f", 0, b, typ, nil)
	testenv.Must(t, err)
	if want := least + 100*int64(reflect.TypeFor[pq.PageLocation]().Size()); got < want || got > 2*want {
		t.Error(got, want)
	}
}

// An index fills the bytes that the footer gives it.
func TestBytesAfterDocuments(t *testing.T) {
	w := newRewriter(t, smallFile(t, "none"), rand.New(rand.NewPCG(1, 1)))
	w.footer = func(m *pq.FileMetaData) { m.RowGroups[0].Columns[idLeaf].OffsetIndexLength++ }
	_, err := mustOpen(t, w.file()).Blocks(0)
	wantDamage(t, "an index", err, damage.Trailing, "1 bytes after a document")
}
