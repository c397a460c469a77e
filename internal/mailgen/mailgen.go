// Package mailgen makes fictional mail archives, as sample data and for benchmarks: nested
// records with a stable compression ratio. The same seed gives the same bytes. Only tests
// and tools import it.
package mailgen

//go:generate go run ../cmd/datagen -set mail -rows 400 -seed 1 -output ../../testdata/mail/archive-1.avro
//go:generate go run ../cmd/datagen -set mail -rows 200 -seed 2 -output ../../testdata/mail/archive-2.avro

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// Schema is the Avro schema of a message.
const Schema = `{"type":"record","name":"Message","namespace":"mail","fields":[` +
	`{"name":"id","type":"long"},` +
	`{"name":"date","type":{"type":"long","logicalType":"timestamp-millis"}},` +
	`{"name":"folder","type":{"type":"enum","name":"Folder","symbols":["INBOX","SENT","ARCHIVE","SPAM"]}},` +
	`{"name":"seen","type":"boolean"},` +
	`{"name":"from","type":"string"},` +
	`{"name":"to","type":{"type":"array","items":"string"}},` +
	`{"name":"subject","type":["null","string"]},` +
	`{"name":"size","type":["null","int"]},` +
	`{"name":"score","type":["null","double"]},` +
	`{"name":"received","type":{"type":"array","items":{"type":"record","name":"Hop","fields":[` +
	`{"name":"date","type":"long"},{"name":"host","type":"string"},{"name":"protocol","type":["null","string"]}]}}},` +
	`{"name":"headers","type":{"type":"map","values":"string"}},` +
	`{"name":"body","type":"string"}]}`

// Options choose the size and the encoding of an archive.
type Options struct {
	// Rows is the number of messages.
	Rows int64
	// Seed chooses the archive; the same seed gives the same bytes.
	Seed uint64
	// Codec is the Avro codec; empty means null.
	Codec string
	// BlockSize is the number of bytes of messages at which a block is closed;
	// 0 means 64 KiB.
	BlockSize int
}

// Write writes an Avro object container file of messages. The caller closes w.
func Write(w io.Writer, o Options) error {
	if o.Rows < 0 {
		return fmt.Errorf("%d rows", o.Rows)
	}
	if o.BlockSize == 0 {
		o.BlockSize = 64 << 10
	}
	var sync [16]byte
	copy(sync[:], "mailgen")
	binary.LittleEndian.PutUint64(sync[8:], o.Seed)
	out, err := ocf.NewWriter(w, Schema, o.Codec, sync)
	if err != nil {
		return err
	}
	g := New(o.Seed)
	var block []byte
	var rows int64
	for row := int64(0); row < o.Rows; row++ {
		block = g.Append(block)
		rows++
		if len(block) >= o.BlockSize || row == o.Rows-1 {
			if err := out.AppendBlock(rows, block); err != nil {
				return err
			}
			block, rows = block[:0], 0
		}
	}
	return nil
}

// Generator generates messages.
type Generator struct {
	rand *rand.PCG
	id   int64
	date int64
	text []byte
}

// New returns the generator of an archive.
func New(seed uint64) *Generator {
	return &Generator{rand: rand.NewPCG(seed, 0x6d61696c), date: 1262304000000}
}

// Append appends the next message's Avro encoding to dst.
func (g *Generator) Append(dst []byte) []byte {
	g.id += 1 + int64(g.below(3))
	g.date += int64(g.below(600_000))
	dst = binary.AppendVarint(dst, g.id)
	dst = binary.AppendVarint(dst, g.date)
	dst = append(dst, byte(2*g.skewed(4)), byte(min(1, g.below(4))))
	sender := g.below(len(names))
	dst = g.address(dst, sender)
	n := 1 + g.skewed(5)
	dst = binary.AppendVarint(dst, int64(n))
	for range n {
		dst = g.address(dst, g.skewed(len(names)))
	}
	dst = append(dst, 0)
	dst = g.optional(dst, 15, func(dst []byte) []byte { return g.words(dst, 2+g.below(6), "") })
	body := 50 + g.skewed(90)
	dst = g.optional(dst, 8, func(dst []byte) []byte { return binary.AppendVarint(dst, int64(body*6+g.below(400))) })
	dst = g.optional(dst, 3, func(dst []byte) []byte {
		score := math.Round(float64(g.below(1000)))/100 - 2
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(score))
	})
	dst = g.received(dst, g.date)
	dst = g.headers(dst, sender)
	return g.words(dst, body, footers[sender%len(footers)])
}

func (g *Generator) received(dst []byte, date int64) []byte {
	n := 1 + g.skewed(4)
	dst = binary.AppendVarint(dst, int64(n))
	for range n {
		date -= int64(g.below(9_000))
		dst = binary.AppendVarint(dst, date)
		dst = g.sized(dst, "mx%d.%s", 1+g.below(4), domains[g.skewed(len(domains))])
		dst = g.optional(dst, 4, func(dst []byte) []byte { return appendString(dst, protocols[g.skewed(len(protocols))]) })
	}
	return append(dst, 0)
}

func (g *Generator) headers(dst []byte, sender int) []byte {
	n := 2 + g.below(3)
	dst = binary.AppendVarint(dst, int64(n))
	for i := range n {
		dst = appendString(dst, headerNames[i])
		switch i {
		case 0:
			dst = g.sized(dst, "<%012x@%s>", g.rand.Uint64()>>16, domains[sender%len(domains)])
		case 1:
			dst = appendString(dst, agents[sender%len(agents)])
		case 2:
			dst = appendString(dst, "text/plain; charset=utf-8")
		default:
			dst = g.sized(dst, "<%s.lists.example.org>", vocabulary[g.skewed(40)])
		}
	}
	return append(dst, 0)
}

// address appends an address as a string. A person always has the same address.
func (g *Generator) address(dst []byte, person int) []byte {
	return g.sized(dst, "%s.%s@%s", names[person], names[(person*7+3)%len(names)], domains[person%len(domains)])
}

// optional appends a union of null and a value that is null once in n times.
func (g *Generator) optional(dst []byte, n int, value func([]byte) []byte) []byte {
	if g.below(n) == 0 {
		return append(dst, 0)
	}
	return value(append(dst, 2))
}

// words appends a string of n words and an ending.
func (g *Generator) words(dst []byte, n int, ending string) []byte {
	g.text = g.text[:0]
	for i := range n {
		switch {
		case i == 0:
		case i%17 == 0:
			g.text = append(g.text, ".\n"...)
		default:
			g.text = append(g.text, ' ')
		}
		// Numbers, dates and references in mail do not compress.
		if g.below(24) == 0 {
			g.text = fmt.Appendf(g.text, "%d", g.below(1_000_000))
			continue
		}
		g.text = append(g.text, vocabulary[g.skewed(1+g.skewed(len(vocabulary)))]...)
	}
	g.text = append(g.text, ending...)
	return appendBytes(dst, g.text)
}

func (g *Generator) sized(dst []byte, format string, args ...any) []byte {
	g.text = fmt.Appendf(g.text[:0], format, args...)
	return appendBytes(dst, g.text)
}

// below returns a number in [0, n).
func (g *Generator) below(n int) int { return int(g.rand.Uint64() % uint64(n)) }

// skewed returns a number in [0, n). Small numbers are more frequent.
func (g *Generator) skewed(n int) int { return g.below(1 + g.below(n)) }

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
