package mapper_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

// blockOf returns a file of one block that repeats a row.
func blockOf(t *testing.T, schema, codec, row string, rows int) []byte {
	t.Helper()
	return avrotest.Make(t, schema, codec, avrotest.Block{Rows: int64(rows), Data: []byte(strings.Repeat(row, rows))})
}

// TestProgressInABlock has input of one block of 4 MiB. Deflate and bzip2 decompress it
// twice, and its rows are walked twice if damage is allowed.
func TestProgressInABlock(t *testing.T) {
	const rows, size = 4 << 20 / 32, 4 << 20
	text := "\x3e" + strings.Repeat("x", 31)
	for _, tc := range []struct {
		schema, codec, row string
		decoding           int // least number of calls during decompression
		walking            int // least number of calls in a walk
	}{
		{`"string"`, "deflate", text, 6, 3}, {`"string"`, "bzip2", text, 6, 3}, {`"string"`, "xz", text, 3, 3},
		{`"string"`, "zstandard", text, 0, 3}, {`"string"`, "snappy", text, 0, 3}, {`"string"`, "null", text, 0, 3},
		{`"null"`, "null", "", 0, 1},
	} {
		src := source(t, "a.avro", blockOf(t, tc.schema, tc.codec, tc.row, rows))
		for _, workers := range []int{1, 3} {
			if testing.Short() && workers == 1 {
				continue
			}
			for onDamage, trials := range map[mapper.OnDamage]int{mapper.Fail: 0, mapper.Skip: 1} {
				t.Run(fmt.Sprintf("%s in %s, %d workers, damage %d", tc.schema, tc.codec, workers, onDamage), func(t *testing.T) {
					cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
					cfg.MaxInputBlock, cfg.Workers, cfg.OnDamage = 2*size, workers, onDamage
					var mu sync.Mutex
					var sumRows, sumBytes int64
					before, inside := 0, 0 // calls before the first row, and before the last
					cfg.Progress = func(n, bytes int64) {
						mu.Lock()
						defer mu.Unlock()
						sumRows, sumBytes = sumRows+n, sumBytes+bytes
						switch {
						case n < 0 || bytes < 0:
							t.Errorf("progress of %d rows and %d bytes", n, bytes)
						case sumRows == 0:
							before++
						case sumRows < rows:
							inside++
						}
					}
					_, _, stats := convert(t, cfg, src)
					if stored := src.Size - src.Header.Size; sumRows != rows || sumBytes != stored || stats.Rows != rows {
						t.Errorf("the final progress is %d rows and %d bytes, want %d and %d; stats %+v", sumRows, sumBytes, rows, stored, stats)
					}
					if least := tc.decoding + trials*tc.walking; before < least || inside < tc.walking {
						t.Errorf("%d calls before the first row, want at least %d; %d after it, want at least %d", before, least, inside, tc.walking)
					}
					if before+inside > 30 {
						t.Errorf("%d calls, want at most 30", before+inside)
					}
				})
			}
		}
	}
}

// TestProgressOfLostBlocks has a block that is lost after it was decompressed and its rows
// were walked.
func TestProgressOfLostBlocks(t *testing.T) {
	const rows = 1<<16 - 1
	text := "\x7e" + strings.Repeat("0123456", 9)
	file := blockOf(t, `"string"`, "deflate", text, rows)
	src := source(t, "a.avro", file)
	var block ocf.Block
	testenv.Must(t, ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range).Next(t.Context(), &block))
	// The block claims one row less, so that bytes follow the last one.
	file[block.Offset] -= 2
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.MaxInputBlock, cfg.OnDamage = 16<<20, mapper.Skip
	var mu sync.Mutex
	var sumRows, sumBytes int64
	calls := 0
	cfg.Progress = func(n, bytes int64) {
		mu.Lock()
		defer mu.Unlock()
		sumRows, sumBytes, calls = sumRows+n, sumBytes+bytes, calls+1
	}
	_, _, stats := convert(t, cfg, src)
	if stored := src.Size - src.Header.Size; len(stats.Losses) != 1 || sumRows != 0 || sumBytes != stored || calls < 6 {
		t.Errorf("%d losses; after %d calls progress is %d rows and %d bytes, want 0 and %d", len(stats.Losses), calls, sumRows, sumBytes, stored)
	}
}
