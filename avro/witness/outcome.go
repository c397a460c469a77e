package witness

import (
	"context"
	"errors"
	"fmt"
)

// outcome is the result of comparing a block.
type outcome struct {
	in   *reading
	err  error // ends the comparison
	last bool  // there was no block: the input ended

	row, rows int64 // number of the first row of the block in the input, and its number of rows
	have      int64 // number of these rows that the columns have
	columns   int64 // number of all rows that the columns have up to this block

	compared, byGoavro, byHamba int64
	different                   int64
	first                       []Difference
	notCompared                 NotCompared
	own                         bool  // goavro's container reader failed
	lost                        error // why the rows from lostAt on are not compared
	lostAt                      int64
	want, got                   rowSet
	by                          string
	mixed                       bool
}

// check compares a row. It returns an error if the row could not be compared. datum is nil if the
// columns lack the row.
func (o *outcome) check(c *Options, row int64, want any, datum []byte, by decoder) error {
	d := o.noRow(row)
	if datum != nil {
		if c.ValidText {
			valid, distinct := validText(want)
			//guard: does not take keys that become the same for damage
			if !distinct {
				return fmt.Errorf("after the replacement of bytes that are not UTF-8: %w", errDuplicateKey)
			}
			want = valid
		}
		got, rest, err := by.columns(datum)
		if errors.Is(err, errUnable) {
			return fmt.Errorf("the row of the columns: %s: %w", by.name(), err)
		}
		switch {
		case err != nil:
			d.Got = fmt.Sprintf("a row that %s cannot decode: %v", by.name(), err)
		case len(rest) != 0:
			d.Got = fmt.Sprintf("a row and %d bytes more", len(rest))
		case c.AnyOrder:
			o.tally(want, got, by)
			d = Difference{}
		default:
			path, w, g, same := differ("", want, got)
			if d = (Difference{Input: o.in.Name, Row: row, Path: path, Want: render(w), Got: render(g)}); same {
				d = Difference{}
			}
		}
	}
	o.compared++
	if by.name() == goavroName {
		o.byGoavro++
	} else {
		o.byHamba++
	}
	if d != (Difference{}) {
		o.differs(d)
	}
	return nil
}

// noRow returns the difference for a row that the columns lack.
func (o *outcome) noRow(row int64) Difference {
	return Difference{Input: o.in.Name, Row: row, Want: "a row", Got: fmt.Sprintf("no more rows after %d", o.columns)}
}

func (o *outcome) differs(d Difference) {
	o.different++
	if len(o.first) < listed {
		o.first = append(o.first, d)
	}
}

// skip counts a row as not compared.
func (o *outcome) skip(row int64, reason error) {
	if o.notCompared.Rows == 0 {
		o.notCompared = NotCompared{Input: o.in.Name, Row: row, Reason: reason.Error()}
	}
	o.notCompared.Rows++
}

// finish adds an outcome to the result, after all outcomes with lower numbers.
func (r *results) finish(number int64, o *outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[number] = o
	for r.err == nil {
		next, ok := r.waiting[r.merged]
		if !ok {
			break
		}
		delete(r.waiting, r.merged)
		r.merged++
		if r.err = next.err; r.err == nil {
			r.merge(next)
		}
	}
	r.changed.Broadcast()
}

// merge adds the next outcome. r.mu is held.
func (r *results) merge(o *outcome) {
	in := o.in
	switch {
	case o.last:
		r.mergeEnd(in)
	case in.lost != nil:
		r.lose(o, o.row, in.lost)
	default:
		r.Compared += o.compared
		r.ByGoavro += o.byGoavro
		r.ByHamba += o.byHamba
		r.Different += o.different
		r.First = append(r.First, o.first[:min(len(o.first), listed-len(r.First))]...)
		r.notCompared(o.notCompared)
		r.addTally(o)
		if o.own {
			r.countOwn(in)
		}
		if o.lost != nil {
			in.lost, in.lostBytes = o.lost, true
			r.lose(o, o.lostAt, o.lost)
		}
	}
}

// mergeEnd adds what is known at the end of an input.
func (r *results) mergeEnd(in *reading) {
	if in.lostBytes {
		r.notCompared(NotCompared{Input: in.Name, Row: in.row, Rows: 1, Reason: in.lost.Error()})
	}
	if in.missing >= 0 {
		r.differs(Difference{Input: in.Name, Row: in.missing, Want: fmt.Sprintf("%d rows more", in.row-in.missing), Got: "none"})
	}
}

// lose counts the rows of a block from a row on as not compared. The columns must still have as
// many rows.
func (r *results) lose(o *outcome, from int64, reason error) {
	n := NotCompared{Input: o.in.Name, Row: from, Rows: o.row + o.rows - from, Reason: reason.Error()}
	r.notCompared(n)
	o.in.lostBytes = o.in.lostBytes && n.Rows == 0
	if o.have < o.rows && o.in.missing < 0 {
		o.in.missing = max(from, o.row+o.have)
	}
}

// countOwn counts an input whose container goavro does not read. r.mu is held.
func (r *results) countOwn(in *reading) {
	if !in.own {
		in.own = true
		r.OwnBlocks++
	}
}

// notCompared adds rows that were not compared.
func (r *results) notCompared(n NotCompared) {
	if i := len(r.NotCompared) - 1; i >= 0 && r.NotCompared[i].Input == n.Input {
		r.NotCompared[i].Rows += n.Rows
	} else if n.Rows > 0 {
		r.NotCompared = append(r.NotCompared, n)
	}
}

func (r *results) differs(d Difference) {
	r.Different++
	if len(r.First) < listed {
		r.First = append(r.First, d)
	}
}

// end checks that the columns have no rows after the rows of the inputs.
func (c *comparer) end(ctx context.Context) error {
	first := c.row
	var buf []byte
	for !c.ended {
		if c.row%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		if buf, _, err = c.nextRow(buf[:0]); err != nil {
			return err
		}
	}
	if extra := c.row - first; extra > 0 {
		c.Different += extra - 1
		c.differs(Difference{Row: first, Want: "no row", Got: fmt.Sprintf("%d rows more", extra)})
	}
	if c.AnyOrder {
		c.endTally()
	}
	return nil
}
