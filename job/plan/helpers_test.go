package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/trevni"
)

// writeInput writes an Avro file with the given number of uncompressed blocks of 100 rows.
func writeInput(t testing.TB, file, schema string, seed uint64, blocks int) {
	t.Helper()
	writeBlocks(t, file, schema, avrotest.BlockRows, avrotest.Blocks(seed, blocks)...)
}

// writeBlocks writes an Avro file whose blocks say that they have rows rows each.
func writeBlocks(t testing.TB, file, schema string, rows int64, blocks ...[]byte) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(file), 0o777))
	testenv.Must(t, os.WriteFile(file, avrotest.File(t, schema, [16]byte{1, 2, 3}, rows, blocks...), 0o666))
	old := time.Now().Add(-time.Hour)
	testenv.Must(t, os.Chtimes(file, old, old))
}

func formatOptions(codec string) json.RawMessage { return fmt.Appendf(nil, `{"Codec":%q}`, codec) }

// formats are all formats.
var formats = format.Registry{trevni.Format, cfile.Format, hfile.Format, parquet.Format}

// request returns a request with small row groups, so that a few blocks make several tasks.
func request(dest string, inputs ...string) Request {
	return Request{
		Formats: formats,
		Asked:   Asked{Inputs: inputs, Dest: dest, Output: manifest.Options{Format: "trevni", RowGroupSize: 16 << 10, MaxLostRows: -1, FormatOptions: formatOptions("null")}},
	}
}

func mustLook(t testing.TB, r Request) *Survey {
	t.Helper()
	s, err := NewSurvey(t.Context(), r)
	testenv.Must(t, err)
	return s
}

func mustPlan(t testing.TB, r Request) *manifest.Plan {
	t.Helper()
	p, err := mustLook(t, r).Plan(t.Context(), "")
	testenv.Must(t, err)
	return p
}
