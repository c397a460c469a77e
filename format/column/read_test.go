package column

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// blocks are the blocks of a column, each in new memory.
type blocks struct {
	oneBlock
	all     [][]byte
	items   []int64
	counted bool
	last    []byte
}

func (b *blocks) Next(r *Reader) error {
	for i := range b.last {
		b.last[i] = 0xff // a later read of the last block is a bug
	}
	if len(b.all) == 0 {
		return io.EOF
	}
	items := b.items[0]
	if !b.counted {
		items = Uncounted
	}
	b.last = slices.Clone(b.all[0])
	b.all, b.items = b.all[1:], b.items[1:]
	r.Load(b.last, items)
	return nil
}

// fillColumn appends the values of a column for a row, or for an item of its parent.
func fillColumn(r *rand.Rand, c Column, buf *Buffer) {
	n := 1
	if c.Array {
		n = [...]int{0, 1, 1, 0, 2, 5, 300}[r.IntN(7)]
		if c.Optional {
			n = min(n, 1)
		}
		buf.Length(uint32(n))
	}
	for range n {
		switch c.Type {
		case Null:
		case Boolean:
			buf.AppendBool(r.IntN(2) == 0)
		case Int:
			buf.AppendVarint(int64(int32(r.Uint32()) >> r.IntN(32)))
		case Long:
			buf.AppendVarint(int64(r.Uint64()) >> r.IntN(64))
		case Fixed32, Float:
			buf.Append(binary.LittleEndian.AppendUint32(nil, r.Uint32()&^(0x7f<<24)))
		case Fixed64, Double:
			buf.Append(binary.LittleEndian.AppendUint64(nil, r.Uint64()&^(0x7ff<<52)))
		default:
			buf.AppendSized(make([]byte, [...]int{0, 3, 15, 16, 17, 63, 64, 200, 9000}[r.IntN(9)]))
		}
	}
}

// stored has the encoded values of a row or an item.
type stored []string

// takeAll returns the rows or items of a vector.
func takeAll(c Column, v *Vector) (all []stored) {
	value := 0
	take := func() string {
		i := value
		value++
		switch {
		case c.Type == Null:
			return ""
		case c.Type == Boolean:
			return fmt.Sprint(v.Bools[i])
		case v.Encoded:
			return string(v.Data[v.Offsets[2*i]:v.Offsets[2*i+1]])
		case c.Type == Int:
			return string(binary.AppendVarint(nil, int64(v.Ints[i])))
		case c.Type == Long:
			return string(binary.AppendVarint(nil, v.Longs[i]))
		case c.Type == Fixed32:
			return string(binary.LittleEndian.AppendUint32(nil, uint32(v.Ints[i])))
		case c.Type == Fixed64:
			return string(binary.LittleEndian.AppendUint64(nil, uint64(v.Longs[i])))
		case c.Type == Float:
			return string(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v.Floats[i])))
		case c.Type == Double:
			return string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Doubles[i])))
		}
		s := v.Data[v.Offsets[i]:v.Offsets[i+1]]
		return string(binary.AppendVarint(nil, int64(len(s)))) + string(s)
	}
	lengths := v.Lengths
	if !c.Array {
		lengths = slices.Repeat([]int32{1}, v.Values)
	}
	for _, n := range lengths {
		s := stored{}
		for range n {
			s = append(s, take())
		}
		all = append(all, s)
	}
	return all
}

