package dataset_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// A query on a part with any bytes returns rows, or damage located in that file.
// Without checksums the damage reaches every decoder.
func TestHostileParts(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		base := t.TempDir()
		writeAvro(t, filepath.Join(base, "mail.avro"), mailgen.Schema, mails(3, 60))
		convert(t, f, filepath.Join(base, "mail.avro"), filepath.Join(base, "out"), settings{
			blockSize: 500, rowGroup: 1 << 20,
			choices: map[string][]string{"codec": {"null"}, "checksum": {"null"}, "values": {"id"}},
		})
		sound := filesOf(t, partsOf(t, filepath.Join(base, "out"))[0])
		names := slices.Sorted(maps.Keys(sound))
		part := filepath.Join(base, "hostile"+f.Suffix())
		queries := []dataset.Query{
			{Limit: -1},
			{Limit: -1, Where: `score > 5 && id > 3 && folder != "SPAM" && from contains "a"`},
			{Limit: -1, Where: "seen", Columns: []string{"received.protocol", "headers"}},
			{Limit: 5, Offset: 40},
		}
		r := rand.New(rand.NewPCG(1, 1))
		for i := range soak.Rounds(150, 600) {
			file := names[r.IntN(len(names))]
			b := bytes.Clone(sound[file])
			if i%8 < 4 {
				b = withoutCRCs(b) // no checksum stops the decoders
			}
			at := r.IntN(len(b))
			switch i % 4 {
			case 0:
				b = b[:at]
			case 1:
				b[at] ^= 1 << r.IntN(8)
			case 2:
				b[at] = byte(r.Uint32())
			default:
				for j := range min(5, len(b)-at) {
					b[at+j] = 0xff
				}
			}
			writePart(t, part, sound, file, b)
			d, err := dataset.Open(t.Context(), locations(store.Local(), part), dataset.Options{Formats: formats, Memory: budget.New(32 << 20)})
			if err != nil {
				checkLocated(t, i, part, err)
				continue
			}
			for _, q := range queries {
				_, _, err := scan(t, d, q)
				checkLocated(t, i, part, err)
				b, err := d.Batches(t.Context(), q)
				if err != nil {
					checkLocated(t, i, part, err)
					continue
				}
				for b.Next() {
				}
				checkLocated(t, i, part, b.Err())
				b.Close()
			}
		}
	})
}

// withoutCRCs renames the checksums of a Trevni column file, so that it looks like one of another writer.
func withoutCRCs(b []byte) []byte {
	for _, key := range []string{trevni.HeaderCRCKey, trevni.TableCRCKey, trevni.BlocksCRCKey} {
		b = bytes.ReplaceAll(b, []byte(key), []byte("other"+key[len("other"):]))
	}
	return b
}

// writePart writes the files of a part, but the one named changed with the bytes b.
func writePart(t *testing.T, part string, files map[string][]byte, changed string, b []byte) {
	t.Helper()
	for name, whole := range files {
		if name == changed {
			whole = b
		}
		write(t, filepath.Join(part, name), string(whole))
	}
}

// checkLocated accepts no error, damage in the part, lack of memory, and a query that
// does not fit a changed schema.
func checkLocated(t *testing.T, i int, part string, err error) {
	t.Helper()
	var d *damage.Error
	if err != nil && !errors.Is(err, dataset.ErrQuery) && !errors.As(err, new(*budget.Error)) && (!errors.As(err, &d) || !strings.HasPrefix(d.File, part)) {
		t.Errorf("change %d: %v", i, err)
	}
}

// A query ends soon after its context is canceled.
func TestContext(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 1500)
		d := open(t, dir, dataset.Options{Formats: formats})
		ctx, cancel := context.WithCancel(t.Context())
		s, err := d.Scan(ctx, dataset.Query{Limit: -1})
		testenv.Must(t, err)
		defer s.Close()
		b, err := d.Batches(ctx, dataset.Query{Limit: -1, BatchRows: 10})
		testenv.Must(t, err)
		defer b.Close()
		if _, err := s.Next(nil); err != nil || !b.Next() {
			t.Fatal(err, b.Err())
		}
		cancel()
		n := 0
		for err = nil; err == nil; n++ {
			_, err = s.Next(nil)
		}
		for b.Next() {
			n += b.Rows()
		}
		if !errors.Is(err, context.Canceled) || !errors.Is(b.Err(), context.Canceled) || n > 1100 {
			t.Errorf("%d rows more, then %v and %v", n, err, b.Err())
		}
	})
}

func TestWrongQueries(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		dir, _ := mailSet(t, f, 10)
		d := open(t, dir, dataset.Options{Formats: formats})
		for _, q := range []dataset.Query{
			{Columns: []string{"form"}}, {Where: "scor > 1"}, {Where: "to == 1"}, {Offset: -1}, {BatchRows: -1, Schema: d.Schema()},
		} {
			_, err := d.Batches(t.Context(), q)
			if !errors.Is(err, dataset.ErrQuery) {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}

// If a few bytes of repeats stand for very many items, reading fails before it takes
// memory for them, and returns the rows before.
func TestRowOfTooManyItems(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"a","type":{"type":"array","items":{"type":"array","items":"int"}}}]}`
	lengths := []uint32{1, 0, 1 << 25, 2}
	name := columnPart(t, trevni.Format, schema, nil, len(lengths), func(to *column.Buffers, row int) {
		to.Cols[0].AppendVarint(int64(lengths[row]))
		to.Cols[1].Length(lengths[row])
		for range lengths[row] {
			to.Cols[2].Length(0)
		}
	})
	d := open(t, name, dataset.Options{Formats: formats})
	b, err := d.Batches(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	defer b.Close()
	rows := 0
	for b.Next() {
		rows += b.Rows()
	}
	var at *damage.Error
	if !errors.As(b.Err(), &at) || at.Row != 2 || at.File != name || rows != 2 {
		t.Errorf("%d rows, then %v", rows, b.Err())
	}
	if rows, _, err := batches(t, d, dataset.Query{Columns: []string{"id"}, Limit: -1}); err != nil || len(rows) != 4 {
		t.Errorf("%d rows of the other column, %v", len(rows), err)
	}
}
