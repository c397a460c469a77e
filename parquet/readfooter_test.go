package parquet

import (
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestReadFooter(t *testing.T) {
	file := smallFile(t, "snappy")
	meta, err := ReadFooter(formattest.NewFile("p.parquet", file), format.OpenOptions{})
	testenv.Must(t, err)
	p := mustOpen(t, file)
	if meta.NumRows != p.Rows() || len(meta.RowGroups) != 1 || len(meta.RowGroups[0].Columns) != len(p.columns) {
		t.Errorf("%d rows, %d row groups; the part has %d rows", meta.NumRows, len(meta.RowGroups), p.Rows())
	}
}

func TestReadFooterRefuses(t *testing.T) {
	file := smallFile(t, "snappy")
	other := newRewriter(t, file, rand.New(rand.NewPCG(1, 2))).file()
	_, err := ReadFooter(formattest.NewFile("p.parquet", other), format.OpenOptions{})
	wantDamage(t, "another writer", err, damage.Unsupported, "the footer has no checksum (rowtocol.crc), so rowtocol did not write the file")
	_, err = ReadFooter(formattest.NewFile("p.parquet", file[:len(file)-1]), format.OpenOptions{})
	wantDamage(t, "cut", err, damage.Magic, `found "\x00PAR", expected "PAR1"`)
}
