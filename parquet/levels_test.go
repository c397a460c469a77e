package parquet

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The levels and pages of a block do not depend on the block before, although blocks with equal
// levels share them.
func TestLevelsDoNotDependOnBlockBefore(t *testing.T) {
	const schema = `{"type":"record","name":"R","fields":[{"name":"n","type":"null"},{"name":"b","type":["null","boolean"]},{"name":"l","type":["null","long"]},
		{"name":"s","type":["null","string"]},{"name":"o","type":["null",{"type":"record","name":"O","fields":[{"name":"i","type":"int"},{"name":"j","type":["null","int"]}]}]},
		{"name":"lb","type":{"type":"array","items":"boolean"}},{"name":"ll","type":{"type":"array","items":"long"}},{"name":"ln","type":{"type":"array","items":"null"}},
		{"name":"r","type":"long"}]}`
	var columns []*groupColumn
	for version := range 2 {
		g := newGroupMaker(t, schema, options{PageVersion: version + 1}, 64<<10)
		for i := range g.group.columns {
			columns = append(columns, &g.group.columns[i])
		}
	}
	blocks := []column.Block{{Rows: 50_000}, {Rows: 300}, {Rows: 300}, {Rows: 7}}
	word := func(rep, def, n int) uint32 { return uint32(def | rep<<11 | (n-1)<<21) }
	for left := 50_000; left > 0; left -= 500 {
		blocks[0].Lengths = append(blocks[0].Lengths, word(0, left/500%2, 500))
	}
	for range 300 {
		blocks[1].Lengths = append(blocks[1].Lengths, word(0, 1, 1), word(1, 1, 999))
		blocks[2].Lengths = append(blocks[2].Lengths, word(0, 1, 1), word(1, 1, 1000))
	}
	blocks[3].Lengths = []uint32{word(0, 1, 7)}
	// The values of text have 6 bytes, or 150.
	texts := [][]byte{slices.Repeat([]byte("\x0cabcdef"), 50_000), slices.Repeat(append([]byte("\xac\x02"), make([]byte, 150)...), 50_000)}

	r, shared := rand.New(rand.NewPCG(1, 37)), new(blockLevels)
	var block column.Block
	for i := range 3000 {
		if i%20 == 0 {
			block = blocks[r.IntN(len(blocks))]
		}
		c := columns[r.IntN(len(columns))]
		if c.rep == 0 && len(block.Lengths) > 1 && block.Rows < 1000 {
			continue
		}
		block.Data = texts[r.IntN(len(texts))]
		var a, b encodeJob
		a.begin(c, &block)
		b.begin(c, &block)
		testenv.Must(t, shared.take(&a))
		var fresh blockLevels
		testenv.Must(t, fresh.take(&b))
		if !slices.EqualFunc(shared.pages, fresh.pages, func(a, b page) bool { return pageShape(&a) == pageShape(&b) }) ||
			!bytes.Equal(shared.encoded, fresh.encoded) || !slices.Equal(shared.histogram, fresh.histogram) {
			t.Fatalf("column %s, block of %d rows: %d pages, want %d", c.Name, block.Rows, len(shared.pages), len(fresh.pages))
		}
	}

	// The levels of a long are those of the boolean before.
	var l blockLevels
	for _, c := range columns[1:3] {
		var j encodeJob
		j.begin(c, &blocks[0])
		testenv.Must(t, l.take(&j))
		l.encoded[0]++
	}
	if l.encoded[0] != 2+byte(len(l.of(&l.pages[0]))-4) {
		t.Error("the levels of equal blocks are encoded again")
	}
}

func pageShape(p *page) [8]int {
	return [8]int{p.word, p.skip, p.entries, p.rows, p.values, p.levels, p.reps, p.defs}
}
