package mapper_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/reducer"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// source returns the whole file as one source.
func source(t testing.TB, name string, file []byte) mapper.Source {
	t.Helper()
	r := bytes.NewReader(file)
	h, err := ocf.ReadHeader(r, r.Size(), name)
	testenv.Must(t, err)
	return mapper.Source{Name: name, R: r, Size: r.Size(), Header: h, Range: ocf.Range{Start: 0, End: r.Size()}}
}

func mail(t testing.TB, rows int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := mailgen.Write(&b, mailgen.Options{Rows: rows, Seed: 7, Codec: "snappy", BlockSize: 16 << 10}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// config returns a configuration for sources of one schema.
func config(t testing.TB, src mapper.Source, f format.Writer) mapper.Config {
	t.Helper()
	folder, err := spill.OpenFolder(t.TempDir())
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	return mapper.Config{
		Mapping: avrotest.Map(t, src.Header.Schema), Writer: f, RowGroupSize: 128 << 20, BlockSize: 4 << 10, MaxInputBlock: 1 << 20,
		MaxLostRows: -1, Workers: 2, Spill: folder, Memory: 16 << 20,
	}
}

// resolve makes the mapper resolve the rows of a source to a schema.
func resolve(t testing.TB, cfg *mapper.Config, src *mapper.Source, schema string) {
	t.Helper()
	cfg.Mapping = avrotest.Map(t, schema)
	var err error
	if src.Resolution, err = shred.Resolve(avrotest.Parse(t, src.Header.Schema), cfg.Mapping.Schema, shred.AllowChanges); err != nil {
		t.Fatal(err)
	}
}

// convert runs the mapper and the reducer and returns the outputs by name.
func convert(t testing.TB, cfg mapper.Config, sources ...mapper.Source) (map[string][]byte, []int64, mapper.Stats) {
	t.Helper()
	dir := t.TempDir()
	files, rows := map[string][]byte{}, []int64(nil)
	stats, err := mapper.Run(context.Background(), sources, cfg, func(g mapper.RowGroup) error {
		for _, out := range g.Outputs {
			name := fmt.Sprintf("part-%d-%s", len(rows), out.Name)
			path := filepath.Join(dir, name)
			if _, err := reducer.Write(context.Background(), store.Local(), func() string { return path }, out, g.Spill); err != nil {
				return err
			}
			var err error
			if files[name], err = os.ReadFile(path); err != nil {
				return err
			}
		}
		rows = append(rows, g.Rows)
		return g.Spill.Close()
	})
	testenv.Must(t, err)
	return files, rows, stats
}

// sameOutputs fails the test unless the outputs are as wanted.
func sameOutputs(t *testing.T, what string, got, want map[string][]byte) {
	t.Helper()
	if !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%s: %d outputs differ from the %d wanted", what, len(got), len(want))
	}
}

func TestSplitFormatGetsValuesAndLengths(t *testing.T) {
	const schema = `{"type":"record","name":"r","fields":[{"name":"id","type":"long"},` +
		`{"name":"tags","type":{"type":"array","items":"string"}},{"name":"ok","type":["null","boolean"]}]}`
	var blocks []avrotest.Block
	var ids, tags, oks, tagLengths, okLengths []byte
	for block := range 40 {
		var data []byte
		for i := range 100 {
			id := int64(block*100 + i)
			data, ids = binary.AppendVarint(data, id), binary.AppendVarint(ids, id)
			if n := i % 4; n > 0 {
				data = binary.AppendVarint(data, int64(n))
				for range n {
					data, tags = append(data, "\x06tag"...), append(tags, "\x06tag"...)
				}
			}
			data = append(data, 0)
			tagLengths = binary.LittleEndian.AppendUint32(tagLengths, uint32(i%4))
			present := byte(i % 2)
			data = append(data, 2*present)
			okLengths = binary.LittleEndian.AppendUint32(okLengths, uint32(present))
			if present == 1 {
				data, oks = append(data, 1), append(oks, 1)
			}
		}
		blocks = append(blocks, avrotest.Block{Rows: 100, Data: data})
	}
	file := avrotest.Make(t, schema, "null", blocks...)
	src := source(t, "in.avro", file)
	files, rows, _ := convert(t, config(t, src, split{}), src)
	if len(files) != 2 || len(rows) != 1 || rows[0] != 4000 {
		t.Fatalf("%d files, rows %v", len(files), rows)
	}
	values, lengths := sections(files["part-0-values"]), sections(files["part-0-lengths"])
	for i, want := range [][2][]byte{{ids, nil}, {tags, tagLengths}, {oks, okLengths}} {
		if got := len(values[i]) - len(want[0]); got <= 0 || got%4 != 0 {
			t.Errorf("column %d: %d bytes of values, want %d and 4 per block", i, len(values[i]), len(want[0]))
		}
		if !bytes.Equal(lengths[i], want[1]) {
			t.Errorf("column %d: lengths differ", i)
		}
	}
}

// sections returns the length-prefixed sections of a split output.
func sections(file []byte) (out [][]byte) {
	for len(file) > 0 {
		n := binary.LittleEndian.Uint64(file)
		out, file = append(out, file[8:8+n]), file[8+n:]
	}
	return out
}

func TestSameBytesWithAnyParallelism(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 3000))
	sums := map[uint32]bool{} // of the rows, which are the same for each format
	for _, f := range []format.Writer{trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}), split{}, leveled{}} {
		var want map[string][]byte
		for _, procs := range []int{1, 2, 8} {
			cfg := config(t, src, f)
			cfg.Workers, cfg.RowGroupSize = procs, 300<<10
			old := runtime.GOMAXPROCS(procs)
			sum := new(rowSum)
			cfg.RowSink = sum
			got, rows, _ := convert(t, cfg, src)
			runtime.GOMAXPROCS(old)
			if sums[sum.keys] = true; len(sums) > 1 || !slices.Equal(sum.groups, rows) {
				t.Fatalf("%T with %d workers: the sink got row groups of %v rows, want %v, or different rows than before", f, procs, sum.groups, rows)
			}
			if want == nil {
				want = got
				if len(got) < 3 {
					t.Fatalf("%T: %d outputs, want several row groups", f, len(got))
				}
				continue
			}
			if len(got) != len(want) {
				t.Fatalf("%T with %d workers: %d outputs, want %d", f, procs, len(got), len(want))
			}
			sameOutputs(t, fmt.Sprintf("%T with %d workers", f, procs), got, want)
		}
	}
}

