package parquet

import "github.com/rowtocol/rowtocol/format/column"

// valueError is the damage of a value that a file cannot hold.
type valueError struct {
	value int // number of the value in the block
	err   error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// inPage returns err with the number of a value in the page p as its number in the block.
func (s *scratch) inPage(err error, p *page) error {
	if v, ok := err.(*valueError); ok {
		for i := 0; &s.pages[i] != p; i++ {
			v.value += s.pages[i].values
		}
	}
	return err
}

// rowOf returns the number in the row group of the row of a value of the block.
func (j *encodeJob) rowOf(value int) int64 {
	l, row := j.c.leaf, j.block.FirstRow
	if l.def == 0 && l.rep == 0 {
		return row + int64(value)
	}
	row-- // until the first row begins
	for _, word := range j.block.Lengths {
		rep, def, n := column.LevelRun(word)
		if def == l.def {
			if value < n {
				n = value + 1
			}
			value -= n
		}
		if rep == 0 {
			row += int64(n)
		}
		if value < 0 {
			break
		}
	}
	return row
}
