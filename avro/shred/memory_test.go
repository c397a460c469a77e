package shred_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var errNoMemory = errors.New("no memory")

// account counts reserved bytes, and fails after refuseFor calls; if that is
// negative, never.
type account struct {
	t         *testing.T
	held      int64
	calls     int
	refuseFor int
}

func (a *account) Reserve(n int64) error {
	a.calls++
	if a.refuseFor == 0 {
		return errNoMemory
	}
	a.refuseFor--
	a.held += n
	return nil
}

func (a *account) Release(n int64) {
	a.t.Helper()
	if a.held -= n; a.held < 0 || n < 0 {
		a.t.Errorf("%d bytes are released, %d stay reserved", n, a.held)
	}
}

// rewindable has the values of a column, which can be read again.
type rewindable struct{ shred.Values }

// accounted returns an assembler of columns and a function that starts it at the first row.
func accounted(t *testing.T, m *shred.Mapping, rows [][]byte, memory column.Account) (*shred.Assembler, func()) {
	t.Helper()
	data := shredded(t, m, rows)
	all := make([]rewindable, len(m.Columns))
	in := make([]shred.Values, len(all))
	for i := range all {
		in[i] = &all[i]
	}
	a := shred.NewAssembler(m, in, memory)
	return a, func() {
		for i, r := range readers(m, int64(len(rows)), data) {
			all[i].Values = r
		}
		a.Start(int64(len(rows)))
	}
}

// mebibyte is about the size from which memory is reserved for rows.
const mebibyte = 1 << 20

// block returns an array or a map of n items, each appended by item.
func block(n int, item func(b []byte, i int) []byte) []byte {
	b := binary.AppendVarint(nil, int64(n))
	for i := range n {
		b = item(b, i)
	}
	return append(b, 0)
}

func sized(b []byte, s string) []byte {
	return append(binary.AppendVarint(b, int64(len(s))), s...)
}

// largeRows are rows of more than 1 MiB, in the form of assembled rows.
var largeRows = []struct {
	name, typ string
	row       func() []byte
}{
	{"a long string", `"string"`, func() []byte { return sized(nil, strings.Repeat("s", 5*mebibyte/4)) }},
	{"fixed", `{"type":"fixed","name":"F","size":1100000}`, func() []byte { return bytes.Repeat([]byte("f"), 1_100_000) }},
	{"many fixed", `{"type":"array","items":{"type":"fixed","name":"F","size":9}}`, func() []byte {
		return block(130_000, func(b []byte, i int) []byte { return append(b, fmt.Sprintf("%09d", i)...) })
	}},
	{"integers", `{"type":"array","items":"int"}`, func() []byte {
		return block(600_000, func(b []byte, i int) []byte { return binary.AppendVarint(b, int64(i%5000)) })
	}},
	{"longs", `{"type":"array","items":"long"}`, func() []byte {
		return block(160_000, func(b []byte, i int) []byte { return binary.AppendVarint(b, -int64(i)<<36) })
	}},
	{"booleans", `{"type":"array","items":"boolean"}`, func() []byte {
		return block(1_100_000, func(b []byte, i int) []byte { return append(b, byte(i&1)) })
	}},
	{"doubles", `{"type":"array","items":"double"}`, func() []byte {
		return block(140_000, func(b []byte, i int) []byte { return binary.LittleEndian.AppendUint64(b, uint64(i)) })
	}},
	{"enums", `{"type":"array","items":{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"s","type":"string"}]}}`, func() []byte {
		return block(30_000, func(b []byte, i int) []byte { return sized(append(b, byte(i&1*2)), strings.Repeat("s", 40)) })
	}},
	{"short strings", `{"type":"array","items":"string"}`, func() []byte {
		return block(160_000, func(b []byte, i int) []byte { return sized(b, fmt.Sprint("s", i)) })
	}},
	{"optional strings", `{"type":"array","items":["null","string"]}`, func() []byte {
		return block(80_000, func(b []byte, i int) []byte {
			if i%3 == 0 {
				return append(b, 0)
			}
			return sized(append(b, 2), strings.Repeat("o", i%40))
		})
	}},
	{"map", `{"type":"map","values":"string"}`, func() []byte {
		return block(40_000, func(b []byte, i int) []byte { return sized(sized(b, fmt.Sprint("key", i)), strings.Repeat("v", i%50)) })
	}},
	{"map of unions", `{"type":"map","values":["null","int","string"]}`, func() []byte {
		return block(100_000, func(b []byte, i int) []byte {
			if b = sized(b, fmt.Sprint("key", i)); i%2 == 0 {
				return sized(append(b, 4), "value")
			}
			return append(b, 2, 6)
		})
	}},
	{"recursive", `{"type":"array","items":{"type":"record","name":"N","fields":[{"name":"v","type":"string"},{"name":"next","type":["null","N"]}]}}`, func() []byte {
		return block(50_000, func(b []byte, _ int) []byte { return append(sized(append(sized(b, "first one"), 2), "second one"), 0) })
	}},
	{"fields", `{"type":"record","name":"R","fields":[{"name":"a","type":"string"},{"name":"b","type":"bytes"},{"name":"c","type":"long"}]}`, func() []byte {
		return append(sized(sized(nil, strings.Repeat("a", mebibyte)), strings.Repeat("b", mebibyte/2)), 6)
	}},
}

