package mapper

import (
	"errors"
	"strings"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
)

// wholeRows is the state of a task for a format that keeps rows whole. The shredder
// checks the rows and finds the fields of their keys. The columns are discarded.
type wholeRows struct {
	spec   *rowkey.Spec
	fields [][]byte
	key    []byte
}

var errSink = errors.New("mapper: rows that are sorted have no positions for a sink")

// openRows makes a shredder that finds the fields of the key.
func (t *task) openRows(w format.RowWriter) (err error) {
	if t.cfg.RowSink != nil {
		return errSink
	}
	r := new(wholeRows)
	if r.spec, err = rowkey.Parse(t.cfg.Mapping.Schema, strings.Join(w.Key(), ",")); err != nil {
		return err
	}
	r.fields = make([][]byte, len(r.spec.Paths()))
	t.shredder, err = shred.NewKeyShredder(t.cfg.Mapping, t.bufs, r.spec.Paths())
	t.whole = r
	return err
}

// wholeRow adds the row that was shredded to the row group, and finishes a full row group.
// last is as for row.
func (t *task) wholeRow(datum []byte, last *inputBlock) error {
	if len(t.bufs.Due()) > 0 {
		t.bufs.Reset()
	}
	g := t.group
	if err := g.admit(datum); err != nil {
		return err
	}
	if last != nil {
		last.releaseRows(&t.memory)
	}
	g.rows++
	t.stats.Rows++
	if g.rows < maxGroupRows && g.whole.Size() <= t.cfg.RowGroupSize {
		return nil
	}
	return t.emitGroup()
}

// admit adds a row to the row group.
func (g *group) admit(datum []byte) error {
	w := g.t.whole
	for i := range w.fields {
		w.fields[i] = g.t.shredder.Key(i)
	}
	key, ok := w.spec.Append(w.key[:0], w.fields)
	w.key = key
	before := g.whole.Size()
	var err error
	//guard: rejects a null key
	if !ok {
		err = damage.New(damage.Unsupported, "", -1, "the key %s is null", w.spec)
	} else {
		err = g.whole.Admit(key, datum)
	}
	if err != nil {
		return g.locateRow(err)
	}
	if g.t.sampled != nil {
		c := &g.t.sampled[0]
		c.Blocks, c.Data, c.Stored = 1, c.Data+int64(len(datum)), c.Stored+g.whole.Size()-before
		return nil
	}
	return g.t.sorter.Add(key, datum)
}

// finishRows writes the rows in the order of their keys and returns the outputs.
func (g *group) finishRows() ([]format.Output, error) {
	g.t.bufs.Reset()
	if g.t.sampled != nil {
		return nil, nil
	}
	if err := g.whole.Start(g.spill.Writer(0)); err != nil {
		return nil, err
	}
	if err := g.t.sorter.Each(g.t.workers.ctx, g.whole.Append); err != nil {
		return nil, err
	}
	return g.whole.Finish(g.rows)
}
