package trevni

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestRoundTrip(t *testing.T) {
	for _, codec := range codecNames {
		for _, sum := range []string{ChecksumNull, ChecksumJava, ChecksumSpec} {
			t.Run(codec+" "+sum, func(t *testing.T) {
				s := newSampler(7)
				const rows = 500
				b := sampleFile(t, s, rows, 40, Options{Codec: codec, Checksum: sum, Values: []string{"i", "s"}})
				f := openBytes(t, b)
				testenv.Must(t, f.Verify(context.Background()))
				if f.RowCount() != rows || f.Version() != 2 || f.Unverified() || f.Schema() == "" {
					t.Errorf("rows %d, version %d, unverified %v, schema %q", f.RowCount(), f.Version(), f.Unverified(), f.Schema())
				}
				r := newReader(t, f)
				r.rows(t, rows)
				if !reflect.DeepEqual(r.got, s.want) {
					t.Errorf("got %v, expected %v", r.got, s.want)
				}
				for i, c := range r.curs {
					col := f.Columns()[i]
					if col.Codec != codec || col.Checksum != sum {
						t.Errorf("column %s: codec %s, checksum %s", col.Name, col.Codec, col.Checksum)
					}
					if col.Parent >= 0 && !col.Array && col.Type == column.Null {
						continue // the column stores nothing
					}
					_, err := c.Value(nil)
					if col.Array {
						_, err = c.Length()
					}
					if !errors.Is(err, io.EOF) {
						t.Errorf("column %s: after the last value: %v", col.Name, err)
					}
				}
				if err := f.Dump(io.Discard); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestSeekValue(t *testing.T) {
	s := newSampler(5)
	const rows = 300
	f := openBytes(t, sampleFile(t, s, rows, 20, Options{Values: []string{"i"}}))
	c, err := f.Cursor(2)
	testenv.Must(t, err)
	for v := int64(-1); v <= rows/3; v++ {
		want := min(max(3*v, 0), rows) // row/3 is the value
		got, err := c.SeekValue(binary.AppendVarint(nil, v))
		if err != nil || got != want {
			t.Fatalf("seek to %d: row %d, %v, expected %d", v, got, err, want)
		}
		b, err := c.Value(nil)
		if want == rows {
			if !errors.Is(err, io.EOF) {
				t.Fatalf("after the last value: %v", err)
			}
			continue
		}
		if n, _ := binary.Varint(b); err != nil || n != max(v, 0) {
			t.Fatalf("seek to %d: value %d, %v", v, n, err)
		}
	}
	other, err := f.Cursor(3)
	testenv.Must(t, err)
	if _, err := other.SeekValue([]byte{0}); err == nil {
		t.Error("a column without an index was searched")
	}
	if _, err := c.SeekValue([]byte{0x80}); err == nil {
		t.Error("half a varint was searched for")
	}
}

func TestCompareValues(t *testing.T) {
	float := func(f float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(f)) }
	double := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	str := func(s string) []byte { return appendBytes(nil, s) }
	ascending := []struct {
		typ    column.Type
		values [][]byte
	}{
		{column.Boolean, [][]byte{{0}, {1}}},
		{column.Long, [][]byte{binary.AppendVarint(nil, -300), {1}, {0}, binary.AppendVarint(nil, 300)}},
		{column.Fixed32, [][]byte{{0, 0, 0, 0xff}, {1, 0, 0, 0}, {0, 1, 0, 0}}},
		{column.Fixed64, [][]byte{{0, 0, 0, 0, 0, 0, 0, 0xff}, {1, 0, 0, 0, 0, 0, 0, 0}}},
		{column.Float, [][]byte{float(-1), float(0), float(2), float(float32(math.Inf(1))), float(float32(math.NaN()))}},
		{column.Double, [][]byte{double(math.Inf(-1)), double(0), double(2), double(math.NaN())}},
		{column.String, [][]byte{str(""), str("a"), str("ab"), str("b"), str("\xff")}},
	}
	for _, a := range ascending {
		for i := range a.values {
			for j := range a.values {
				got := compareValues(a.typ, a.values[i], a.values[j])
				if (got < 0) != (i < j) || (got > 0) != (i > j) {
					t.Errorf("%s: % x against % x: %d", a.typ, a.values[i], a.values[j], got)
				}
			}
		}
	}
}

// The blocks of each column end at the first row with 64 KiB of data. A pending repeat
// does not count.
func TestWriterCutsBlocks(t *testing.T) {
	cols := []column.Column{{Name: "s", Type: column.Bytes, Parent: -1}, {Name: "n", Type: column.Null, Array: true, Parent: -1}}
	value := make([]byte, 1000-2) // with its length, 1000 bytes
	f := openBytes(t, write(t, "", cols, Options{Codec: "null"}, 150, func(w *Writer, _ int) {
		w.Column(0).AppendSized(value)
		w.Column(1).Length(1)
	}))
	for col, want := range [][]int64{{66, 66, 18}, {150}} {
		blocks, err := f.Blocks(col)
		testenv.Must(t, err)
		var got []int64
		for _, b := range blocks {
			got = append(got, b.Rows)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("column %d: blocks of %v rows, expected %v", col, got, want)
		}
	}
}

func TestNoRowsNoColumns(t *testing.T) {
	for _, cols := range [][]column.Column{nil, sampleColumns()} {
		f := openBytes(t, write(t, "", cols, Options{}, 0, nil))
		if err := f.Verify(context.Background()); err != nil {
			t.Error(err)
		}
		if f.RowCount() != 0 || len(f.Columns()) != len(cols) {
			t.Errorf("%d rows, %d columns", f.RowCount(), len(f.Columns()))
		}
	}
}

func TestWriterFailsForGood(t *testing.T) {
	w, err := NewWriter(brokenWriter{}, "", sampleColumns()[:1], Options{})
	testenv.Must(t, err)
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v", err)
	}
	if err := w.EndRow(); !errors.Is(err, errDisk) {
		t.Errorf("EndRow after a failed Close: %v", err)
	}
}

// If a block cannot be encoded, the file must not be completed without it.
func TestWriterKeepsTheFirstError(t *testing.T) {
	var out bytes.Buffer
	cols := []column.Column{{Name: "a", Type: column.Long, Parent: -1}}
	w, err := NewWriter(&out, "", cols, Options{Values: []string{"a"}})
	testenv.Must(t, err)
	w.Column(0).Append(bytes.Repeat([]byte{0x80}, BlockSize)) // not a value, as the index detects
	first := w.EndRow()
	if first == nil {
		t.Fatal("a varint without an end was written")
	}
	w.Column(0).Append(make([]byte, BlockSize))
	if err := w.EndRow(); !errors.Is(err, first) {
		t.Errorf("EndRow after a failed block: %v", err)
	}
	if err := w.Close(); !errors.Is(err, first) || out.Len() > 0 {
		t.Errorf("Close after a failed block: %v, %d bytes written", err, out.Len())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errDisk }

func TestOptionsValidate(t *testing.T) {
	cols := sampleColumns()
	tests := []struct {
		o    Options
		want string // part of the error, empty for none
	}{
		{Options{}, ""},
		{Options{Codec: "bzip2", Checksum: "crc-32", ColumnCodecs: map[string]string{"s": "null"}, Values: []string{"s", "d"}}, ""},
		{Options{Codec: "lzo"}, "lzo"},
		{Options{Checksum: "md5"}, "md5"},
		{Options{ColumnCodecs: map[string]string{"nope": "null"}}, "--codec nope=null: there is no such column; the columns are "},
		{Options{ColumnCodecs: map[string]string{"s": "rar"}}, "rar"},
		{Options{Meta: []KeyValue{{Key: "trevni.codec"}}}, "reserved"},
		{Options{Meta: []KeyValue{{Key: SchemaKey}}}, "reserved"},
		{Options{Meta: []KeyValue{{Key: "rowtocol.any"}}}, "reserved"},
		{Options{Meta: []KeyValue{{Key: "a"}, {Key: "a"}}}, "twice"},
		{Options{Values: []string{"nope"}}, "--values nope: there is no such column; the columns are "},
		{Options{Values: []string{"S"}}, "--values S: there is no such column; did you mean s?"},
		{Options{Values: []string{"b"}}, "boolean"},
		{Options{Values: []string{"s[]"}}, "one value per row"},
		{Options{Values: []string{"r[]#s"}}, "one value per row"},
	}
	for _, test := range tests {
		err := test.o.Validate(cols)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, expected %q", test.o, err, test.want)
		}
	}
	for name, cols := range map[string][]column.Column{
		"a parent that is no array":    {{Name: "a", Parent: -1}, {Name: "b", Parent: 0}},
		"a parent after its child":     {{Name: "a", Parent: 1}, {Name: "b", Array: true, Parent: -1}},
		"two columns of the same name": {{Name: "a", Parent: -1}, {Name: "a", Parent: -1}},
	} {
		if err := (Options{}).Validate(cols); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
