// Package randavro makes random Avro schemas and data for property tests. The same source
// of randomness gives the same schema and data.
package randavro

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// maxDepth bounds the nesting of schemas, and of the data of recursive schemas.
const maxDepth = 5

var simple = []string{"null", "boolean", "int", "long", "float", "double", "bytes", "string"}

// Schema returns the JSON of a random record schema that is not recursive. It may have all
// kinds of types, named types in several namespaces and with several uses, and unions with
// or without null.
func Schema(r *rand.Rand) string {
	g := schemas{Rand: r}
	return g.encode(g.record(0, ""))
}

type schemas struct {
	*rand.Rand
	names int
	named []string // full names of complete types
}

func (g *schemas) encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the tree holds only strings, lists and maps
	}
	return string(text)
}

// name returns a new full name and its namespace, which is often inherited.
func (g *schemas) name(namespace string) (full, space string) {
	g.names++
	if g.IntN(4) == 0 {
		namespace = []string{"a", "org.example", "b.c.d"}[g.IntN(3)]
	}
	base := fmt.Sprintf("T%d", g.names)
	if namespace == "" {
		return base, ""
	}
	return namespace + "." + base, namespace
}

func (g *schemas) record(depth int, namespace string) any {
	full, space := g.name(namespace)
	fields := make([]any, 0, 6)
	count := g.IntN(6)
	if depth == 0 {
		count++
		fields = append(fields, map[string]any{"name": "id", "type": "long"})
	}
	for i := range count {
		fields = append(fields, map[string]any{"name": fmt.Sprintf("f%d", i), "type": g.typ(depth+1, space)})
	}
	g.named = append(g.named, full)
	return map[string]any{"type": "record", "name": full, "fields": fields}
}

func (g *schemas) typ(depth int, namespace string) any {
	if depth < maxDepth {
		switch g.IntN(10) {
		case 0:
			return g.record(depth, namespace)
		case 1, 2:
			return map[string]any{"type": "array", "items": g.typ(depth+1, namespace)}
		case 3:
			return map[string]any{"type": "map", "values": g.typ(depth+1, namespace)}
		case 4, 5:
			return g.union(depth, namespace)
		}
	}
	return g.leaf(namespace)
}

func (g *schemas) leaf(namespace string) any {
	switch g.IntN(12) {
	case 0:
		full, _ := g.name(namespace)
		g.named = append(g.named, full)
		return map[string]any{"type": "fixed", "name": full, "size": g.IntN(20)}
	case 1:
		full, _ := g.name(namespace)
		g.named = append(g.named, full)
		symbols := make([]string, 1+g.IntN(100))
		for i := range symbols {
			symbols[i] = fmt.Sprintf("S%d", i)
		}
		return map[string]any{"type": "enum", "name": full, "symbols": symbols}
	case 2:
		// A name without a namespace would be resolved in the enclosing one.
		if i := len(g.named) - 1; i >= 0 && strings.Contains(g.named[i], ".") {
			return g.named[i]
		}
	case 3:
		return map[string]any{"type": "long", "logicalType": "timestamp-micros"}
	}
	return simple[g.IntN(len(simple))]
}

// union returns a union whose branches have different names.
func (g *schemas) union(depth int, namespace string) any {
	if g.IntN(2) == 0 {
		branches := []any{"null", g.leaf(namespace)}
		if branches[1] == "null" {
			branches[1] = "string"
		}
		if g.IntN(3) == 0 {
			branches[0], branches[1] = branches[1], branches[0]
		}
		return branches
	}
	var branches []any
	for _, i := range g.Perm(len(simple))[:1+g.IntN(3)] {
		branches = append(branches, simple[i])
	}
	switch g.IntN(4) {
	case 0:
		branches = append(branches, map[string]any{"type": "array", "items": g.typ(depth+1, namespace)})
	case 1:
		branches = append(branches, map[string]any{"type": "map", "values": g.typ(depth+1, namespace)})
	case 2:
		branches = append(branches, g.record(depth, namespace), g.record(depth, namespace))
	}
	return branches
}

// Datum returns a random datum in one of the many encodings that Avro allows: arrays and
// maps are divided into several blocks, some with negative counts, and some varints are
// longer than necessary.
func Datum(r *rand.Rand, n *shred.Node) []byte {
	_, odd := Pair(r, n)
	return odd
}

