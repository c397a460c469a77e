package e2e

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/delta"
)

// TestCFileDeltas has Kudu read DeltaFiles as the CFiles that they are, with a value
// index only. What their values mean is nothing that its tool knows.
func TestCFileDeltas(t *testing.T) {
	k := newKudu(t)
	for name, order := range map[string]delta.Order{"redo": delta.Redo, "undo": delta.Undo} {
		var out bytes.Buffer
		w, err := delta.NewWriter(&out, order)
		must(t, err)
		for i := range uint32(20_000) {
			at := uint64(i % 4)
			if order == delta.Undo {
				at = 3 - at
			}
			d := delta.Delta{Key: delta.Key{Row: i / 4, Timestamp: at << 40}, Change: delta.Change{Kind: delta.Update, Cells: []delta.Cell{
				{Column: 10, Value: binary.LittleEndian.AppendUint64(nil, uint64(i))}, {Column: 11, Null: true},
			}}}
			if i%7 == 0 {
				d.Change = delta.Change{Kind: delta.Delete}
			}
			must(t, w.Append(&d))
		}
		must(t, w.Close())
		file := filepath.Join(t.TempDir(), name+".cf")
		must(t, os.WriteFile(file, out.Bytes(), 0o666))
		k.wantSame(t, file)
	}
}
