package index

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// TestVerify checks that Verify finds the damage of indexes that do not fit their output, and
// accepts some that do.
func TestVerify(t *testing.T) {
	rows := []row{{1, ""}, {2, ""}, {2, ""}, {-1, ""}}
	for name, c := range map[string]struct {
		change func(v *Verifier, o *output)
		text   string // text of the damage; empty if there is none
	}{
		"unchanged":     {func(*Verifier, *output) {}, ""},
		"one row more":  {func(v *Verifier, _ *output) { v.Parts[0].Rows++ }, "the rows end at row 4"},
		"one row less":  {func(v *Verifier, _ *output) { v.Parts[0].Rows-- }, "3 keys and 1 rows without one, the output 3 and 0"},
		"no such part":  {func(v *Verifier, _ *output) { v.Parts[0].RowGroup = 7 }, "which is not there"},
		"no such row":   {func(v *Verifier, _ *output) { v.Parts = []manifest.Part{{Rows: 1}, {Task: 1, Rows: 3}} }, "which is not there"},
		"first key":     {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.First = []byte{1} }, "the manifest says 01"},
		"last key":      {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.Last = []byte{1} }, "the manifest says 3 up to 01"},
		"entries":       {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.Entries++ }, "the manifest says 4 up to"},
		"size":          {func(v *Verifier, _ *output) { v.Index.Files[0].Bytes-- }, "the manifest says"},
		"other fields":  {func(v *Verifier, _ *output) { v.Index.Fields = "name" }, `not of "name"`},
		"a file twice":  {func(v *Verifier, _ *output) { v.Index.Files = append(v.Index.Files, v.Index.Files[0]) }, "does not sort after the previous one"},
		"a changed bit": {func(v *Verifier, o *output) { o.files[v.Index.Files[0].Name][40] ^= 1 }, "the CRC32C"},
		"a row twice":   {func(v *Verifier, o *output) { replace(t, v, o, Position{}, Position{}, Position{Row: 1}) }, "does not sort after the previous one"},
		"one key more": {func(v *Verifier, _ *output) {
			v.Parts[0].Rows++
			v.Rows = readRows([]row{{1, ""}, {2, ""}, {2, ""}, {-1, ""}, {2, ""}})
		}, "3 keys and 1 rows without one, the output 4 and 1"},
		"other nulls":                 {func(v *Verifier, o *output) { secondFile(t, v, o) }, "an index with 2 rows without a key"},
		"short":                       {func(v *Verifier, o *output) { replace(t, v, o) }, "has no position of 12 bytes"},
		"another output":              {func(v *Verifier, _ *output) { v.Index.Fingerprint = "another" }, "an index of other row groups"},
		"other rows":                  {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, ""}, {2, ""}, {3, ""}, {-1, ""}}) }, "has other keys than the rows"},
		"rows in another order":       {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{2, ""}, {1, ""}, {2, ""}, {-1, ""}}) }, "has other keys than the rows"},
		"equal rows in another order": {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, "x"}, {2, "y"}, {2, "z"}, {-1, ""}}) }, ""},
		"another null":                {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{-1, ""}, {2, ""}, {2, ""}, {1, ""}}) }, "has other keys than the rows"},
		"no null":                     {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, ""}, {2, ""}, {2, ""}, {2, ""}}) }, "the output 4 and 0"},
		"rows that end":               {func(v *Verifier, _ *output) { v.Rows = readRows(rows[:2]) }, "the rows end at row 2"},
		"rows unread":                 {func(v *Verifier, _ *output) { v.Rows = nil }, ""},
	} {
		s := mustSink(t, newPlan("id"), 1<<30)
		var o output
		o.run(t, s, 0, rows)
		o.merge(t, s)
		v := &Verifier{
			Index: o.indexes()[0], Parts: []manifest.Part{{Rows: int64(len(rows))}},
			Rows: readRows(rows),
			Open: func(_ context.Context, name string) (store.File, error) { return newFileOf(o.files[name], name), nil },
		}
		c.change(v, &o)
		err := v.Verify(t.Context())
		var d *damage.Error
		if c.text == "" && err != nil || c.text != "" && (!errors.As(err, &d) || !strings.Contains(d.Reason, c.text)) {
			t.Errorf("%s: got %v, want damage: %q", name, err, c.text)
		}
	}
}

