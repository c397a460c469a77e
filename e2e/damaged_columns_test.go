package e2e

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/trevni"
)

// columnFileOf converts an Avro file to one column file.
func columnFileOf(t *testing.T, path string, flags ...string) columnFile {
	t.Helper()
	converted := convertAll(t, []entry{{file: path, path: path, rows: countRows(t, path)}}, flags...)
	if len(converted[0].parts) != 1 {
		t.Fatalf("%d parts", len(converted[0].parts))
	}
	return open(t, converted[0].parts[0])
}

func countRows(t *testing.T, path string) int64 {
	rows, err := natives(path)
	must(t, err)
	return int64(len(rows))
}

// wantLocated runs every command that reads column files on a damaged one. No command may
// leave a file, and an error must name the damaged file. With header, every command must
// see the damage.
func wantLocated(t *testing.T, damaged []byte, header bool) {
	t.Helper()
	dir := t.TempDir()
	path, rows := filepath.Join(dir, "damaged.trv"), filepath.Join(dir, "rows")
	must(t, os.WriteFile(path, damaged, 0o644))
	if r := run(t, "verify", path); r.code != 6 {
		t.Errorf("verify: exit %d\n%s", r.code, r.stderr)
	}
	for _, args := range [][]string{
		{"cat", path}, {"cat", "--to=avro", "--output=" + rows, path}, {"cat", "--to=parquet", "--output=" + rows, path},
		{"inspect", path}, {"schema", "--shredded", path},
	} {
		whole := args[0] == "cat" // reads all of the file's columns
		r := run(t, args...)
		if r.code == 3 {
			r.wantComplaint(t, "damaged.trv")
		} else if r.code != 0 || whole || header {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.stderr)
		}
		if left := tree(t, dir); r.code != 0 && len(left) != 1 {
			t.Errorf("%v left %d files", args, len(left)-1)
		}
		if err := os.Remove(rows); r.code == 0 && len(args) > 3 && err != nil {
			t.Error(err)
		}
		if r.elapsed > 30*time.Second {
			t.Errorf("%v took %s", args, r.elapsed)
		}
	}
}

// TestDamagedColumns truncates a column file at many lengths, appends to it, and flips
// single bits.
func TestDamagedColumns(t *testing.T) {
	f := columnFileOf(t, "../testdata/real/list-columns.avro")
	cols := f.Columns()
	lengths := []int64{0, 1, 3, 4, 5, 12, 15, 16, 17, cols[0].Start / 2, cols[0].Start - 1, int64(len(f.data)) - 1}
	for _, c := range cols {
		lengths = append(lengths, c.Start, c.Start+2, c.Start+9)
	}
	inParallel(len(lengths), func(i int) {
		wantLocated(t, f.data[:lengths[i]], false)
	})
	wantLocated(t, append(f.data[:len(f.data):len(f.data)], 0), false)
	bits := 8 * len(f.data)
	flips := soak.Rounds(50, 150)
	inParallel(flips, func(i int) {
		bit := i * bits / flips
		damaged := append([]byte(nil), f.data...)
		damaged[bit/8] ^= 1 << (bit % 8)
		wantLocated(t, damaged, int64(bit/8) < cols[0].Start)
	})
}

// TestHostileColumns checks that column files that should exhaust memory or time do not.
func TestHostileColumns(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[
		{"name":"s","type":"string"},{"name":"a","type":{"type":"array","items":"null"}},{"name":"o","type":["null","bytes"]}]}`
	var data []byte
	const rows = 10
	for range rows {
		data = sized(data, strings.Repeat("x", 40)) // s
		data = append(data, 2, 0)                   // a: one null
		data = sized(append(data, 2), strings.Repeat("y", 40))
	}
	f := columnFileOf(t, writeAvro(t, "rows", schema, block{rows, data}), "--codec=null", "--checksum=null")
	for _, key := range []string{trevni.HeaderCRCKey, trevni.TableCRCKey, trevni.BlocksCRCKey} {
		f.data = bytes.ReplaceAll(f.data, []byte(key), []byte("other"+key[5:])) // an attacker omits the CRC
	}
	const table = 4 + 12 // bytes before the only block of a column
	start := func(col int) int { return int(f.Columns()[col].Start) }
	u32 := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	u64 := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	for _, c := range []struct {
		name  string
		at    int
		bytes []byte
	}{
		{"2^60 rows", 4, u64(1 << 60)},
		{"2^64-1 rows", 4, u64(math.MaxUint64)},
		{"2^31-1 columns", 12, u32(math.MaxInt32)},
		{"2^32-1 columns", 12, u32(math.MaxUint32)},
		{"2^62 pairs of metadata", 16, varints(nil, 1<<62)},
		{"2^31-1 blocks", start(0), u32(math.MaxInt32)},
		{"no blocks", start(0), u32(0)},
		{"a block of 2^31-1 rows", start(0) + 4, u32(math.MaxInt32)},
		{"a block of 2^32-1 rows", start(0) + 4, u32(math.MaxUint32)},
		{"a block of 2^31-1 bytes", start(0) + 8, u32(math.MaxInt32)},
		{"a stored block of 2^31-1 bytes", start(0) + 12, u32(math.MaxInt32)},
		{"a string of 2^62 bytes", start(0) + table, varints(nil, 1<<62)},
		{"a string of 2^31-1 bytes", start(0) + table, varints(nil, math.MaxInt32)},
		{"a negative string", start(0) + table, varints(nil, -7)},
		{"2^31-1 nulls", start(1) + table, varints(nil, math.MaxInt32)},
		{"2^31 nulls", start(1) + table, varints(nil, 1<<31)},
		{"a run of 2^30 empty arrays", start(1) + table, varints(nil, -(1<<31 - 1))},
		{"a run of 2^62 empty arrays", start(1) + table, varints(nil, math.MinInt64+1)},
		{"an optional value twice", start(2) + table, varints(nil, 2)},
		{"optional bytes of 2^31-1 bytes", start(2) + table + 1, varints(nil, math.MaxInt32)},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := append([]byte(nil), f.data...)
			copy(data[c.at:], c.bytes)
			path := filepath.Join(t.TempDir(), "hostile.trv")
			must(t, os.WriteFile(path, data, 0o644))
			for _, args := range [][]string{
				{"cat", path}, {"cat", "--to=arrow", path}, {"verify", path},
				{"cat", "--columns=s", "--where=s != ''", path}, {"cat", "--offset=9", path}, {"inspect", path}, {"schema", path},
			} {
				r, memory := runMeasured(t, args...)
				all := args[1] == path && args[0] == "cat" || args[1] == "--to=arrow" // the others need not read the damaged part
				if found := r.code == 3 || r.code == 6 && args[0] == "verify"; !found && (all || r.code != 0 || args[0] == "verify") {
					t.Errorf("%v: exit %d\n%s", args, r.code, r.stderr)
				}
				if memory > 128<<20 || r.elapsed > 30*time.Second || len(r.stdout) > 1<<20 {
					t.Errorf("%v: %d MiB of memory, %s, %d bytes of output", args, memory>>20, r.elapsed, len(r.stdout))
				}
			}
		})
	}
}
