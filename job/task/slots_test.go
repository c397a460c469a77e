package task

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// slow is a format whose jobs take a second each. jobs counts them.
type slow struct {
	format.Format
	jobs *atomic.Int64
}

type slowWriter struct {
	format.ColumnWriter
	jobs *atomic.Int64
}

type slowGroup struct {
	format.RowGroup
	jobs *atomic.Int64
}

type slowJob struct{ format.EncodeJob }

func (s slow) Writer(options json.RawMessage) (format.Writer, error) {
	w, err := s.Format.Writer(options)
	return slowWriter{w.(format.ColumnWriter), s.jobs}, err
}

func (w slowWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	g, err := w.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	return slowGroup{g, w.jobs}, err
}

func (g slowGroup) Begin(col int, block *column.Block) (format.EncodeJob, error) {
	g.jobs.Add(1)
	j, err := g.RowGroup.Begin(col, block)
	return slowJob{j}, err
}

func (g slowGroup) End(col int, job format.EncodeJob, stored int) error {
	return g.RowGroup.End(col, job.(slowJob).EncodeJob, stored)
}

func (j slowJob) Encode(dst []byte) ([]byte, error) {
	time.Sleep(time.Second)
	return j.EncodeJob.Encode(dst)
}

// Workers whose tasks have ended do half of the jobs of the last task, which is much larger.
func TestFreeWorkersHelp(t *testing.T) {
	for _, small := range []int{0, 1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			dir, rows := t.TempDir(), ""
			var inputs []string
			for i := range small + 1 {
				blocks := 1
				if i == small {
					blocks = 400
				}
				in, content := writeInput(t, dir, fmt.Sprintf("%c.avro", 'a'+i), blocks)
				inputs, rows = append(inputs, in), rows+content
			}
			o, jobs := options(t), new(atomic.Int64)
			o.Formats = format.Registry{slow{trevni.Format, jobs}}
			p, began := newPlan(t, 1<<30, inputs...), time.Now()
			out, results, err := run(t, p, o)
			testenv.Must(t, err)
			if n, took := jobs.Load(), int64(time.Since(began)/time.Second); n < 100 || took > n*5/8 {
				t.Errorf("%d small tasks: %d jobs of a second take two workers %d seconds", small, n, took)
			}
			if readRows(t, store.Local(), out, results) != rows {
				t.Errorf("%d small tasks: the rows differ", small)
			}
		})
	}
}
