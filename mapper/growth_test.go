package mapper

import (
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// The sizes of decoded blocks are added up for each source separately.
func TestGrowthPerSource(t *testing.T) {
	task := &task{}
	block := &inputBlock{block: ocf.Block{Rows: 100 << 20}, lost: ocf.Range{Start: 100, End: 120}}
	for i, step := range []struct {
		source  string
		refused bool
	}{{"a", false}, {"a", false}, {"a", true}, {"b", false}, {"b", false}, {"b", true}} {
		if err := task.grow(block, Source{Name: step.source}); (err != nil) != step.refused {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