type noField struct{ mapper.RowSink }

func (noField) Keys() []string { return []string{"id", "missing"} }

func TestUnknownKey(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 10))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.RowSink = noField{}
	_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(mapper.RowGroup) error { return errors.New("a row group") })
	if err == nil || !strings.Contains(err.Error(), `no field "missing"`) {
		t.Errorf("error %v", err)
	}
}

func TestRowGroupSizeIsExceededByOneRowAtMost(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 3000))
	const ceiling, row = 400 << 10, 8 << 10
	for _, f := range []format.Writer{trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}), split{}, leveled{}} {
		cfg := config(t, src, f)
		cfg.RowGroupSize = ceiling
		files, rows, stats := convert(t, cfg, src)
		var sum int64
		for _, n := range rows {
			sum += n
		}
		if sum != 3000 || stats.Rows != 3000 {
			t.Errorf("%T: %d rows out, %d counted, want 3000", f, sum, stats.Rows)
		}
		sizes := make([]int, len(rows))
		for name, file := range files {
			group := 0
			_, err := fmt.Sscanf(name, "part-%d-", &group)
			testenv.Must(t, err)
			sizes[group] += len(file)
		}
		for group, size := range sizes {
			if size > ceiling+row || (group < len(rows)-1 && size < ceiling*6/10) {
				t.Errorf("%T: row group %d has %d bytes with a row group size of %d", f, group, size, ceiling)
			}
		}
	}
}

func TestNoRowsMakeOneRowGroup(t *testing.T) {
	src := source(t, "empty.avro", mail(t, 0))
	files, rows, _ := convert(t, config(t, src, trevni.NewGroupWriter(trevni.Options{})), src)
	if len(files) != 1 || len(rows) != 1 || rows[0] != 0 {
		t.Errorf("%d files, rows %v", len(files), rows)
	}
}

func TestDamage(t *testing.T) {
	file := mail(t, 1000)
	src := source(t, "bad.avro", file)
	file[len(file)/2] ^= 0x55
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	var d *damage.Error
	if !errors.As(err, &d) || d.File != "bad.avro" || d.Offset <= 0 {
		t.Fatalf("error %v, want located damage", err)
	}

	cfg = config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage = mapper.Skip
	_, rows, stats := convert(t, cfg, src)
	if len(stats.Losses) != 1 || rows[0]+stats.Losses[0].Rows != 1000 || stats.Losses[0].Rows <= 0 {
		t.Errorf("rows %v, losses %+v; want 1000 together", rows, stats.Losses)
	}

	var kept []ocf.Range
	cfg = config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage, cfg.MaxLostRows = mapper.Quarantine, 0
	cfg.Quarantine = func(_ mapper.Source, lost ocf.Range) error {
		kept = append(kept, lost)
		return nil
	}
	_, err = mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if !errors.As(err, &d) || !strings.Contains(err.Error(), "more than 0 rows lost") || len(kept) != 1 {
		t.Errorf("error %v, %d ranges kept; want the limit reached after one", err, len(kept))
	}
}