// The memory of a large row is reserved before it is assembled, and released when the row
// is no longer used. The row is the same in memory of any size. Without memory the
// account's error is returned, and the next row succeeds.
func TestAssembleReservesLargeRows(t *testing.T) {
	for _, c := range largeRows {
		t.Run(c.name, func(t *testing.T) {
			m := mapping(t, c.typ, shred.Options{RecursiveBytes: true})
			want := c.row()
			memory := &account{t: t, refuseFor: -1}
			a, start := accounted(t, m, [][]byte{want}, memory)
			start()
			out, err := a.Row(nil)
			if err != nil || !bytes.Equal(out, want) {
				t.Fatalf("%d bytes, want %d: %v", len(out), len(want), err)
			}
			calls := memory.calls
			start() // releases the memory of reading the values
			if memory.held != int64(cap(out)) || calls == 0 || calls > 40 {
				t.Errorf("%d bytes reserved by %d calls for a row in %d", memory.held, calls, cap(out))
			}

			again, err := a.Row(out[:0])
			if err != nil || !bytes.Equal(again, want) || &again[0] != &out[0] {
				t.Errorf("in the same memory: %d bytes, %v", len(again), err)
			}
			// For an array it may reserve the most that any value takes.
			large := append(make([]byte, 0, 11*len(want)), "before"...)
			start()
			got, err := a.Row(large)
			if err != nil || string(got[:6]) != "before" || !bytes.Equal(got[6:], want) || &got[0] != &large[0] {
				t.Errorf("in other memory: %d bytes, %v", len(got), err)
			}
			if start(); memory.held > int64(cap(out)) {
				t.Errorf("%d bytes reserved for rows although there was room in %d", memory.held, cap(out))
			}

			for _, memory.refuseFor = range []int{0, calls - 1} {
				start()
				if _, err := a.Row(nil); err != errNoMemory {
					t.Errorf("without memory: %v", err)
				}
			}
			memory.refuseFor = -1
			start()
			out, err = a.Row(nil)
			if err != nil || !bytes.Equal(out, want) {
				t.Errorf("after a refusal: %d bytes, %v", len(out), err)
			}
			if start(); memory.held != int64(cap(out)) {
				t.Errorf("after a refusal: %d bytes reserved for %d", memory.held, cap(out))
			}
		})
	}
}

// After a large row that is no longer used the account is empty.
func TestAssembleReleasesLargeRows(t *testing.T) {
	m := mapping(t, `"string"`, shred.Options{})
	small, large := sized(nil, "small"), sized(nil, strings.Repeat("l", 2*mebibyte))
	alone, begin := accounted(t, m, [][]byte{large}, nil)
	begin()
	if out, err := alone.Row(nil); err != nil || !bytes.Equal(out, large) {
		t.Errorf("without an account: %d bytes, %v", len(out), err)
	}
	memory := &account{t: t, refuseFor: -1}
	a, start := accounted(t, m, [][]byte{small, large, small, large, large, small}, memory)
	start()
	for i, want := range []bool{false, true, false, true, true, false} {
		out, err := a.Row(nil)
		testenv.Must(t, err)
		live := int64(0)
		if want {
			live = int64(cap(out))
		}
		if want != (len(out) > mebibyte) || memory.held != live {
			t.Errorf("row %d of %d bytes in %d: %d reserved", i, len(out), cap(out), memory.held)
		}
	}
}

// A row does not depend on the initial capacity.
func TestAssembleInAnyRoom(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := mapping(t, randavro.Schema(r), shred.Options{})
		var rows [][]byte
		for range 10 {
			row, _ := randavro.Pair(r, m.Schema.Root())
			rows = append(rows, row)
		}
		a, start := accounted(t, m, rows, &account{t: t})
		for _, spare := range []int{0, 1, 63, 64, 65, 100, r.IntN(1000), 1 << 16} {
			start()
			for i, want := range rows {
				dst := append(make([]byte, 0, 6+spare), "before"...)
				got, err := a.Row(dst)
				if err != nil || string(got[:6]) != "before" || !bytes.Equal(got[6:], want) {
					t.Fatalf("seed %d row %d, room for %d: %v\ngot  % x\nwant % x\n%s", seed, i, spare, err, got, want, m.Schema.JSON())
				}
			}
		}
	}
}

// TestAssembleNullsTakeNothing has values that take no bytes.
func TestAssembleNullsTakeNothing(t *testing.T) {
	m := mapping(t, `{"type":"array","items":"null"}`, shred.Options{})
	row := append(binary.AppendVarint(nil, 1<<20), 0)
	memory := &account{t: t, refuseFor: -1}
	a, start := accounted(t, m, [][]byte{row}, memory)
	start()
	if out, err := a.Row(nil); err != nil || memory.calls > 0 {
		t.Errorf("%d bytes reserved for a row of %d: %v", memory.held, len(out), err)
	}
}