// readByOnes reads a column with Length and Value.
func readByOnes(t *testing.T, c Column, r *Reader) (all []stored) {
	t.Helper()
	for {
		n, s := 1, stored{}
		var err error
		if c.Array {
			n, err = r.Length()
		}
		for ; n > 0 && err == nil; n-- {
			var v []byte
			if v, err = r.Value(nil); err == nil && c.Type == Boolean {
				v = fmt.Append(nil, v[0] == 1)
			}
			s = append(s, string(v))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		testenv.Must(t, err)
		all = append(all, s)
	}
}

// Read returns the same values as Length and Value for any block, with or without a
// number of items, decoded or encoded, and after any Skip.
func TestReadIsLengthsAndValues(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := Column{Name: "c", Parent: -1, Type: []Type{Null, Boolean, Int, Long, Fixed32, Fixed64, Float, Double, String, Bytes}[r.IntN(10)], Array: r.IntN(2) == 0}
		c.Optional = c.Array && r.IntN(2) == 0
		bufs := NewBuffers([]Column{c}, Interleaved, 1<<20)
		src := blocks{counted: c.Type == Null || c.Type == Boolean && !c.Array || r.IntN(2) == 0}
		rows := int64(0)
		for range r.IntN(5) {
			n := 1 + r.IntN(100)
			for range n {
				fillColumn(r, c, &bufs.Cols[0])
			}
			var b Block
			rows += int64(n)
			bufs.Cols[0].Finish(rows, &b)
			src.all, src.items = append(src.all, slices.Clone(b.Data)), append(src.items, int64(n))
		}
		again := src
		want := readByOnes(t, c, NewReader(c, true, &again))
		for _, encoded := range []bool{false, true} {
			again := src
			in := NewReader(c, true, &again)
			var got []stored
			for {
				if r.IntN(3) == 0 {
					skipped := want[len(got):min(len(got)+r.IntN(50), len(want))]
					wantItems := int64(0)
					for _, s := range skipped {
						wantItems += int64(len(s))
					}
					if items, err := in.Skip(int64(len(skipped))); items != wantItems || err != nil {
						t.Fatalf("seed %d, %+v: Skip of %d: %d items, want %d: %v", seed, c, len(skipped), items, wantItems, err)
					}
					got = append(got, skipped...)
				}
				v := Vector{Encoded: encoded && c.Type != Null && c.Type != Boolean}
				read, items, err := in.Read(&v, 1+r.IntN(50))
				if errors.Is(err, io.EOF) {
					break
				}
				if all := takeAll(c, &v); err != nil || len(all) != read || read == 0 || items != v.Values {
					t.Fatalf("seed %d, %+v: %d of %d items read, %d in the vector: %v", seed, c, read, items, len(all), err)
				} else {
					got = append(got, all...)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %+v, counted %v, encoded %v: %d rows, want %d:\n%q\n%q", seed, c, src.counted, encoded, len(got), len(want), got, want)
			}
		}
	}
}

// The values before damage are read. The call that would begin with it returns it.
func TestReadUpToDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		col  Column
		data []byte
		rows int // before the damage
	}{
		{"ints", Column{Type: Int}, []byte{2, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 2},
		{"strings", Column{Type: String}, []byte{2, 'a', 0, 9}, 2},
		{"optional", Column{Type: Int, Array: true, Optional: true}, []byte{2, 2, 0, 2}, 2},
		{"many optional ints", Column{Type: Int, Array: true, Optional: true}, append(make([]byte, 20), 2, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0), 20},
		{"a repeat of ones", Column{Type: Int, Array: true, Optional: true}, []byte{7, 2, 4}, 2},
		{"lists", Column{Type: Long, Array: true}, []byte{4, 2, 4, 6, 2, 4}, 1},
		{"lists of booleans", Column{Type: Boolean, Array: true}, []byte{4, 3, 18, 1}, 1},
		{"a length", Column{Type: Long, Array: true}, []byte{2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, encoded := range []bool{false, true} {
				in := reader(c.col, Uncounted, c.data)
				if c.col.Array {
					in = reader(c.col, 100, c.data)
				}
				rows := 0
				for {
					v := Vector{Encoded: encoded && c.col.Type != Boolean}
					read, _, err := in.Read(&v, 100)
					if err == nil {
						if rows += read; len(takeAll(c.col, &v)) != read {
							t.Fatalf("%d read, vector %+v", read, v)
						}
						continue
					}
					if d := (*damage.Error)(nil); !errors.As(err, &d) || read != 0 || rows != c.rows {
						t.Errorf("%v after %d rows, want damage after %d", err, rows, c.rows)
					}
					break
				}
			}
		})
	}
}

// Read keeps to the lengths of a block and to the limit of a vector, for optional values of any type.
func TestReadOptionalKeepsToLimits(t *testing.T) {
	for _, typ := range []Type{Int, Long, Fixed32, Double, String} {
		value := make([]byte, max(fixedSize(typ), 1))
		data := bytes.Repeat(append([]byte{2}, value...), 200)
		c := Column{Type: typ, Array: true, Optional: true}
		for _, limit := range []int{0, 10, 40} {
			in, rows := reader(c, 50, data), 0
			v := Vector{Limit: limit}
			for {
				read, _, err := in.Read(&v, 500-rows)
				if rows += read; err != nil {
					break
				}
			}
			if want := cmp.Or(limit, 50); rows != want || v.Values != want {
				t.Errorf("%v, limit %d: %d rows with %d values, want %d", typ, limit, rows, v.Values, want)
			}
		}
	}
}
