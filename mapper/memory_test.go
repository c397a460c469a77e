package mapper_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/trevni"
)

// textSchema returns a schema of string columns.
func textSchema(columns int) string {
	var fields []string
	for i := range columns {
		fields = append(fields, fmt.Sprintf(`{"name":"c%d","type":"string"}`, i))
	}
	return `{"type":"record","name":"R","fields":[` + strings.Join(fields, ",") + `]}`
}

// texts returns a file with a block for each slice of rows, given by the sizes of their values.
func texts(t testing.TB, codec string, columns int, blocks [][][]int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var file []avrotest.Block
	for _, rows := range blocks {
		var data []byte
		for _, sizes := range rows {
			for _, n := range sizes {
				text := bytes.Repeat([]byte("rowtocol"), n/8+1)[:n]
				for i := 0; i < n; i += 40 {
					text[i] = byte('a' + rng.IntN(26))
				}
				data = append(binary.AppendVarint(data, int64(n)), text...)
			}
		}
		file = append(file, avrotest.Block{Rows: int64(len(rows)), Data: data})
	}
	return avrotest.Make(t, textSchema(columns), codec, file...)
}

// outliers returns blocks of rows of small values and a few of up to most bytes.
func outliers(columns, blocks, rows, most int, seed uint64) (all [][][]int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for range blocks {
		var block [][]int
		for range 1 + rng.IntN(rows) {
			sizes := make([]int, columns)
			for i := range sizes {
				if sizes[i] = rng.IntN(20); rng.IntN(4*columns) == 0 {
					sizes[i] = rng.IntN(most)
				}
			}
			block = append(block, sizes)
		}
		all = append(all, block)
	}
	return all
}

// TestLittleMemoryChangesNothing converts a file while a task's share of memory has room
// for few blocks and values, or for none.
func TestLittleMemoryChangesNothing(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard", "bzip2", "xz"} {
		t.Run(codec, func(t *testing.T) {
			file := texts(t, codec, 5, outliers(5, 12, 10, 60<<10, 3))
			damaged := slices.Clone(file)
			for i := 1; i < 6; i++ {
				damaged[len(damaged)*i/6] ^= 0x41
			}
			for _, onDamage := range []mapper.OnDamage{mapper.Fail, mapper.Skip} {
				src := source(t, "in.avro", file)
				if onDamage == mapper.Skip {
					src = source(t, "in.avro", damaged)
				}
				cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
				cfg.OnDamage, cfg.MaxInputBlock, cfg.RowGroupSize = onDamage, 32<<20, 100<<10
				want, wantRows, wantStats := convert(t, cfg, src)
				for _, memory := range []int64{16 << 10, 128 << 10} {
					for _, workers := range []int{1, 3} {
						cfg.Memory, cfg.Workers, cfg.Pool = memory, workers, budget.New(64<<20)
						got, rows, stats := convert(t, cfg, src)
						if !slices.Equal(rows, wantRows) || !slices.Equal(stats.Losses, wantStats.Losses) {
							t.Errorf("%d bytes of memory, %d workers: rows %v, %+v, want %v, %+v", memory, workers, rows, stats, wantRows, wantStats)
						}
						sameOutputs(t, fmt.Sprintf("%d bytes of memory, %d workers", memory, workers), got, want)
						if left := cfg.Pool.Available(); left != cfg.Pool.Size() {
							t.Errorf("%d bytes of memory, %d workers: %d of %d bytes left in the pool", memory, workers, left, cfg.Pool.Size())
						}
					}
				}
			}
		})
	}
}

