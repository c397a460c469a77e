// Package avrotest makes small Avro files for tests, the same ones each time.
package avrotest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Schema is that of the rows of Blocks: a number and 16 hexadecimal digits.
const Schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"s","type":"string"}]}`

// BlockRows is the number of rows of each of Blocks.
const BlockRows = 100

// Blocks returns the rows of n blocks. The same seed gives the same rows.
func Blocks(seed uint64, n int) (blocks [][]byte) {
	r := rand.New(rand.NewPCG(seed, 0))
	for b := range n {
		var rows []byte
		for i := range BlockRows {
			rows = binary.AppendVarint(rows, int64(b*BlockRows+i))
			rows = binary.AppendVarint(rows, 16)
			rows = fmt.Appendf(rows, "%016x", r.Uint64())
		}
		blocks = append(blocks, rows)
	}
	return blocks
}

// File returns an Avro file of blocks that say that they have so many rows,
// uncompressed.
func File(t testing.TB, schema string, sync [16]byte, rows int64, blocks ...[]byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, schema, "null", sync)
	testenv.Must(t, err)
	for _, b := range blocks {
		testenv.Must(t, w.AppendBlock(rows, b))
	}
	return file.Bytes()
}
