package e2e

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestIcebergIncrements syncs a destination of many increments, each of 20 files or more. It
// reports the costs of the first sync and of one without work, and bounds memory, and the
// metadata that a sync of one more increment writes.
func TestIcebergIncrements(t *testing.T) {
	increments := soak.Rounds(100, 365)
	l := newLake(t, "", []string{"--row-group-size=16KiB", "--incremental"}, "sql")
	for i := range increments {
		l.addIncrement(t, i)
	}
	first, second := l.measure(t), l.measure(t)
	t.Logf("%d increments, %d files: %.2f s, %d MiB; without work: %.2f s, %d MiB",
		increments, first.Files, first.Seconds, first.Peak>>20, second.Seconds, second.Peak>>20)
	if first.Outputs != increments || first.Files < 20*increments || !second.Nothing {
		t.Errorf("%+v, %+v", first, second)
	}
	// A footer has a few KiB.
	if most := int64(96<<20 + first.Files*16<<10); first.Peak > most || second.Peak > most {
		t.Errorf("the syncs took %d and %d bytes of memory, at most %d expected", first.Peak, second.Peak, most)
	}
	before := directorySize(t, l.tables[0].Warehouse)
	const more = 5
	for i := range more {
		l.addIncrement(t, increments+i)
		l.measure(t)
	}
	if written := directorySize(t, l.tables[0].Warehouse) - before; written > more*int64(128<<10) {
		t.Errorf("%d syncs wrote %d bytes of metadata", more, written)
	}
}

// addIncrement makes an input of random numbers and converts it.
func (l *lake) addIncrement(t *testing.T, n int) {
	t.Helper()
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"noise","type":{"type":"fixed","name":"F","size":64}}]}`
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var blocks []avrotest.Block
	for range 20 {
		var data []byte
		for range 100 {
			data = binary.AppendVarint(data, int64(l.rows))
			for range 8 {
				data = binary.LittleEndian.AppendUint64(data, random.Uint64())
			}
			l.rows++
		}
		blocks = append(blocks, avrotest.Block{Rows: 100, Data: data})
	}
	must(t, os.MkdirAll(l.in, 0o777), os.WriteFile(filepath.Join(l.in, fmt.Sprintf("%03d.avro", n)), avrotest.Make(t, schema, "null", blocks...), 0o666))
	l.convert(t)
}

// syncCosts is what a sync reports.
type syncCosts struct {
	Seconds float64
	Peak    int64 `json:"peak_memory"`
	Nothing bool
	Outputs int
	Files   int
}

// measure syncs the only table.
func (l *lake) measure(t *testing.T) syncCosts {
	t.Helper()
	out := finish(t, l.syncCommand(l.tables[0], "--keep-snapshots=10")).want(t, 0).stdout
	var report struct{ Result syncCosts }
	must(t, json.Unmarshal([]byte(out), &report))
	return report.Result
}

// directorySize returns the size of all files in a directory.
func directorySize(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	for _, content := range tree(t, dir) {
		bytes += int64(len(content))
	}
	return bytes
}
