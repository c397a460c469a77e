package cfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func openLone(t testing.TB, b []byte) format.Part {
	t.Helper()
	return formattest.MustOpen(t, Format, map[string][]byte{"": b}, smallBlocks)
}

// printColumn prints the values of a lone file's column as Kudu does.
func printColumn(t *testing.T, p format.Part) string {
	t.Helper()
	c, err := p.(format.ColumnPart).Cursor(0)
	testenv.Must(t, err)
	var out strings.Builder
	for {
		v := column.Vector{Encoded: true}
		n, _, err := c.Read(&v, 100)
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil || v.Encoded {
			t.Fatalf("%v, encoded %v", err, v.Encoded)
		}
		lengths := v.Lengths
		if lengths == nil {
			lengths = slices.Repeat([]int32{1}, n)
		}
		value := 0
		for _, length := range lengths {
			if length == 0 {
				out.WriteString("NULL\n")
				continue
			}
			switch p.Columns()[0].Type {
			case column.Boolean:
				fmt.Fprintln(&out, v.Bools[value])
			case column.Int:
				fmt.Fprintln(&out, v.Ints[value])
			case column.Long:
				fmt.Fprintln(&out, v.Longs[value])
			case column.Float:
				fmt.Fprintln(&out, v.Floats[value])
			case column.Double:
				fmt.Fprintln(&out, v.Doubles[value])
			case column.String:
				fmt.Fprintf(&out, "%q\n", v.Data[v.Offsets[value]:v.Offsets[value+1]])
			default:
				fmt.Fprintf(&out, "%x\n", v.Data[v.Offsets[value]:v.Offsets[value+1]])
			}
			value++
		}
	}
}

// The values of Kudu's files are those that Kudu prints, and the files are sound.
func TestLoneSamples(t *testing.T) {
	for name, b := range samples(t) {
		p := openLone(t, b)
		if err := p.Verify(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := ""
		if p.Rows() > 0 {
			want = string(sample(t, strings.TrimSuffix(name, ".cf")+".rows"))
		}
		if got := printColumn(t, p); got != want {
			t.Errorf("%s: %.200q, want %.200q", name, got, want)
		}
	}
}

// loneFile returns a file of values. If nulls is set, it is nullable with a null after each value.
func loneFile(t testing.TB, o Options, nulls bool, values []byte) []byte {
	t.Helper()
	var r Rows
	n := 0
	if w := o.Type.Width(); w > 0 {
		r.Fixed, n = values, len(values)/w
	} else {
		for _, b := range values {
			r.AppendBinary([]byte{b, b})
		}
		n = len(values)
	}
	if o.Nullable = nulls; nulls {
		r.Valid = bytes.Repeat([]byte{1, 0}, n)
	}
	o.Positional = !o.ValueIndex || o.Positional
	return write(t, o, &r)
}

// Values of each type are read correctly, and the column is the one of the schema.
func TestLoneTypes(t *testing.T) {
	numbers := func(width int) (b []byte) {
		for _, x := range []byte{0, 1, 0x7f, 0x80, 0xff} { // the highest byte
			b = append(append(b, bytes.Repeat([]byte{2}, width-1)...), x)
		}
		return b
	}
	for _, test := range []struct {
		typ    Type
		values []byte
		want   string
	}{
		{Bool, []byte{1, 0}, "true false"},
		{Int8, numbers(1), "0 1 127 -128 -1"},
		{Uint8, numbers(1), "0 1 127 128 255"},
		{Int16, numbers(2), "2 258 32514 -32766 -254"},
		{Uint16, numbers(2), "2 258 32514 32770 65282"},
		{Int32, numbers(4), "131586 16908802 2130838018 -2147352062 -16645630"},
		{Date, numbers(4), "131586 16908802 2130838018 -2147352062 -16645630"},
		{Decimal32, numbers(4), "131586 16908802 2130838018 -2147352062 -16645630"},
		{Uint32, numbers(4), "131586 16908802 2130838018 2147615234 4278321666"},
		{Int64, []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, "-9223372036854775808"},
		{Uint64, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "9223372036854775807"},
		{UnixtimeMicros, []byte{1, 0, 0, 0, 0, 0, 0, 0}, "1"},
		{Decimal64, []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "-2"},
		{Float, []byte{0, 0, 0x80, 0x3f}, "1"},
		{Double, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, "1"},
		{String, []byte("ab"), `"aa" "bb"`},
		{Varchar, []byte("ab"), `"aa" "bb"`},
		{Binary, []byte("ab"), "6161 6262"},
		{Int128, append(bytes.Repeat([]byte{1}, 15), 0x80), "80010101010101010101010101010101"},
		{Decimal128, append(bytes.Repeat([]byte{1}, 15), 0x80), "80010101010101010101010101010101"},
	} {
		for _, nulls := range []bool{false, true} {
			p := openLone(t, loneFile(t, Options{Type: test.typ}, nulls, test.values))
			got := strings.Fields(strings.ReplaceAll(printColumn(t, p), "NULL\n", ""))
			if err := p.Verify(t.Context(), nil); err != nil || strings.Join(got, " ") != test.want {
				t.Errorf("%v: %v, want %v, %v", test.typ, got, test.want, err)
			}
			want := formattest.Mapping(t, p.Schema()).Columns[0]
			if got := p.Columns()[0].Column; got.Name != want.Name || got.Type != want.Type || got.Array != want.Array || got.Optional != want.Optional ||
				got.Nullable != want.Nullable || got.Parent != want.Parent || got.FixedSize != want.FixedSize {
				t.Errorf("%v: %+v, want %+v", test.typ, got, want)
			}
		}
	}
	p := openLone(t, loneFile(t, Options{Type: Uint64}, false, bytes.Repeat([]byte{0xff}, 8)))
	c, err := p.(format.ColumnPart).Cursor(0)
	testenv.Must(t, err)
	var d *damage.Error
	if _, _, err := c.Read(new(column.Vector), 1); !errors.As(err, &d) || d.Kind != damage.Unsupported || !partDamage(err) {
		t.Errorf("a number that does not fit a long: %v", err)
	}
}

// A lone file's blocks are its data blocks. Without a positional index it has one block.
func TestLoneBlocks(t *testing.T) {
	values := make([]int64, 50)
	for i := range values {
		values[i] = int64(i * i)
	}
	for _, test := range []struct {
		order  string
		blocks int
	}{{"pv", 5}, {"p", 5}, {"v", 1}} {
		file := int64File(values, 10)
		file.order = test.order
		p := openLone(t, file.bytes(t))
		blocks, err := p.Blocks(0)
		if err != nil || len(blocks) != test.blocks {
			t.Fatalf("%s: %d blocks, %v", test.order, len(blocks), err)
		}
		row := int64(0)
		for _, b := range blocks {
			if b.FirstRow != row || b.StoredSize == 0 {
				t.Errorf("%s: %+v", test.order, b)
			}
			row += b.Rows
		}
		if row != 50 || p.Rows() != 50 || p.Unverified() {
			t.Errorf("%s: blocks of %d rows of %d, unverified %v", test.order, row, p.Rows(), p.Unverified())
		}
		if got := strings.Fields(printColumn(t, p)); len(got) != 50 || got[49] != "2401" {
			t.Errorf("%s: %q", test.order, got)
		}
	}
	file := int64File(values, 10)
	file.Incompatible = 0
	p := openLone(t, file.bytes(t))
	if err := p.Verify(t.Context(), nil); err != nil || !p.Unverified() {
		t.Errorf("without checksums: %v, unverified %v", err, p.Unverified())
	}
}