// memoryRows holds rows in memory.
type memoryRows struct {
	schema *shred.Schema
	rows   []row
}

func readRows(rows []row) func(context.Context) (Rows, error) {
	return func(context.Context) (Rows, error) {
		s, err := shred.ParseSchema(schema)
		return &memoryRows{s, rows}, err
	}
}

func (m *memoryRows) Schema() *shred.Schema { return m.schema }
func (m *memoryRows) Close()                {}

func (m *memoryRows) Next(dst []byte) ([]byte, error) {
	if len(m.rows) == 0 {
		return dst, io.EOF
	}
	id, name := m.rows[0].encode()
	m.rows = m.rows[1:]
	return append(append(dst, id...), name...), nil
}

// secondFile adds a file to the index with another number of rows without a key.
func secondFile(t *testing.T, v *Verifier, o *output) {
	t.Helper()
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, hfile.WriterOptions{Info: hfile.Info{fieldsPair("id"), nullsPair(2), {Key: infoFingerprint, Value: []byte(fingerprint)}}})
	testenv.Must(t, err)
	testenv.Must(t, w.Close())
	f := manifest.File{Name: "second", Bytes: int64(b.Len()), Keys: &manifest.KeyRange{}}
	o.files[f.Name] = b.Bytes()
	v.Index.Files = append(v.Index.Files, f)
}

// TestNullsOf checks that invalid numbers of rows without a key are refused.
func TestNullsOf(t *testing.T) {
	for _, value := range [][]byte{{}, {1, 2, 3}, make([]byte, 9), bytes.Repeat([]byte{0x80}, 8)} {
		var b bytes.Buffer
		w, err := hfile.NewWriter(&b, hfile.WriterOptions{Info: hfile.Info{{Key: infoNulls, Value: value}}})
		testenv.Must(t, err)
		testenv.Must(t, w.Close())
		r, err := hfile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), hfile.OpenOptions{})
		testenv.Must(t, err)
		var d *damage.Error
		if n, err := nullsOf(r); !errors.As(err, &d) {
			t.Errorf("% x: got %d rows, %v", value, n, err)
		}
		r.Close()
	}
}

// TestPositionOf checks that positions are refused that do not fit an index.
func TestPositionOf(t *testing.T) {
	const most = math.MaxUint32
	if p, err := positionOf(most, most, most); err != nil || p != (Position{most, most, most}) {
		t.Errorf("%v, %v", p, err)
	}
	for _, p := range [][3]int{{most + 1, 0, 0}, {0, most + 1, 0}, {0, 0, most + 1}} {
		if got, err := positionOf(p[0], p[1], int64(p[2])); err == nil {
			t.Errorf("%v became %v", p, got)
		}
	}
}

// replace replaces the index by a file with one key and the given positions. Without
// positions, the file has one position that is too short.
func replace(t *testing.T, v *Verifier, o *output, positions ...Position) {
	t.Helper()
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, hfile.WriterOptions{Info: hfile.Info{fieldsPair("id"), nullsPair(1), {Key: infoFingerprint, Value: []byte(fingerprint)}}})
	testenv.Must(t, err)
	qualifiers := [][]byte{{1, 2, 3}}
	if len(positions) > 0 {
		qualifiers = nil
	}
	for _, p := range positions {
		qualifiers = append(qualifiers, p.append(nil))
	}
	for _, q := range qualifiers {
		testenv.Must(t, w.Append(hfile.AppendKey(nil, []byte("k"), nil, q, hfile.LatestTimestamp, hfile.Put), nil))
	}
	testenv.Must(t, w.Close())
	f := &v.Index.Files[0]
	o.files[f.Name], f.Bytes = b.Bytes(), int64(b.Len())
	f.Keys = &manifest.KeyRange{First: []byte("k"), Last: []byte("k"), Entries: int64(len(qualifiers))}
}
