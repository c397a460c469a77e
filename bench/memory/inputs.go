package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// input is a set of files whose conversion needs much memory.
type input struct {
	name   string
	what   string
	schema string // to convert to; empty keeps the input's
	make   func(dir string) error
}

// mib is the unit of the sizes of inputs.
const mib = 1 << 20

// inputs are the inputs of the table.
var inputs = []input{
	{name: "one-wide-column", what: "1,000 columns, 600 blocks of one row, one column with values of 5 MB",
		make: func(dir string) error {
			return wide(dir, 1000, 600, func(row, col int) int {
				if col == 7 {
					return 5 * mib
				}
				return 4
			})
		}},
	{name: "growing-blocks", what: "a deflate block of 20 KB, then 16 that inflate to 150 MB",
		make: func(dir string) error { return growing(dir, 16) }},
	{name: "large-values", what: "20 deflate blocks of a value of 40 MiB",
		make: func(dir string) error {
			return blocks(dir, "deflate", func(add func(rows int64, data []byte) error) error {
				large := repeat(1, 40*mib)
				for range 20 {
					if err := add(1, large); err != nil {
						return err
					}
				}
				return nil
			})
		}},
	{name: "many-files", what: "10,000 files of 20 KB with a schema of 16 KB", make: manyFiles},
	{name: "large-blocks", what: "mails in 6 snappy blocks of 64 MiB",
		make: func(dir string) error {
			return file(dir, "mail.avro", func(w *bufio.Writer) error {
				return mailgen.Write(w, mailgen.Options{Rows: 600_000, Seed: 1, Codec: "snappy", BlockSize: 64 * mib})
			})
		}},
	{name: "wide-outliers", what: "1,000 columns, 60 values of 1 to 50 MB at random places of 3,000 rows",
		make: func(dir string) error {
			rng := rand.New(rand.NewPCG(1, 2))
			large := make(map[int]int)
			for range 60 {
				large[rng.IntN(3000)*1000+rng.IntN(1000)] = (1 + rng.IntN(50)) * 1000 * 1000
			}
			return wide(dir, 1000, 3000, func(row, col int) int {
				if n := large[row*1000+col]; n > 0 {
					return n
				}
				return 6
			})
		}},
	{name: "wide", what: "10,000 columns, 2,000 rows",
		make: func(dir string) error {
			return wide(dir, 10_000, 2000, func(row, col int) int { return 2 + (row+col)%9 })
		}},
	{name: "resolved", what: "rows of 10 MB that become rows of 400 MB by a default", schema: resolvedSchema,
		make: func(dir string) error {
			return blocks(dir, "deflate", func(add func(rows int64, data []byte) error) error {
				row := binary.AppendVarint(nil, 10*mib/10)
				for range 10 * mib / 10 {
					row = append(row, 18, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')
				}
				row = append(row, 0)
				for range 2 {
					if err := add(1, row); err != nil {
						return err
					}
				}
				return nil
			}, `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":`+
				`{"type":"record","name":"I","fields":[{"name":"s","type":"string"}]}}}]}`)
		}},
}

// resolvedSchema adds a default of 400 bytes to each item.
var resolvedSchema = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":` +
	`{"type":"record","name":"I","fields":[{"name":"s","type":"string"},` +
	`{"name":"d","type":"string","default":"` + strings.Repeat("0123456789", 40) + `"}]}}}]}`

// file makes a file of a directory.
func file(dir, name string, write func(w *bufio.Writer) error) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, mib)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

const stringSchema = `{"type":"record","name":"R","fields":[{"name":"s","type":"string"}]}`

// blocks makes a file of blocks. Without a schema, a row has one string.
func blocks(dir, codec string, fill func(add func(rows int64, data []byte) error) error, schema ...string) error {
	return file(dir, "a.avro", func(w *bufio.Writer) error {
		out, err := ocf.NewWriter(w, append(schema, stringSchema)[0], codec, [16]byte{1})
		if err != nil {
			return err
		}
		return fill(out.AppendBlock)
	})
}

// items makes a file of two rows, each with n items of a byte.
func items(dir string, n int) error {
	return blocks(dir, "deflate", func(add func(rows int64, data []byte) error) error {
		row := binary.AppendVarint(nil, int64(n))
		row = append(row, make([]byte, n+1)...)
		for range 2 {
			if err := add(1, row); err != nil {
				return err
			}
		}
		return nil
	}, `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"int"}}]}`)
}

// growing makes a file with a small block, and large blocks that inflate to 150 MB.
func growing(dir string, large int) error {
	return blocks(dir, "deflate", func(add func(rows int64, data []byte) error) error {
		if err := add(20, repeat(20, 1000)); err != nil {
			return err
		}
		data := repeat(150, mib)
		for range large {
			if err := add(150, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// repeat returns rows with the same string each.
func repeat(rows, size int) []byte {
	row := append(binary.AppendVarint(nil, int64(size)), strings.Repeat("rowtocol", size/8+1)[:size]...)
	return []byte(strings.Repeat(string(row), rows))
}

// wide makes a snappy file of string columns with a block per row. size returns the length
// of a value.
func wide(dir string, columns, rows int, size func(row, col int) int) error {
	var schema strings.Builder
	schema.WriteString(`{"type":"record","name":"R","fields":[`)
	for i := range columns {
		if i > 0 {
			schema.WriteByte(',')
		}
		fmt.Fprintf(&schema, `{"name":"c%d","type":"string"}`, i)
	}
	schema.WriteString(`]}`)
	text := letters(50 * mib)
	return file(dir, "wide.avro", func(w *bufio.Writer) error {
		out, err := ocf.NewWriter(w, schema.String(), "snappy", [16]byte{1})
		if err != nil {
			return err
		}
		var block []byte
		for row := range rows {
			block = block[:0]
			for col := range columns {
				n := size(row, col)
				block = binary.AppendVarint(block, int64(n))
				block = append(block, text[(row+col)%1000:][:n]...)
			}
			if err := out.AppendBlock(1, block); err != nil {
				return err
			}
		}
		return nil
	})
}

// letters returns n letters, which compress to a fraction.
func letters(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, n+1000)
	for i := range text {
		if i < 4096 || i%64 == 0 {
			text[i] = 'a' + byte(rng.IntN(26))
		} else {
			text[i] = text[i-4096]
		}
	}
	return text
}

// manyFiles makes small files whose schema has long names.
func manyFiles(dir string) error {
	var schema strings.Builder
	schema.WriteString(`{"type":"record","name":"R","fields":[`)
	for i := range 100 {
		fmt.Fprintf(&schema, `{"name":"c%d","doc":%q,"type":"string"},`, i, strings.Repeat("d", 120))
	}
	schema.WriteString(`{"name":"last","type":"long"}]}`)
	var row []byte
	for i := range 100 {
		row = append(append(row, 64), strings.Repeat(string(rune('a'+i%26)), 32)...)
	}
	row = append(row, 2)
	for i := range 10_000 {
		err := file(dir, fmt.Sprintf("%05d.avro", i), func(w *bufio.Writer) error {
			out, err := ocf.NewWriter(w, schema.String(), "", [16]byte{1})
			if err != nil {
				return err
			}
			return out.AppendBlock(1, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
