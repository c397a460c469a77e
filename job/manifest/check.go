package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// check refuses a document that contradicts itself.
func (s *Success) check() error {
	//guard: bounds the number of an output
	if s.Sequence < 0 || s.Sequence > MaxSequence {
		return fmt.Errorf("it is the output number %d", s.Sequence)
	}
	for _, in := range s.Request.Inputs {
		//guard: rejects an input that cannot be compared with a file
		if in.CRC32C == nil {
			return fmt.Errorf("input %s has no checksum of its bytes", in.Path)
		}
	}
	if err := checkCounts(s.Parts, s.Entries()); err != nil {
		return err
	}
	if err := s.checkParts(); err != nil {
		return err
	}
	if err := s.checkIndex(); err != nil {
		return err
	}
	return s.checkLosses()
}

// checkParts checks the order of the parts, and compares the sums of their rows and bytes with
// those of the document.
func (s *Success) checkParts() error {
	var rows, bytes int64
	for i := range s.Parts {
		p := &s.Parts[i]
		//guard: rejects parts out of order
		if i > 0 && cmp.Or(cmp.Compare(s.Parts[i-1].Task, p.Task), cmp.Compare(s.Parts[i-1].RowGroup, p.RowGroup)) >= 0 {
			return fmt.Errorf("row group %d of task %d follows row group %d of task %d", p.RowGroup, p.Task, s.Parts[i-1].RowGroup, s.Parts[i-1].Task)
		}
		//guard: rejects a part with the name of another
		if m := parsePart(p.Files[0].Name); number(m[1]) != p.Task || number(m[2]) != p.RowGroup {
			return fmt.Errorf("%q is listed as row group %d of task %d", p.Files[0].Name, p.RowGroup, p.Task)
		}
		//guard: rejects a sum of rows beyond 64 bits
		if p.Rows > math.MaxInt64-rows {
			return errors.New("the parts have more rows than can be counted")
		}
		rows += p.Rows
		for _, f := range p.Files {
			//guard: rejects a sum of bytes beyond 64 bits
			if f.Bytes > math.MaxInt64-bytes {
				return errors.New("the parts have more bytes than can be counted")
			}
			bytes += f.Bytes
		}
	}
	//guard: rejects another number of rows than the parts have
	if rows != s.Rows {
		return fmt.Errorf("the parts have %d rows, and the document says %d", rows, s.Rows)
	}
	//guard: rejects another number of bytes than the files have
	if bytes != s.Bytes {
		return fmt.Errorf("the parts have %d bytes, and the document says %d", bytes, s.Bytes)
	}
	//guard: rejects a document without parts
	if len(s.Parts) == 0 && s.Schema != "" {
		return errors.New("there is a schema, but no part that shows its columns")
	}
	return nil
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// checkLosses refuses losses that are not of the inputs.
func (s *Success) checkLosses() error {
	if len(s.Losses) == 0 {
		return nil
	}
	sizes := make(map[string]int64, len(s.Request.Inputs))
	for _, in := range s.Request.Inputs {
		sizes[in.Path] = in.Size
	}
	//guard: rejects losses in an output that allows none
	if len(s.Losses) > 0 && s.Request.Options.OnDamage == "fail" {
		return fmt.Errorf("%d losses are listed that the options do not allow", len(s.Losses))
	}
	for _, l := range s.Losses {
		size, ok := sizes[l.Input]
		//guard: rejects a loss outside its file
		if !ok || l.Start < 0 || l.End < l.Start || l.End > size || l.Rows < -1 {
			return fmt.Errorf("a loss of %d rows in the bytes %d to %d of %s is not of an input", l.Rows, l.Start, l.End, l.Input)
		}
		//guard: rejects a quarantined copy of another size
		if q := l.Quarantine; q != nil && q.Bytes != l.End-l.Start {
			return fmt.Errorf("%q has %d bytes of the %d that were lost", q.Name, q.Bytes, l.End-l.Start)
		}
	}
	return nil
}
