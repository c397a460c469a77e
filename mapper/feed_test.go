package mapper_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/trevni"
)

// datums returns the rows of a source.
func datums(t *testing.T, src mapper.Source) (rows [][]byte) {
	t.Helper()
	m := avrotest.Map(t, src.Header.Schema)
	bufs := column.NewBuffers(m.Columns, column.Split, 1<<20)
	shredder := shred.NewShredder(m, bufs)
	decoder, err := ocf.NewDecoder(src.Header.Codec, 1<<20)
	testenv.Must(t, err)
	scanner := ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range)
	for {
		var b ocf.Block
		if scanner.Next(t.Context(), &b) != nil {
			return rows
		}
		data, err := decoder.Decode(nil, &b, src.Name)
		testenv.Must(t, err)
		for len(data) > 0 {
			n, err := shredder.Row(data)
			testenv.Must(t, err)
			bufs.Reset()
			rows, data = append(rows, slices.Clone(data[:n])), data[n:]
		}
	}
}

// feed gives rows to a Feed. at returns the place of each. It returns the bytes of each row group.
func feed(t *testing.T, cfg mapper.Config, rows [][]byte, at func(i int) mapper.Place) (groups [][]byte, counts []int64, err error) {
	t.Helper()
	f, err := mapper.NewFeed(t.Context(), cfg, func(g mapper.RowGroup) error {
		var b bytes.Buffer
		for _, out := range g.Outputs {
			testenv.Must(t, reducer.Send(t.Context(), &b, out, g.Spill))
		}
		groups, counts = append(groups, b.Bytes()), append(counts, g.Rows)
		return g.Spill.Close()
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { testenv.Must(t, f.Close()) }()
	for i, row := range rows {
		if err := f.Write(row, at(i)); err != nil {
			return groups, counts, err
		}
	}
	return groups, counts, f.Finish()
}

func inOrder(i int) mapper.Place { return mapper.Place{Source: "rows", Row: int64(i)} }

// A Feed makes the row groups that Run makes of the same rows, with any number of workers.
func TestFeed(t *testing.T) {
	src := source(t, "in.avro", mail(t, 3000))
	rows := datums(t, src)
	for _, c := range []struct {
		writer           format.Writer
		bytes, groupRows int64
	}{{trevni.NewGroupWriter(trevni.Options{Codec: "null", Checksum: trevni.ChecksumNull}), 50_000, 0}, {leveled{}, 50_000, 0}, {leveled{}, 128 << 20, 0}, {leveled{}, 50_000, 17}, {split{}, 128 << 20, 1000}} {
		cfg := config(t, src, c.writer)
		cfg.RowGroupSize, cfg.RowGroupRows = c.bytes, c.groupRows
		files, want, _ := convert(t, cfg, src)
		var all []byte
		for i := range want {
			for _, name := range []string{"", "values", "lengths"} {
				all = append(all, files[fmt.Sprintf("part-%d-%s", i, name)]...)
			}
		}
		for _, workers := range []int{1, 3} {
			cfg.Workers = workers
			groups, counts, err := feed(t, cfg, rows, inOrder)
			testenv.Must(t, err)
			if !slices.Equal(counts, want) || !bytes.Equal(bytes.Join(groups, nil), all) {
				t.Errorf("%T, %d workers: row groups of %d rows, want %d, or other bytes", c.writer, workers, counts, want)
			}
		}
		if c.groupRows > 0 && slices.Max(want) != c.groupRows {
			t.Errorf("row groups of %d rows, want at most %d", want, c.groupRows)
		}
	}
	groups, counts, err := feed(t, config(t, src, split{}), nil, inOrder)
	if err != nil || len(groups) != 1 || counts[0] != 0 {
		t.Errorf("without rows: row groups of %d rows, %v", counts, err)
	}
}

// Errors of a Feed name the place of the row, whenever the format finds them.
func TestFeedLocatesErrors(t *testing.T) {
	src := source(t, "in.avro", avrotest.Make(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}`, "null"))
	const bad, many = 3000, 12_000
	rows := make([][]byte, many)
	for i := range rows {
		rows[i] = binary.AppendVarint(nil, 1<<40)
	}
	rows[bad] = binary.AppendVarint(nil, -1)
	for name, c := range map[string]struct {
		at     func(i int) mapper.Place
		want   int64
		reason string
	}{
		"one source": {inOrder, bad, "-1"},
		"two sources": {func(i int) mapper.Place {
			return mapper.Place{Source: fmt.Sprint("rows"[:min(4, 4*(i/2000))]), Row: int64(i % 2000)}
		}, bad - 2000, "-1"},
		"gaps": {func(i int) mapper.Place { return mapper.Place{Source: "rows", Row: int64(7*i - i%3)} }, 7 * bad, "-1"},
	} {
		for _, at := range []string{"begin", "encode", "end"} {
			cfg := config(t, src, picky{at: at})
			cfg.BlockSize = 256
			_, _, err := feed(t, cfg, rows, c.at)
			var d *damage.Error
			if !errors.As(err, &d) || d.File != "rows" || d.Row != c.want || d.Offset != -1 || d.Reason != c.reason {
				t.Errorf("%s, %s: %v, want row %d", name, at, err, c.want)
			}
		}
	}
	// With very many gaps, the row is not exact.
	rows[bad], rows[many-1] = rows[0], rows[bad]
	_, _, err := feed(t, config(t, src, picky{at: "end"}), rows, func(i int) mapper.Place { return mapper.Place{Source: "rows", Row: int64(2 * i)} })
	var d *damage.Error
	if !errors.As(err, &d) || d.Row > 2*(many-1) || d.Row < many || d.Reason != "-1 (in this row or a later one)" {
		t.Error(err)
	}
}

func TestFeedRefuses(t *testing.T) {
	src := source(t, "in.avro", avrotest.Make(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},{"name":"name","type":"string"}]}`, "null"))
	for _, c := range []struct {
		what, row string
		want      *damage.Error
	}{
		{"bytes after the row", "\x02\x02a?", &damage.Error{Kind: damage.Trailing, Reason: "1 bytes after the row"}},
		{"a string that is not UTF-8", "\x02\x02\xff", &damage.Error{Kind: damage.Unsupported, Path: "name"}},
	} {
		cfg := config(t, src, textual{})
		_, _, err := feed(t, cfg, [][]byte{[]byte("\x02\x02a"), []byte(c.row)}, inOrder)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != c.want.Kind || d.File != "rows" || d.Row != 1 || d.Offset != -1 || !strings.Contains(err.Error(), c.want.Path) || !strings.Contains(d.Reason, c.want.Reason) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	_, _, err := feed(t, config(t, src, sorted{by: []string{"id"}}), [][]byte{[]byte("\x04\x02a"), []byte("\x02\x02a")}, inOrder)
	if d := (*damage.Error)(nil); !errors.As(err, &d) || d.File != "rows" || d.Row != 1 {
		t.Errorf("rows that are not sorted: %v", err)
	}
	if _, _, err := feed(t, config(t, src, sorted{by: []string{"none"}}), nil, inOrder); err == nil {
		t.Error("rows are sorted by a field that they do not have")
	}
	cfg := config(t, src, split{})
	cfg.Memory, cfg.Pool = 1<<20, budget.New(2<<20)
	testenv.Must(t, cfg.Pool.Reserve(cfg.Memory))
	large := append(binary.AppendVarint([]byte{2}, 32<<20), make([]byte, 32<<20)...)
	if _, _, err := feed(t, cfg, [][]byte{large}, inOrder); !errors.As(err, new(*budget.Error)) {
		t.Errorf("a value larger than the memory: %v", err)
	}
	failed := errors.New("emit failed")
	f, err := mapper.NewFeed(t.Context(), config(t, src, split{}), func(g mapper.RowGroup) error { return errors.Join(failed, g.Spill.Close()) })
	testenv.Must(t, err)
	testenv.Must(t, f.Write([]byte("\x02\x02a"), inOrder(0)))
	if err := f.Finish(); !errors.Is(err, failed) {
		t.Error(err)
	}
	testenv.Must(t, f.Close())
}

// textual is split for a format that holds only UTF-8.
type textual struct{ split }

func (textual) InvalidText() column.InvalidText { return column.RefuseInvalid }