// TestBlocksBeyondTheMemory has a block for which there is no memory. Unlike a damaged
// one it must not be left out.
func TestBlocksBeyondTheMemory(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 1000))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage, cfg.Memory, cfg.Pool = mapper.Skip, 1000, budget.New(1000)
	_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if !errors.As(err, new(*budget.Error)) || !strings.Contains(err.Error(), "mail.avro: block of ") {
		t.Errorf("got %v, want a budget.Error", err)
	}
	cfg = config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.MaxInputBlock, cfg.Memory, cfg.Pool = 1000, 1000, budget.New(1000)
	if _, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() }); err == nil || errors.As(err, new(*budget.Error)) {
		t.Errorf("block beyond the limit of blocks: %v", err)
	}
}

// largeBlock returns a file of one block with a value of size bytes.
func largeBlock(t *testing.T, size int) []byte {
	t.Helper()
	return avrotest.Make(t, `"bytes"`, "null", avrotest.Block{Rows: 1, Data: append(binary.AppendVarint(nil, int64(size)), make([]byte, size)...)})
}

// TestBlocksBeyondTheLimitTakeNoMemory has a block whose stored size exceeds the limit:
// it is too large even if there is no memory for it.
func TestBlocksBeyondTheLimitTakeNoMemory(t *testing.T) {
	src := source(t, "large.avro", largeBlock(t, 64<<20))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.Pool = budget.New(0)
	_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if !errors.Is(err, ocf.ErrTooLarge) {
		t.Errorf("error %v, want %v", err, ocf.ErrTooLarge)
	}
}

// TestFalseSizesAreSkipped has blocks whose damaged sizes exceed the memory. More memory
// would not help, so they may be left out.
func TestFalseSizesAreSkipped(t *testing.T) {
	const blocks, rows = 8, 20_000
	data := make([]byte, rows) // longs of one byte that do not compress
	for i, r := 0, rand.New(rand.NewPCG(1, 2)); i < rows; i++ {
		data[i] = byte(r.IntN(128))
	}
	for _, c := range []struct {
		name, codec string
		at          int64 // offset of the size's last byte from the data
		value       byte
	}{
		{"stored", "null", -1, 8},
		{"decoded", "snappy", 2, 0x7f},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := avrotest.Make(t, `"long"`, c.codec, slices.Repeat([]avrotest.Block{{Rows: rows, Data: data}}, blocks)...)
			src := source(t, "bad.avro", file)
			var b ocf.Block
			testenv.Must(t, ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range).Next(t.Context(), &b))
			file[b.DataOffset+c.at] = c.value
			cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
			cfg.OnDamage, cfg.Memory, cfg.Pool = mapper.Skip, 60_000, budget.New(60_000)
			_, got, stats := convert(t, cfg, src)
			if len(stats.Losses) != 1 || stats.Losses[0].Range != b.Range() || got[0] != (blocks-1)*rows {
				t.Errorf("rows %v, losses %+v; want all but the block %v", got, stats.Losses, b.Range())
			}
		})
	}
}

