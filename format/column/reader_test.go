package column

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// oneBlock is the only block of a column.
type oneBlock struct {
	data  []byte
	items int64
	done  bool
}

func (b *oneBlock) Next(r *Reader) error {
	if b.done {
		return io.EOF
	}
	b.done = true
	r.Load(b.data, b.items)
	return nil
}

func (*oneBlock) Damaged(kind damage.Kind, pos int, reason string, args ...any) error {
	return damage.New(kind, "c", int64(pos), reason, args...)
}

func reader(c Column, items int64, data []byte) *Reader {
	return NewReader(c, true, &oneBlock{data: data, items: items})
}

// TestReaderRefuses reads blocks that contradict their column's shape or their number
// of items.
func TestReaderRefuses(t *testing.T) {
	value := func(r *Reader) error { _, err := r.Value(nil); return err }
	length := func(r *Reader) error { _, err := r.Length(); return err }
	skip := func(n int64) func(*Reader) error {
		return func(r *Reader) error { _, err := r.Skip(n); return err }
	}
	long := func(v int64) []byte { return binary.AppendVarint(nil, v) }
	tests := []struct {
		name  string
		typ   Type
		array bool
		items int64
		data  []byte
		do    func(*Reader) error
		want  damage.Kind
	}{
		{"a string of negative length", String, false, 1, []byte{1, 'x'}, value, damage.Value},
		{"a string beyond the block", String, false, 1, []byte{8, 'x'}, value, damage.Value},
		{"a string of 2^40 bytes", Bytes, false, 1, long(1 << 40), value, damage.Value},
		{"an int of more than 32 bits", Int, false, 1, long(math.MaxInt32 + 1), value, damage.Value},
		{"an int below 32 bits", Int, false, 1, long(math.MinInt32 - 1), value, damage.Value},
		{"an int of more than 5 bytes", Int, false, 1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, value, damage.Value},
		{"a repeat of three of two lengths", Null, true, 2, []byte{5}, length, damage.Count},
		{"a length of more than 32 bits", Null, true, 1, long(math.MaxInt32 + 1), length, damage.Value},
		{"half a double, skipped", Double, false, 2, make([]byte, 12), skip(2), damage.Value},
		{"half a sequence of floats, skipped", Float, true, 1, append(long(2), 0, 0, 0, 0), skip(1), damage.Value},
		{"twenty booleans in a byte, skipped", Boolean, false, 20, make([]byte, 1), skip(20), damage.Value},
		{"an int of more than 5 bytes, skipped", Int, false, 16, append([]byte{2, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, make([]byte, 16)...), skip(16), damage.Value},
		{"an int of more than 32 bits, skipped", Int, false, 16, append(long(math.MaxInt32+1), make([]byte, 16)...), skip(16), damage.Value},
		{"a long of more than 64 bits, skipped", Long, false, 16, append(bytes.Repeat([]byte{0xff}, 10), make([]byte, 16)...), skip(16), damage.Value},
		{"a string beyond the block, skipped", String, true, 1, []byte{2, 8, 'x'}, skip(1), damage.Value},
		{"an extra value", Int, false, 1, []byte{2, 2}, func(r *Reader) error {
			return errors.Join(value(r), r.EndBlock())
		}, damage.Count},
		{"a repeat that is left over", Null, true, 2, []byte{1}, func(r *Reader) error {
			return errors.Join(length(r), r.EndBlock())
		}, damage.Count},
	}
	for _, test := range tests {
		r := reader(Column{Name: "c", Type: test.typ, Array: test.array, Parent: -1}, test.items, test.data)
		err := test.do(r)
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != test.want {
			t.Errorf("%s: %v, want damage of the kind %s", test.name, err, test.want)
		}
		if again := value(r); !errors.Is(again, d) {
			t.Errorf("%s: then %v", test.name, again)
		}
	}
}

// Versions before 2 of the format have no repeats.
func TestReaderWithoutRepeats(t *testing.T) {
	r := NewReader(Column{Type: Null, Array: true}, false, &oneBlock{data: []byte{2, 5}, items: 4})
	if n, err := r.Length(); n != 1 || err != nil {
		t.Errorf("a length: %d, %v", n, err)
	}
	var d *damage.Error
	if _, err := r.Length(); !errors.As(err, &d) || d.Kind != damage.Value {
		t.Errorf("a repeat: %v", err)
	}
	r = NewReader(Column{Type: Null, Array: true}, false, &oneBlock{data: []byte{2, 1}, items: 3})
	if n, err := r.Skip(3); !errors.As(err, &d) || d.Kind != damage.Value {
		t.Errorf("a repeat is skipped: %d, %v", n, err)
	}
}

func TestValuesStayInTheirSequence(t *testing.T) {
	r := reader(Column{Type: Int, Array: true}, 2, []byte{2, 10, 2, 12})
	if n, err := r.Length(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := r.Values(nil, 2); !errors.Is(err, ErrNoValue) {
		t.Errorf("two values of a sequence of one: %v", err)
	}
	if v, err := r.Values(nil, 1); !bytes.Equal(v, []byte{10}) || err != nil {
		t.Errorf("its value: % x, %v", v, err)
	}
}

// The size of a vector is bounded, even if a few bytes encode many values.
func TestVectorsAreBounded(t *testing.T) {
	const many = 2 * maxVector
	full, err := budget.Pages(maxVectorBytes) // never touched
	testenv.Must(t, err)
	defer func() {
		if err := budget.ReleasePages(full); err != nil {
			t.Error(err)
		}
	}()
	bools := make([]bool, maxVector, maxVector+8) // never touched
	tests := []struct {
		name string
		r    *Reader
		v    Vector
		n    int
	}{
		{"lengths", reader(Column{Type: Null, Array: true}, many, binary.AppendVarint(nil, 3-2*many)), Vector{}, many},
		{"values", reader(Column{Type: Boolean}, 1, []byte{1}), Vector{Bools: bools, Values: maxVector}, 1},
		{"values of one sequence", reader(Column{Type: Boolean, Array: true}, 1, []byte{4, 1}), Vector{Bools: bools[1:], Values: maxVector - 1}, 1},
		{"bytes", reader(Column{Type: Bytes}, 1, []byte{2, 'x'}), Vector{Offsets: []int32{0, maxVectorBytes}, Data: full, Values: 1}, 1},
	}
	for _, test := range tests {
		if _, _, err := test.r.Read(&test.v, test.n); !errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Blocks with more than 2^63 items in all take gigabytes of repeats, so this tests
// only the sum.
func TestSumOfLengths(t *testing.T) {
	r := reader(Column{Type: Null, Array: true}, 4, []byte{7}) // four ones
	if n, err := r.Length(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if sum, err := r.addLengths(math.MaxInt64-3, 3); sum != math.MaxInt64 || err != nil {
		t.Errorf("%d, %v", sum, err)
	}
	if sum, err := r.addLengths(math.MaxInt64-2, 3); err == nil {
		t.Errorf("a sum of %d", sum)
	}
}
