package plan

import (
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/mapper"
)

// TestSampleIsBounded checks that a sample is bounded if there are many more blocks, and many
// more rows of zero bytes.
func TestSampleIsBounded(t *testing.T) {
	dir := t.TempDir()
	row := "\x02\x80\x02" + strings.Repeat("x", 128)
	block := []byte(strings.Repeat(row, 100))
	for _, file := range []string{"/a/1.avro", "/a/2.avro", "/a/3.avro"} {
		var blocks [][]byte
		for range 100 {
			blocks = append(blocks, block)
		}
		writeBlocks(t, dir+file, avrotest.Schema, 100, blocks...)
	}
	const rows = 1 << 20
	writeBlocks(t, dir+"/b/1.avro", `"null"`, rows, make([][]byte, 10)...)
	for in, want := range map[string][2]int64{ // numbers of rows
		"/a": {minSample / int64(len(row)) * 9 / 10, 2 * minSample / int64(len(row))},
		"/b": {mapper.MaxSampleRows, mapper.MaxSampleRows + rows - 1},
	} {
		s := mustLook(t, request(dir+"/out", dir+in)).newSampler(manifest.DefaultBlockSize)
		defer s.sample.Close()
		testenv.Must(t, s.readAll(t.Context()))
		if n := s.sample.Rows(); n < want[0] || n > want[1] {
			t.Errorf("%s: the sample has %d rows, want %d", in, n, want)
		}
	}
}
