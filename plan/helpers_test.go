package plan

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/trevni"
)

const testSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"s","type":"string"}]}`

// writeInput writes an Avro file of so many blocks of 100 rows, uncompressed.
func writeInput(t testing.TB, file, schema string, seed uint64, blocks int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var rows [][]byte
	for b := range blocks {
		var block []byte
		for i := range 100 {
			block = binary.AppendVarint(block, int64(b*100+i))
			block = binary.AppendVarint(block, 16)
			block = fmt.Appendf(block, "%016x", r.Uint64())
		}
		rows = append(rows, block)
	}
	writeBlocks(t, file, schema, 100, rows...)
}

// writeBlocks writes an Avro file of blocks that say that they have so many rows.
func writeBlocks(t testing.TB, file, schema string, rows int64, blocks ...[]byte) {
	t.Helper()
	var out strings.Builder
	w, err := ocf.NewWriter(&out, schema, "null", [16]byte{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		if err := w.AppendBlock(rows, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// newFormat makes Trevni files; the options' document is that of
// trevni.Options.
func newFormat(o manifest.Options) (format.Format, error) {
	var t trevni.Options
	if err := json.Unmarshal(o.FormatOptions, &t); err != nil {
		return nil, err
	}
	return trevni.NewFormat(t), nil
}

func formatOptions(codec string) json.RawMessage { return fmt.Appendf(nil, `{"Codec":%q}`, codec) }

// request is of small row groups, so that a few blocks make several tasks.
func request(dest string, inputs ...string) Request {
	return Request{
		Inputs: inputs, Dest: dest, NewFormat: newFormat,
		Options: manifest.Options{Format: "trevni", RowGroupSize: 16 << 10, MaxLostRows: -1, FormatOptions: formatOptions("null")},
	}
}

func look(t testing.TB, r Request) *Survey {
	t.Helper()
	s, err := Look(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustPlan(t testing.TB, r Request) *manifest.Plan {
	t.Helper()
	p, err := look(t, r).Plan(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantKind(t testing.TB, err, kind error, text string) {
	t.Helper()
	if err == nil || failure.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v of kind %v, want kind %v and %q", err, failure.KindOf(err), kind, text)
	}
}