// TestMemoryIsReleased has values of 1 MiB in different columns. Only a few of them
// fit into memory at a time.
func TestMemoryIsReleased(t *testing.T) {
	const columns = 40
	var blocks [][][]int
	for i := range 2 * columns {
		sizes := make([]int, columns)
		sizes[i%columns] = 1 << 20
		blocks = append(blocks, [][]int{sizes})
	}
	src := source(t, "in.avro", texts(t, "snappy", columns, blocks))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
	cfg.MaxInputBlock, cfg.Memory = 32<<20, 1<<20
	for _, tt := range []struct {
		pool int64
		fits bool
	}{{4 << 20, true}, {1 << 20, false}} {
		cfg.Pool, cfg.Workspaces = budget.New(tt.pool), new(mapper.Workspaces)
		for range 2 {
			_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			var refused *budget.Error
			if fits := err == nil; fits != tt.fits || !fits && (!errors.As(err, &refused) || refused.Need <= tt.pool) {
				t.Errorf("with %d bytes: %v", tt.pool, err)
			}
			if left := cfg.Pool.Available(); left != tt.pool {
				t.Errorf("%d of %d bytes left", left, tt.pool)
			}
		}
		cfg.Workspaces.Close()
	}
}

// TestTasksTakeTurns runs tasks in parallel. There is memory for the large values of
// one at a time.
func TestTasksTakeTurns(t *testing.T) {
	src := source(t, "in.avro", texts(t, "deflate", 3, outliers(3, 12, 6, 1<<20, 5)))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
	cfg.MaxInputBlock = 64 << 20
	want, _, _ := convert(t, cfg, src)
	cfg.Memory, cfg.Pool, cfg.Workspaces = 256<<10, budget.New(32<<20), new(mapper.Workspaces)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a deadlock fails the test
	defer cancel()
	var running sync.WaitGroup
	for range 6 {
		running.Go(func() {
			for range 2 {
				rows := int64(0)
				_, err := mapper.Run(ctx, []mapper.Source{src}, cfg, func(g mapper.RowGroup) error {
					rows += g.Rows
					return g.Spill.Close()
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	got, _, _ := convert(t, cfg, src)
	sameOutputs(t, "after all tasks", got, want)
	cfg.Workspaces.Close()
	if left := cfg.Pool.Available(); left != cfg.Pool.Size() {
		t.Errorf("%d of %d bytes left", left, cfg.Pool.Size())
	}
}

// TestWaitingEndsWithTheContext cancels a task that waits for memory.
func TestWaitingEndsWithTheContext(t *testing.T) {
	src := source(t, "large.avro", largeBlock(t, 4<<20))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.MaxInputBlock, cfg.Memory, cfg.Pool = 32<<20, 1<<20, budget.New(32<<20)
	other := cfg.Pool.NewShare(0)
	if _, err := other.Take(t.Context(), 1<<20); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	_, err := mapper.Run(ctx, []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
}

// TestLargeResolvedRows resolves rows to larger ones, in records that keep the order of
// their fields and in records that do not.
func TestLargeResolvedRows(t *testing.T) {
	const written = `{"type":"record","name":"R","fields":[{"name":"a","type":"long"},` +
		`{"name":"b","type":{"type":"array","items":{"type":"record","name":"I","fields":[{"name":"x","type":"string"}]}}}]}`
	text := `{"name":"d","type":"string","default":"` + strings.Repeat("x", 500) + `"}`
	inOrder := strings.Replace(written, `"type":"string"}]`, `"type":"string"},`+text+`]`, 1)
	reordered := `{"type":"record","name":"R","fields":[` +
		`{"name":"b","type":{"type":"array","items":{"type":"record","name":"I","fields":[` + text + `,{"name":"x","type":"string"}]}}},` +
		`{"name":"a","type":"long"}]}`
	var blocks []avrotest.Block
	for i, items := range []int{3, 10_000, 1, 400, 4000, 2} {
		data := binary.AppendVarint(binary.AppendVarint(nil, int64(i)), int64(items))
		data = append(append(data, bytes.Repeat([]byte{2, 'y'}, items)...), 0)
		blocks = append(blocks, avrotest.Block{Rows: 1, Data: data})
	}
	file := avrotest.Make(t, written, "snappy", blocks...)
	src := source(t, "in.avro", file)
	for name, schema := range map[string]string{"in order": inOrder, "reordered": reordered} {
		cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
		resolve(t, &cfg, &src, schema)
		cfg.MaxInputBlock = 32 << 20
		want, _, _ := convert(t, cfg, src)
		for _, pool := range []int64{32 << 20, 8 << 20} {
			cfg.Memory, cfg.Pool = 128<<10, budget.New(pool)
			_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			if refused := errors.As(err, new(*budget.Error)); refused != (pool == 8<<20) || !refused && err != nil {
				t.Errorf("%s, %d bytes: %v", name, pool, err)
			}
			if err != nil {
				continue
			}
			got, _, _ := convert(t, cfg, src)
			sameOutputs(t, name, got, want)
		}
	}
}

// TestFalseSizeBeyondTheMemory has a block whose false size exceeds the memory. It is
// damage, which may be left out.
func TestFalseSizeBeyondTheMemory(t *testing.T) {
	file := texts(t, "null", 1, [][][]int{{{10}}, {{1 << 20}}, {{10}}})
	src := source(t, "in.avro", file)
	scanner, last := ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range), ocf.Block{}
	for range 2 {
		testenv.Must(t, scanner.Next(t.Context(), &last))
	}
	file[last.DataOffset-1]-- // the highest bits of the size
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage, cfg.MaxInputBlock, cfg.Memory, cfg.Pool = mapper.Skip, 32<<20, 64<<10, budget.New(0)
	_, rows, stats := convert(t, cfg, src)
	if !slices.Equal(rows, []int64{2}) || len(stats.Losses) != 1 {
		t.Errorf("rows %v, %+v", rows, stats)
	}
}

// TestRefusalInATrial has a value for which there is no memory, before damage in the same
// row. The error is the lack of memory, and another task is not affected.
func TestRefusalInATrial(t *testing.T) {
	file := texts(t, "null", 2, [][][]int{{{600 << 10, 10}}})
	src := source(t, "bad.avro", file)
	file[len(file)-16-11] = 0x7f // the second value's length
	good := source(t, "good.avro", texts(t, "null", 2, [][][]int{{{4, 4}}}))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage, cfg.Memory, cfg.Pool, cfg.Workspaces = mapper.Skip, 1<<20, budget.New(700<<10), new(mapper.Workspaces)
	cfg.MaxInputBlock = 32 << 20
	_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	if !errors.As(err, new(*budget.Error)) {
		t.Errorf("got %v, want a budget.Error", err)
	}
	if _, rows, _ := convert(t, cfg, good); !slices.Equal(rows, []int64{1}) {
		t.Errorf("rows %v", rows)
	}
	cfg.Workspaces.Close()
}

// TestRoomForSymbols has rows that need much more memory encoded than in blocks: each byte is
// a symbol of 4000 bytes. Such rows must fit the memory.
func TestRoomForSymbols(t *testing.T) {
	const items = 3000
	var symbols []string
	for i := range 60 {
		symbols = append(symbols, fmt.Sprintf(`"S%03999d"`, i))
	}
	schema := `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":` +
		`{"type":"enum","name":"E","symbols":[` + strings.Join(symbols, ",") + `]}}}]}`
	var blocks []avrotest.Block
	for range 5 {
		data := binary.AppendVarint(nil, items)
		for i := range items {
			data = append(data, byte(i*7%60*2))
		}
		blocks = append(blocks, avrotest.Block{Rows: 1, Data: append(data, 0)})
	}
	src := source(t, "in.avro", avrotest.Make(t, schema, "null", blocks...))
	w, err := parquet.Format.Writer([]byte(`{"compression":"none"}`))
	testenv.Must(t, err)
	cfg := config(t, src, w)
	cfg.Memory, cfg.MaxInputBlock, cfg.BlockSize = 1<<20, 32<<20, 16<<10
	for _, tt := range []struct {
		pool int64
		fits bool
	}{{64 << 20, true}, {16 << 20, false}} {
		cfg.Pool, cfg.Workspaces = budget.New(tt.pool), new(mapper.Workspaces)
		_, err := mapper.Run(context.Background(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
		if fits := err == nil; fits != tt.fits || !fits && !errors.As(err, new(*budget.Error)) {
			t.Errorf("with %d bytes: %v", tt.pool, err)
		}
		cfg.Workspaces.Close()
		if left := cfg.Pool.Available(); left != tt.pool {
			t.Errorf("%d of %d bytes left", left, tt.pool)
		}
	}
}
