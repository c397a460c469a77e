package dataset_test

import (
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/trevni"
)

// BenchmarkSelect reads the messages that a condition selects: some thousandths
// of those with a score, at random, or of all, in clusters. The difference to
// "all" is the cost of selecting. It includes the cost of the condition, which
// "none" shows and which is highest for arithmetic.
func BenchmarkSelect(b *testing.B) {
	d := archive(b, trevni.Format, 100_000)
	columns := map[string][]string{"wide": nil, "narrow": {"id", "size", "score"}, "lists": {"id", "to", "received.host"}}
	for _, columnSet := range []string{"wide", "narrow", "lists"} {
		run := func(name, where string) {
			q := dataset.Query{Columns: columns[columnSet], Where: where, Limit: -1}
			b.Run(columnSet+"/batches/"+name, func(b *testing.B) {
				for b.Loop() {
					readBatches(b, d, q)
				}
			})
			b.Run(columnSet+"/scan/"+name, func(b *testing.B) {
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