// Pair returns two encodings of one random datum: the plain one, with minimal
// varints and with arrays and maps of one block, and one as Datum makes it.
func Pair(r *rand.Rand, n *shred.Node) (plain, odd []byte) {
	g := data{Rand: r}
	g.datum(n, 0)
	return g.plain, g.odd
}

type data struct {
	*rand.Rand
	plain, odd []byte
}

func (g *data) appendBoth(p ...byte) {
	g.plain = append(g.plain, p...)
	g.odd = append(g.odd, p...)
}

// number appends a varint. In odd it is sometimes padded with zeros.
func (g *data) number(v int64, longest int) {
	g.plain = binary.AppendVarint(g.plain, v)
	g.odd = g.overlong(g.odd, v, longest)
}

func (g *data) overlong(dst []byte, v int64, longest int) []byte {
	p := binary.AppendVarint(nil, v)
	if g.IntN(8) == 0 {
		for len(p) < longest && g.IntN(2) == 0 {
			p[len(p)-1] |= 0x80
			p = append(p, 0)
		}
	}
	return append(dst, p...)
}

// integer prefers small numbers and the limits of the width.
func (g *data) integer(bits int) int64 {
	v := int64(g.Uint64()) >> (64 - bits)
	switch g.IntN(4) {
	case 0:
		return v
	case 1:
		return []int64{math.MinInt64 >> (64 - bits), math.MaxInt64 >> (64 - bits), 0, -1}[g.IntN(4)]
	}
	return v >> g.IntN(bits)
}

func (g *data) sized(n int) {
	g.number(int64(n), 10)
	for range n {
		g.appendBoth(byte('a' + g.IntN(26)))
	}
}

// size returns a length of a text or a list: usually a short one.
func (g *data) size(common, rare int) int {
	if g.IntN(20) == 0 {
		return g.IntN(rare)
	}
	return g.IntN(common)
}

func (g *data) datum(n *shred.Node, depth int) {
	switch n.Kind {
	case shred.KindBoolean:
		g.appendBoth(byte(g.IntN(2)))
	case shred.KindInt:
		g.number(g.integer(32), 5)
	case shred.KindLong:
		g.number(g.integer(64), 10)
	case shred.KindFloat:
		g.appendBoth(binary.LittleEndian.AppendUint32(nil, g.Uint32())...)
	case shred.KindDouble:
		g.appendBoth(binary.LittleEndian.AppendUint64(nil, g.Uint64())...)
	case shred.KindBytes, shred.KindString:
		g.sized(g.size(12, 300))
	case shred.KindFixed:
		for range n.Size {
			g.appendBoth(byte(g.Uint32()))
		}
	case shred.KindEnum:
		g.number(int64(g.IntN(len(n.Symbols))), 5)
	case shred.KindRecord:
		for _, f := range n.Fields {
			g.datum(f.Type, depth+1)
		}
	case shred.KindArray, shred.KindMap:
		g.items(n, depth)
	case shred.KindUnion:
		i := g.branch(n, depth)
		g.number(int64(i), 10)
		g.datum(n.Branches[i], depth+1)
	}
}

// branch prefers a simple branch in deep data, so that recursion ends.
func (g *data) branch(n *shred.Node, depth int) int {
	if depth > 2*maxDepth {
		for i, b := range n.Branches {
			if b.Kind.Simple() {
				return i
			}
		}
	}
	return g.IntN(len(n.Branches))
}

func (g *data) items(n *shred.Node, depth int) {
	total := 0
	if depth <= 2*maxDepth {
		total = g.size(4, 40/(depth+1)+2)
	}
	if total > 0 {
		g.plain = binary.AppendVarint(g.plain, int64(total))
	}
	for total > 0 {
		count := total
		if g.IntN(2) == 0 {
			count = 1 + g.IntN(total)
		}
		total -= count
		g.block(n, count, depth)
	}
	g.appendBoth(0)
}

// block appends items. In odd they are a block of their own.
func (g *data) block(n *shred.Node, count, depth int) {
	before := g.odd
	g.odd = nil
	for range count {
		if n.Kind == shred.KindMap {
			g.sized(g.size(5, 80))
		}
		g.datum(n.Items, depth+1)
	}
	body := g.odd
	if g.IntN(2) == 0 {
		g.odd = g.overlong(before, int64(-count), 10)
		g.odd = g.overlong(g.odd, int64(len(body)), 10)
	} else {
		g.odd = g.overlong(before, int64(count), 10)
	}
	g.odd = append(g.odd, body...)
}
