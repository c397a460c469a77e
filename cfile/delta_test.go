package cfile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// deltasOf returns the rows of a DeltaFile in hexadecimal.
func deltasOf(t testing.TB, p format.Part) (rows []string, err error) {
	t.Helper()
	part, ok := p.(format.RowPart)
	if !ok {
		t.Fatalf("%T is not a DeltaFile", p)
	}
	r, err := part.Read()
	testenv.Must(t, err)
	defer r.Close()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			if _, again := r.Next(); !errors.Is(again, err) {
				t.Errorf("after %v: %v", err, again)
			}
			return rows, err
		}
		rows = append(rows, fmt.Sprintf("%x", row))
	}
}

// TestDeltaFiles reads files that follow Kudu's sources, with whole keys: 15 deltas, three of
// each row, in turn a DELETE, a REINSERT and an UPDATE.
func TestDeltaFiles(t *testing.T) {
	for name, want := range map[string]string{
		"redo": "00020200 00040402020210010000000000000000 0006000218020e76616c7565203202280000 140400021a020e76616c7565203302280000",
		"undo": "00060200 00040402020210010000000000000000 0002000218020e76616c7565203202280000 140c00021a020e76616c7565203302280000",
	} {
		b, err := os.ReadFile("testdata/delta/" + name + ".cf")
		testenv.Must(t, err)
		p := openLone(t, b)
		if _, ok := p.(format.Holder); !ok || p.Verify(t.Context(), nil) != nil || p.Rows() != 15 {
			t.Errorf("%s: %T of %d rows, %v", name, p, p.Rows(), p.Verify(t.Context(), nil))
		}
		rows, err := deltasOf(t, p)
		if err != nil || len(rows) != 15 || !strings.HasPrefix(strings.Join(rows, " "), want) {
			t.Errorf("%s: %d rows, %v, %v", name, len(rows), rows, err)
		}
	}
}

// deltaFile returns a file of deltas given in hexadecimal.
func deltaFile(t testing.TB, deltas ...string) []byte {
	t.Helper()
	o := Options{Type: Binary, Encoding: Plain, Compression: LZ4, ValueIndex: true, Metadata: []Pair{{deltaStats, nil}}}
	rows := new(Rows)
	for _, d := range deltas {
		b, err := hex.DecodeString(d)
		testenv.Must(t, err)
		rows.AppendBinary(b)
	}
	return write(t, o, rows)
}

// TestDeltas checks the Avro data of example bytes from Kudu's sources.
func TestDeltas(t *testing.T) {
	for _, c := range []struct{ delta, want string }{
		{"07f90000" + "01020668656c6c6f", "0ee02300" + "020402" + "0a68656c6c6f" + "00"},
		{"07f90001" + "02", "0ee22302" + "00"},
		{"07f90002" + "0302000100", "0ee42304" + "020400" + "020200" + "00"},
		{"f0f1010302" + "02", ""},
	} {
		rows, err := deltasOf(t, openLone(t, deltaFile(t, c.delta)))
		if got := strings.Join(rows, " "); err == nil && got != c.want || err != nil && c.want != "" {
			t.Errorf("%s: %s, %v, want %s", c.delta, got, err, c.want)
		}
	}
}

func TestSortedVarint(t *testing.T) {
	for text, want := range map[string]uint64{
		"00": 0, "f0": 240, "f100": 240, "f101": 241, "f8ff": 2287, "f90000": 2288, "f9ffff": 67823,
		"fa0108f0": 67824, "faffffff": 1<<24 - 1, "fb01000000": 1 << 24, "ffffffffffffffffff": 1<<64 - 1,
	} {
		b, err := hex.DecodeString(text)
		testenv.Must(t, err)
		n, rest, err := sortedVarint(append(b, 9))
		if text == "f100" { // longer than necessary
			if !isDamage(err) {
				t.Errorf("%s: %d, %v", text, n, err)
			}
		} else if err != nil || n != want || !bytes.Equal(rest, []byte{9}) {
			t.Errorf("%s: %d, %x, %v, want %d", text, n, rest, err, want)
		}
	}
}

// TestDeltaDamage checks the errors of damaged deltas. Each follows a sound delta.
func TestDeltaDamage(t *testing.T) {
	for name, c := range map[string]struct {
		delta string
		kind  damage.Kind
	}{
		"nothing":             {"", damage.Truncated},
		"a cut row":           {"f9ff", damage.Truncated},
		"no time":             {"06", damage.Truncated},
		"no change":           {"0605", damage.Truncated},
		"a great row":         {"fc01000000000502", damage.Value},
		"a great time":        {"06ff800000000000000002", damage.Unsupported},
		"a long number":       {"06f10002", damage.Value},
		"a longer number":     {"06f900" + "0002", ""},
		"a number of 4 bytes": {"06fa00000002", damage.Value},
		"an earlier row":      {"040502", damage.Value},
		"kind 0":              {"060500", damage.Value},
		"kind 4":              {"060504", damage.Value},
		"a DELETE of more":    {"06050200", damage.Trailing},
		"an UPDATE of none":   {"060501", damage.Truncated},
		"a REINSERT of none":  {"060503", ""},
		"a cut column":        {"06050182", damage.Value},
		"a great column":      {"060501808080800801", damage.Value},
		"no size":             {"06050102", damage.Truncated},
		"a cut value":         {"0605010203ff", damage.Size},
	} {
		rows, err := deltasOf(t, openLone(t, deltaFile(t, "050502", c.delta)))
		if c.kind == "" {
			if err != nil || len(rows) != 2 {
				t.Errorf("%s: %d rows, %v", name, len(rows), err)
			}
			continue
		}
		if d := (*damage.Error)(nil); len(rows) != 1 || !errors.As(err, &d) || d.Kind != c.kind || d.Row != 1 || !partDamage(err) {
			t.Errorf("%s: %d rows, %v, want %s", name, len(rows), err, c.kind)
		}
	}
}

// Memory for deltas is reserved and released.
func TestDeltaMemory(t *testing.T) {
	b := deltaFile(t, "05050102"+"817d"+strings.Repeat("00", 16_000))
	for _, limit := range []int64{0, 40_000} {
		memory := &formattest.Memory{Limit: limit}
		p, err := Format.Open([]format.File{formattest.NewFile("p.cfiles/a", b)}, format.OpenOptions{Memory: memory})
		testenv.Must(t, err)
		before := memory.Held
		if _, err = deltasOf(t, p); errors.Is(err, formattest.ErrMemory) != (limit > 0) || memory.Held != before {
			t.Errorf("limit %d: %v, %d bytes held, %d before, peak %d", limit, err, memory.Held, before, memory.Peak)
		}
	}
}

// FuzzDelta converts arbitrary bytes to Avro data of deltaSchema.
func FuzzDelta(f *testing.F) {
	f.Add([]byte{5, 5, 1, 2, 6, 'h', 'e', 'l', 'l', 'o'})
	f.Add([]byte{0xf9, 0, 0, 0xfa, 1, 8, 0xf0, 3, 1, 0, 2, 1})
	f.Add([]byte{5, 5, 2})
	m := formattest.Mapping(f, deltaSchema)
	f.Fuzz(func(t *testing.T, b []byte) {
		datum, _, err := appendDelta(nil, b)
		if err != nil {
			if !isDamage(err) {
				t.Fatal(err)
			}
			return
		}
		n, err := shred.NewShredder(m, column.NewBuffers(m.Columns, column.Interleaved, 64<<10)).Row(datum)
		if err != nil || n != len(datum) {
			t.Fatalf("%x: %d bytes of %x, %v", b, n, datum, err)
		}
	})
}