// TestInexactValuesCountOnce walks blocks twice, because damaged ones are left out as a whole.
func TestInexactValuesCountOnce(t *testing.T) {
	var blocks []avrotest.Block
	large := string(binary.AppendVarint(nil, 1<<53+1))
	for _, block := range []string{large + "\x02", large + "\x80", large + large} { // the second ends early
		blocks = append(blocks, avrotest.Block{Rows: 2, Data: []byte(block)})
	}
	file := avrotest.Make(t, `"long"`, "null", blocks...)
	src := source(t, "rows.avro", file)
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage = mapper.Skip
	resolve(t, &cfg, &src, `"double"`)
	stats, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if err != nil || stats.Rows != 4 || len(stats.Losses) != 1 || stats.Inexact != (shred.Inexact{Rounded: 3}) {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestRowsBeyondTheMemory resolves a row of few bytes to a large one.
func TestRowsBeyondTheMemory(t *testing.T) {
	const empty = `{"type":"array","items":{"type":"record","name":"E","fields":[]}}`
	var blocks []avrotest.Block
	for _, row := range []string{"\x02\x00", "\x80\x02\x00"} { // of 1 and of 128 items
		blocks = append(blocks, avrotest.Block{Rows: 1, Data: []byte(row)})
	}
	file := avrotest.Make(t, empty, "null", blocks...)
	src := source(t, "rows.avro", file)
	text := `{"name":"a","type":"string","default":"` + strings.Repeat("x", 1000) + `"}`
	for _, c := range []struct{ max, memory, rows int64 }{{1 << 20, 1 << 20, 2}, {10_000, 1 << 20, 1}, {10_000, 100_000, 1}, {1 << 20, 100_000, -1}} {
		cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
		resolve(t, &cfg, &src, strings.Replace(empty, "[]", "["+text+"]", 1))
		cfg.OnDamage, cfg.MaxInputBlock, cfg.Memory, cfg.Pool = mapper.Skip, c.max, 64<<10, budget.New(c.memory)
		stats, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
		if c.rows < 0 {
			if !errors.As(err, new(*budget.Error)) || !strings.Contains(err.Error(), "rows.avro: row 0 of the block at offset ") || !strings.Contains(err.Error(), "it resolves to a row of more than ") {
				t.Errorf("got %v, want a budget.Error", err)
			}
		} else if err != nil || stats.Rows != c.rows || len(stats.Losses) != int(2-c.rows) {
			t.Errorf("%+v: %+v, %v", c, stats, err)
		}
	}
}

func TestImpossibleRowCounts(t *testing.T) {
	for _, c := range []struct {
		schema string
		rows   int64
		data   string
		want   damage.Kind
	}{
		{`"null"`, 1<<24 + 1, "", damage.Count},
		{`{"type":"array","items":"null"}`, 1, "\xfe\xff\xff\xff\x1f\x00", damage.Count},
		{`"long"`, 1 << 40, "\x02\x02", damage.Count},
		{`"long"`, 1, "\x02\x02", damage.Count},
		{`"long"`, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", damage.Value},
		{`"int"`, 1, "\xff\xff\xff\xff\x7f", damage.Value},
		{`"string"`, 1, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", damage.Truncated},
	} {
		file := avrotest.Make(t, c.schema, "null", avrotest.Block{Rows: c.rows, Data: []byte(c.data)})
		src := source(t, "bad.avro", file)
		cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
		_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
		var d *damage.Error
		if !errors.As(err, &d) || d.File != "bad.avro" || d.Offset != src.Header.Size || d.Kind != c.want {
			t.Errorf("%s, %d rows of %q: error %v, want located damage of the kind %s", c.schema, c.rows, c.data, err, c.want)
		}
	}
}

func TestNothingIsAllocatedPerRow(t *testing.T) {
	few, many := source(t, "few.avro", mail(t, 2000)), source(t, "many.avro", mail(t, 12000))
	run := func(src mapper.Source) float64 {
		cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
		cfg.BlockSize = 64 << 10
		return testing.AllocsPerRun(3, func() {
			_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			testenv.Must(t, err)
		})
	}
	a, b := run(few), run(many)
	if perRow := (b - a) / 10000; perRow > 0.02 {
		t.Errorf("%.0f allocations for 2000 rows, %.0f for 12000: %.3f per row", a, b, perRow)
	}
}

// TestOpenSources has many sources of one block; only a few may be open at a time.
func TestOpenSources(t *testing.T) {
	file := mail(t, 20)
	for _, most := range []int{1, 3} {
		open, highest := 0, 0
		var mu sync.Mutex
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			open += n
			highest = max(highest, open)
		}
		var sources []mapper.Source
		for range 50 {
			sources = append(sources, mapper.Source{Name: "mail.avro", Open: func(context.Context) (mapper.Source, error) {
				src := source(t, "mail.avro", file)
				src.Close = func() { count(-1) }
				count(1)
				return src, nil
			}})
		}
		cfg := config(t, source(t, "mail.avro", file), trevni.NewGroupWriter(trevni.Options{}))
		cfg.MaxOpen = most
		_, rows, _ := convert(t, cfg, sources...)
		if !slices.Equal(rows, []int64{1000}) || open != 0 || highest > most {
			t.Errorf("rows %v, up to %d sources were open, and %d at the end; want at most %d", rows, highest, open, most)
		}
	}
}
