package arrow

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/rowtocol/rowtocol/format/damage"
)

// union is a union with several types besides null.
type union struct {
	branches []branch
	null     int // index of null, or -1
}

type branch struct {
	maker
	lengths int // column
}

// choices returns the branch of each of n values, and the number of values of each branch
// except null.
func (u *union) choices(b *batch, n int) (chosen []int32, values []int, err error) {
	chosen, values = b.scratch.take(n), make([]int, len(u.branches))
	for i := range chosen {
		chosen[i] = int32(u.null)
	}
	left := n
	for i, branch := range u.branches {
		if i == u.null {
			continue
		}
		var lengths []int32
		lengths, values[i] = b.branch(branch.lengths)
		for j, l := range lengths {
			if l == 0 {
				continue
			}
			//guard: rejects a union with two values
			if chosen[j] != int32(u.null) {
				return nil, nil, b.damaged(branch.lengths, damage.Count, "a second branch of one union: column %s has a value too",
					b.columns[u.branches[chosen[j]].lengths].Name)
			}
			chosen[j] = int32(i)
		}
		left -= values[i]
	}
	//guard: rejects null in a union without null
	if left > 0 && u.null < 0 {
		last := u.branches[len(u.branches)-1]
		return nil, nil, b.damaged(last.lengths, damage.Count, "no branch of a union without null has a value")
	}
	return chosen, values, nil
}

// denseUnion makes unions whose branches hold only their own values.
type denseUnion struct {
	union
	dataType arrow.DataType
}

func (m *denseUnion) typ() arrow.DataType { return m.dataType }

// data fills absent slots with nulls of the null branch, or else of the first branch, because
// a dense union has no validity bitmap.
func (m *denseUnion) data(b *batch, s slots) (arrow.ArrayData, error) {
	chosen, values, err := m.choices(b, s.values)
	if err != nil {
		return nil, err
	}
	home := max(m.null, 0)
	codes, offsets := newBuffer(b.mem, s.n), newBuffer(b.mem, 4*s.n)
	begin, next := arrow.GetData[int32](offsets.Bytes()), make([]int32, len(m.branches))
	filled := b.scratch.take(s.n)[:0] // per place of branch home, 1 if it has a value
	j := 0
	for i := range s.n {
		branch, real := home, int32(0)
		if s.present == nil || s.present[i] != 0 {
			branch, real = int(chosen[j]), 1
			j++
		}
		if branch == home {
			filled = append(filled, real)
		}
		codes.Bytes()[i], begin[i] = byte(branch), next[branch]
		next[branch]++
	}
	children := make([]arrow.ArrayData, 0, len(m.branches))
	for i, branch := range m.branches {
		inner := slots{n: int(next[i]), values: values[i], nulls: true}
		inner.around = func(at int) int {
			for k, code := range codes.Bytes() {
				if int(code) == i && int(begin[k]) == at {
					return s.row(k)
				}
			}
			return -1
		}
		if i == home && inner.values < inner.n {
			inner.present = filled
		}
		child, err := branch.data(b, inner)
		if err != nil {
			codes.Release()
			offsets.Release()
			release(children)
			return nil, err
		}
		children = append(children, child)
	}
	d := array.NewData(m.dataType, s.n, []*memory.Buffer{nil, codes, offsets}, children, 0, 0)
	codes.Release()
	offsets.Release()
	release(children)
	return d, nil
}

// unionStruct makes structs with at most one field that is not null.
type unionStruct struct {
	union
	dataType arrow.DataType
}

func (m *unionStruct) typ() arrow.DataType { return m.dataType }

func (m *unionStruct) data(b *batch, s slots) (arrow.ArrayData, error) {
	chosen, values, err := m.choices(b, s.values)
	if err != nil {
		return nil, err
	}
	some, total := b.scratch.take(s.values), 0
	for j, i := range chosen {
		some[j] = 1
		if int(i) == m.null {
			some[j] = 0
		}
		total += int(some[j])
	}
	var fields []arrow.ArrayData
	for i, branch := range m.branches {
		if i == m.null {
			continue
		}
		field, err := branch.data(b, s.where(b.Vector(branch.lengths).Lengths, values[i], &b.scratch))
		if err != nil {
			release(fields)
			return nil, err
		}
		fields = append(fields, field)
	}
	if m.null >= 0 {
		s = s.where(some, total, &b.scratch)
	}
	return b.newData(m.dataType, s, fields), nil
}
