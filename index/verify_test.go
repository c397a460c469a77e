package index

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

// TestVerify makes indexes that do not fit their output.
func TestVerify(t *testing.T) {
	rows := []row{{1, ""}, {2, ""}, {2, ""}, {-1, ""}}
	for name, c := range map[string]struct {
		change func(v *Verifier, o *output)
		sound  bool
	}{
		"as it is":                    {func(*Verifier, *output) {}, true},
		"a row more":                  {func(v *Verifier, _ *output) { v.Parts[0].Rows++ }, false},
		"a row less":                  {func(v *Verifier, _ *output) { v.Parts[0].Rows-- }, false},
		"no such part":                {func(v *Verifier, _ *output) { v.Parts[0].RowGroup = 7 }, false},
		"no such row":                 {func(v *Verifier, _ *output) { v.Parts = []manifest.Part{{Rows: 1}, {Task: 1, Rows: 3}} }, false},
		"first key":                   {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.First = []byte{1} }, false},
		"last key":                    {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.Last = []byte{1} }, false},
		"entries":                     {func(v *Verifier, _ *output) { v.Index.Files[0].Keys.Entries++ }, false},
		"size":                        {func(v *Verifier, _ *output) { v.Index.Files[0].Bytes-- }, false},
		"other fields":                {func(v *Verifier, _ *output) { v.Index.Fields = "name" }, false},
		"a file twice":                {func(v *Verifier, _ *output) { v.Index.Files = append(v.Index.Files, v.Index.Files[0]) }, false},
		"a changed bit":               {func(v *Verifier, o *output) { o.files[v.Index.Files[0].Name][40] ^= 1 }, false},
		"a row twice":                 {func(v *Verifier, o *output) { replace(t, v, o, Position{}, Position{}, Position{Row: 1}) }, false},
		"short":                       {func(v *Verifier, o *output) { replace(t, v, o) }, false},
		"another output":              {func(v *Verifier, _ *output) { v.Index.Fingerprint = "another" }, false},
		"other rows":                  {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, ""}, {2, ""}, {3, ""}, {-1, ""}}) }, false},
		"rows in another order":       {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{2, ""}, {1, ""}, {2, ""}, {-1, ""}}) }, false},
		"equal rows in another order": {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, "x"}, {2, "y"}, {2, "z"}, {-1, ""}}) }, true},
		"another null":                {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{-1, ""}, {2, ""}, {2, ""}, {1, ""}}) }, false},
		"no null":                     {func(v *Verifier, _ *output) { v.Rows = readRows([]row{{1, ""}, {2, ""}, {2, ""}, {2, ""}}) }, false},
		"rows that end":               {func(v *Verifier, _ *output) { v.Rows = readRows(rows[:2]) }, false},
		"rows unread":                 {func(v *Verifier, _ *output) { v.Rows = nil }, true},
	} {
		s := mustSink(t, newPlan("id"), 1<<30)
		var o output
		o.run(t, s, 0, rows)
		o.merge(t, s)
		v := &Verifier{
			Index: In(o.success.Index, fingerprint)[0], Parts: []manifest.Part{{Rows: int64(len(rows))}},
			Rows: readRows(rows),
			Open: func(_ context.Context, name string) (store.File, error) { return newFileOf(o.files[name], name), nil },
		}
		c.change(v, &o)
		err := v.Verify(t.Context())
		var d *damage.Error
		if c.sound && err != nil || !c.sound && !errors.As(err, &d) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// memoryRows are rows in memory.
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
	id, name := m.rows[0].encoded()
	m.rows = m.rows[1:]
	return append(append(dst, id...), name...), nil
}

// replace puts a file with one key and some positions in the place of the index, or, of none,
// one whose position is cut.
func replace(t *testing.T, v *Verifier, o *output, positions ...Position) {
	t.Helper()
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, hfile.WriterOptions{Info: hfile.Info{fieldsPair("id"), nullsPair(1), {Key: infoFingerprint, Value: []byte(fingerprint)}}})
	if err != nil {
		t.Fatal(err)
	}
	qualifiers := [][]byte{{1, 2, 3}}
	if len(positions) > 0 {
		qualifiers = nil
	}
	for _, p := range positions {
		qualifiers = append(qualifiers, p.append(nil))
	}
	for _, q := range qualifiers {
		if err := w.Append(hfile.AppendKey(nil, []byte("k"), nil, q, hfile.LatestTimestamp, hfile.Put), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := &v.Index.Files[0]
	o.files[f.Name], f.Bytes = b.Bytes(), int64(b.Len())
	f.Keys = &manifest.KeyRange{First: []byte("k"), Last: []byte("k"), Entries: int64(len(qualifiers))}
}
