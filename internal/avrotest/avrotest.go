// Package avrotest makes small Avro files for tests. The files are always the same.
package avrotest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Parse parses a schema.
func Parse(t testing.TB, schema string) *shred.Schema {
	t.Helper()
	s, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	return s
}

// Map returns the columns of a schema. Recursive types become bytes.
func Map(t testing.TB, schema string) *shred.Mapping {
	t.Helper()
	m, err := shred.Map(Parse(t, schema), shred.Options{RecursiveBytes: true})
	testenv.Must(t, err)
	return m
}

// Schema is the schema of the rows of Blocks: a number and 16 hexadecimal digits.
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

// Block is a block of an Avro file: its number of rows, and their bytes.
type Block struct {
	Rows int64
	Data []byte
}

// Make returns an Avro file of blocks, compressed with codec.
func Make(t testing.TB, schema, codec string, blocks ...Block) []byte {
	t.Helper()
	return file(t, schema, codec, [16]byte{2}, blocks)
}

// File returns an uncompressed Avro file of blocks, each of which claims to have rows
// rows.
func File(t testing.TB, schema string, sync [16]byte, rows int64, blocks ...[]byte) []byte {
	t.Helper()
	var all []Block
	for _, b := range blocks {
		all = append(all, Block{rows, b})
	}
	return file(t, schema, "null", sync, all)
}

func file(t testing.TB, schema, codec string, sync [16]byte, blocks []Block) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, schema, codec, sync)
	testenv.Must(t, err)
	for _, b := range blocks {
		testenv.Must(t, w.AppendBlock(b.Rows, b.Data))
	}
	return file.Bytes()
}
