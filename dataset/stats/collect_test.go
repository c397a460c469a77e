package stats_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/stats"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
)

// Several workers need no more memory than one, which reads the rest if they lack it.
func TestWorkersInLittleMemory(t *testing.T) {
	const columns = 300
	fields := make([]string, columns)
	for i := range fields {
		fields[i] = fmt.Sprintf(`{"name":"f%d","type":"int"}`, i)
	}
	block := avrotest.Block{Rows: 100, Data: bytes.Repeat([]byte{2}, 100*columns)}
	blocks := make([]avrotest.Block, 200)
	for i := range blocks {
		blocks[i] = block
	}
	name := filepath.Join(t.TempDir(), "in.avro")
	testenv.Must(t, os.WriteFile(name, avrotest.Make(t, `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, "null", blocks...), 0o600))
	for size := int64(24); size <= 88; size += 16 {
		var all [2][]stats.Column
		var errs [2]error
		for i, workers := range []int{1, 8} {
			memory := budget.New(size << 20)
			d, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: name}}, dataset.Options{Memory: memory})
			testenv.Must(t, err)
			p, err := d.Plan(dataset.Query{Limit: -1, Workers: workers})
			testenv.Must(t, err)
			all[i], _, errs[i] = stats.Collect(t.Context(), p, memory, nil)
		}
		if errs[0] == nil && (errs[1] != nil || !reflect.DeepEqual(all[0], all[1])) {
			t.Errorf("%d MiB: several workers: %v", size, errs[1])
		}
	}
}
