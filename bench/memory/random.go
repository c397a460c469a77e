package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// randomInput is a file whose schema, codec, block sizes and values are random.
type randomInput struct {
	rng     *rand.Rand
	columns []randomColumn
	codec   string
	block   int // bytes of rows at which a block is closed
	outlier int // one in outlier values is an outlier; 0: none
	largest int // bytes of an outlier
	bytes   int // approximate size of all rows
}

// randomColumn is a column's Avro type and the length of its values.
type randomColumn struct {
	kind string
	size int
}

// kinds are the types of columns. Types with values of any length are more frequent.
var kinds = []string{"long", "double", "string", "string", "bytes", "optional", "array", "map", "record"}

// drawInput draws an input from a seed.
func drawInput(seed uint64) *randomInput {
	rng := rand.New(rand.NewPCG(seed, 11))
	in := &randomInput{
		rng: rng, codec: []string{"null", "deflate", "snappy", "snappy", "zstandard", "bzip2", "xz"}[rng.IntN(7)],
		block: logUniform(rng, 1, 64*mib), largest: logUniform(rng, 100<<10, 40*mib), bytes: logUniform(rng, mib, 150*mib),
	}
	if in.codec == "bzip2" || in.codec == "xz" { // these are much slower than the others
		in.block, in.largest, in.bytes = min(in.block, 8*mib), min(in.largest, 8*mib), min(in.bytes, 16*mib)
	}
	if rng.IntN(3) > 0 {
		in.outlier = logUniform(rng, 20, 100_000)
	}
	for range logUniform(rng, 1, 3000) {
		in.columns = append(in.columns, randomColumn{kinds[rng.IntN(len(kinds))], logUniform(rng, 1, 2000)})
	}
	return in
}

// logUniform draws a number from a range, each order of magnitude equally often.
func logUniform(rng *rand.Rand, least, most int) int {
	return int(float64(least) * math.Pow(float64(most)/float64(least), rng.Float64()))
}

func (in *randomInput) String() string {
	return fmt.Sprintf("%d columns, %s, blocks of %d bytes, %d bytes of rows, outliers of up to %d bytes, one in %d",
		len(in.columns), in.codec, in.block, in.bytes, in.largest, in.outlier)
}

func (in *randomInput) schema() string {
	var b strings.Builder
	for i, c := range in.columns {
		typ := map[string]string{
			"long": `"long"`, "double": `"double"`, "string": `"string"`, "bytes": `"bytes"`, "optional": `["null","string"]`,
			"array": `{"type":"array","items":"string"}`, "map": `{"type":"map","values":"long"}`,
			"record": fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":["null","int"]},{"name":"b","type":"string"}]}`, i),
		}[c.kind]
		fmt.Fprintf(&b, `,{"name":"c%d","type":%s}`, i, typ)
	}
	return `{"type":"record","name":"Row","fields":[` + b.String()[1:] + `]}`
}

// write makes the file.
func (in *randomInput) write(w *bufio.Writer) error {
	out, err := ocf.NewWriter(w, in.schema(), in.codec, [16]byte{9})
	if err != nil {
		return err
	}
	text := letters(in.largest + 4096)
	var block []byte
	rows := int64(0)
	for written := 0; written < in.bytes; {
		before := len(block)
		for i := range in.columns {
			block = in.appendValue(block, &in.columns[i], text)
		}
		rows++
		written += len(block) - before + 1
		if len(block) >= in.block || written >= in.bytes {
			if err := out.AppendBlock(rows, block); err != nil {
				return err
			}
			block, rows = block[:0], 0
		}
	}
	return nil
}

// appendValue appends a value of a column.
func (in *randomInput) appendValue(dst []byte, c *randomColumn, text []byte) []byte {
	long := func(dst []byte) []byte { return binary.AppendVarint(dst, int64(in.rng.Uint64())>>in.rng.IntN(64)) }
	switch c.kind {
	case "long":
		return long(dst)
	case "double":
		return binary.LittleEndian.AppendUint64(dst, in.rng.Uint64()>>in.rng.IntN(64))
	case "optional", "record":
		if in.rng.IntN(2) == 0 {
			if dst = append(dst, 0); c.kind == "optional" {
				return dst
			}
		} else if dst = append(dst, 2); c.kind == "record" {
			dst = append(dst, byte(in.rng.IntN(128)))
		}
	case "array", "map":
		n := in.rng.IntN(4)
		if in.outlier > 0 && in.rng.IntN(in.outlier) == 0 {
			n = 1 + in.rng.IntN(in.largest)/100
		}
		if n > 0 {
			dst = binary.AppendVarint(dst, int64(n))
			for range n {
				dst = appendText(dst, text[in.rng.IntN(4000):][:in.rng.IntN(min(c.size, 50)+1)])
				if c.kind == "map" {
					dst = long(dst)
				}
			}
		}
		return append(dst, 0)
	}
	n := in.rng.IntN(c.size + 1)
	if in.outlier > 0 && in.rng.IntN(in.outlier) == 0 {
		n = in.rng.IntN(in.largest)
	}
	return appendText(dst, text[in.rng.IntN(4000):][:n])
}

func appendText(dst, text []byte) []byte {
	return append(binary.AppendVarint(dst, int64(len(text))), text...)
}
