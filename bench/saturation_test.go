//go:build !race

package main

import (
	"slices"
	"testing"
)

// TestFreeFormatKnowsTheBlocks checks that a pipeline with freeFormat runs no codecs.
func TestFreeFormatKnowsTheBlocks(t *testing.T) {
	w := gateSets(t)[0].workload
	free := newFreeFormat(w)
	for _, g := range w.groups {
		i := 0
		if _, err := g.encode(free, func(stored []byte) {
			if !slices.Equal(stored, g.stored[i]) {
				t.Fatalf("block %d differs", i)
			}
			i++
		}); err != nil {
			t.Fatal(err)
		}
		for i := range g.blocks {
			if _, ok := free.stored[keyOf(g.blocks[i].column, &g.blocks[i].Block)]; !ok {
				t.Fatalf("block %d is not known", i)
			}
		}
	}
}
