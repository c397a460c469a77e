package dataset_test

import (
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/trevni"
)

// BenchmarkSelect reads the messages that a condition selects: so many
// thousandths of those with a score, here and there, or of all, by clusters.
// Against "all" stands the price of selecting, with that of the condition
// itself, which "none" shows: an arithmetic one is the dearest.
func BenchmarkSelect(b *testing.B) {
	d := archive(b, trevni.Format, 100_000)
	columns := map[string][]string{"wide": nil, "narrow": {"id", "size", "score"}, "lists": {"id", "to", "received.host"}}
	for _, of := range []string{"wide", "narrow", "lists"} {
		run := func(name, where string) {
			q := dataset.Query{Columns: columns[of], Where: where, Limit: -1}
			b.Run(of+"/batches/"+name, func(b *testing.B) {
				for b.Loop() {
					readBatches(b, d, q)
				}
			})
			b.Run(of+"/scan/"+name, func(b *testing.B) {
				for b.Loop() {
					readRows(b, d, q)
				}
			})
		}
		run("all", "")
		run("random-none", "score > 8")
		run("clusters-none", "id % 20000 < 0")
		for _, thousandths := range []int{1, 10, 100, 400, 900} {
			run(fmt.Sprintf("random-%d", thousandths), fmt.Sprintf("score >= %v", 8-float64(thousandths)/100))
			run(fmt.Sprintf("clusters-%d", thousandths), fmt.Sprintf("id %% 20000 < %d", 20*thousandths))
		}
	}
}
