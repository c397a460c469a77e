package shred

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// shredderOf returns a shredder of a schema's rows with room for all of them.
func shredderOf(t testing.TB, text string) *Shredder {
	t.Helper()
	s, err := ParseSchema(text)
	testenv.Must(t, err)
	m, err := Map(s, Options{RecursiveBytes: true})
	testenv.Must(t, err)
	return NewShredder(m, column.NewBuffers(m.Columns, column.Interleaved, 1<<20))
}

// wantCause fails unless err is damage caused by ErrRoom or ErrTooLarge, and by the wanted one only.
func wantCause(t *testing.T, err, cause error) {
	t.Helper()
	wantDamage(t, err, damage.Unsupported, cause.Error())
	if errors.Is(err, ErrRoom) != (cause == ErrRoom) || errors.Is(err, ErrTooLarge) != (cause == ErrTooLarge) {
		t.Errorf("error %v, want %v only", err, cause)
	}
}

var withinCases = []struct {
	name, writer, reader, datum string
	halves                      bool // the row gets only half of the memory
}{
	{"copied", `"string"`, `"string"`, "\x80\x01" + strings.Repeat("a", 64), false},
	{"items widened", array(`"int"`), array(`"double"`), "\x14\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x00", false},
	{"map", mapOf(`"int"`), mapOf(`"float"`), "\x04\x02k\x00\x06key\x01\x00", false},
	{"into a union", array(`"int"`), array(`["null","int"]`), "\x0c\x00\x01\x02\x03\x04\x05\x00", false},
	{"a default", rec("R", field("a", `"string"`)), rec("R", withDefault("z", `"string"`, `"`+strings.Repeat("z", 500)+`"`)+","+field("a", `"string"`)), "\x06abc", false},
	{"a default of each item", array(rec("E", "")), array(rec("E", withDefault("z", `"string"`, `"`+strings.Repeat("z", 100)+`"`))), "\xc8\x01\x00", false},
	{"reordered", rec("R", field("a", `"string"`)+","+field("b", `"string"`)), rec("R", field("b", `"string"`)+","+field("a", `"string"`)), "\x06abc\x10" + strings.Repeat("b", 8), true},
	{"reordered and widened", rec("R", field("a", array(`"int"`))+","+field("b", `"string"`)), rec("R", field("b", `"string"`)+","+field("a", array(`"double"`))), "\x08\x01\x02\x03\x04\x00\x06xyz", true},
	{"items reordered", array(rec("Q", field("a", `"int"`)+","+field("b", enumAB))), array(rec("Q", field("b", enumBA)+","+field("a", `"double"`)+","+withDefault("z", `"string"`, `"more"`))),
		"\x06\x02\x00\x04\x02\x06\x00\x00", true},
}

// A resolver puts the row into the memory that it was given. If that is too small, it
// fails for lack of room, and for no other reason.
func TestResolveWithin(t *testing.T) {
	for _, c := range withinCases {
		t.Run(c.name, func(t *testing.T) {
			by, s := resolution(t, c.writer, c.reader), shredderOf(t, c.reader)
			row, n, err := NewResolver(by, 1<<20).Shred(s, []byte(c.datum))
			if err != nil || n != len(c.datum) {
				t.Fatalf("%d bytes, %v", n, err)
			}
			want := bytes.Clone(row)
			need := len(want) + resolverSlack
			if c.halves {
				need *= 2
			}
			r := NewResolver(by, 1<<20)
			for _, room := range []int{need, need - 1, 0, 1, resolverSlack, resolverSlack + 1, need / 2, need - 1, need, need + 1, 4 * need, 1 << 20} {
				memory := bytes.Repeat([]byte{0xa5}, room+1) // the resolver must not use the last byte
				r.SetMemory(memory[:room])
				for range 2 {
					row, n, err := r.Shred(s, []byte(c.datum))
					if memory[room] != 0xa5 {
						t.Fatalf("room %d: a byte after it is written", room)
					}
					if room < need {
						if wantCause(t, err, ErrRoom); n != 0 || len(row) > 0 {
							t.Errorf("room %d of %d: %d bytes, %q", room, need, n, row)
						}
						continue
					}
					if err != nil || n != len(c.datum) || !bytes.Equal(row, want) {
						t.Fatalf("room %d of %d: %d bytes, %q, %v; want %q", room, need, n, row, err, want)
					}
					if &row[0] != &memory[0] {
						t.Errorf("room %d: the row is outside of the memory", room)
					}
				}
			}
		})
	}
}

// A row beyond the limit is too large with any memory.
func TestResolveWithinTheLimit(t *testing.T) {
	for _, c := range withinCases {
		t.Run(c.name, func(t *testing.T) {
			by, s := resolution(t, c.writer, c.reader), shredderOf(t, c.reader)
			row, _, err := NewResolver(by, 1<<20).Shred(s, []byte(c.datum))
			testenv.Must(t, err)
			size := len(row)
			fits := NewResolver(by, int64(size))
			fits.SetMemory(make([]byte, 1<<20))
			if _, _, err := fits.Shred(s, []byte(c.datum)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			over := NewResolver(by, int64(size-1))
			for _, test := range []struct {
				room  int
				cause error
			}{
				{1 << 20, ErrTooLarge},
				{2 * (size - 1 + resolverSlack), ErrTooLarge},
				{size - 2 + resolverSlack, ErrRoom},
				{0, ErrRoom},
				{1 << 20, ErrTooLarge},
			} {
				over.SetMemory(make([]byte, test.room))
				_, _, err := over.Shred(s, []byte(c.datum))
				wantCause(t, err, test.cause)
			}
		})
	}
}

// Row respects the limit with any slice that it appends to.
func TestResolveLimit(t *testing.T) {
	const before = "before"
	for _, c := range withinCases {
		r := resolver(t, c.writer, c.reader)
		want, _, err := r.Row([]byte(before), []byte(c.datum))
		testenv.Must(t, err)
		size := len(want) - len(before)
		for _, spare := range []int{0, -1, 1, -size, 1 << 30} {
			r.Limit(size + resolverSlack + spare)
			got, n, err := r.Row([]byte(before), []byte(c.datum))
			switch {
			case spare < 0:
				if wantCause(t, err, ErrRoom); n != 0 || string(got) != before {
					t.Errorf("%s, %d bytes too few: %d, %q", c.name, -spare, n, got)
				}
			case err != nil || !bytes.Equal(got, want):
				t.Errorf("%s, %d bytes to spare: %q, %v", c.name, spare, got, err)
			}
		}
	}
}

// allocatedBy returns how many bytes f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// If defaults expand a few bytes to more than the memory, resolving fails before it takes
// more.
func TestResolveWithinStopsDefaults(t *testing.T) {
	const size, items = 100_000, 20
	value := withDefault("z", `"string"`, `"`+strings.Repeat("z", size)+`"`)
	for name, c := range map[string]struct{ writer, reader string }{
		"in order":  {rec("E", field("a", `"null"`)), rec("E", field("a", `"null"`)+","+value)},
		"reordered": {rec("E", field("a", `"null"`)+","+field("b", `"null"`)), rec("E", field("b", `"null"`)+","+field("a", `"null"`)+","+value)},
	} {
		r := NewResolver(resolution(t, array(c.writer), array(c.reader)), 1<<30)
		s := shredderOf(t, array(c.reader))
		datum := append(binary.AppendVarint(nil, items), 0)
		for _, room := range []int{0, size, 4*size + 100, items * size} {
			memory := make([]byte, room)
			var err error
			if n := allocatedBy(func() {
				r.SetMemory(memory)
				_, _, err = r.Shred(s, datum)
			}); n > size/2 {
				t.Errorf("%s, room for %d: %d bytes allocated before the error", name, room, n)
			}
			wantCause(t, err, ErrRoom)
		}
		r.SetMemory(make([]byte, 2*(items*(size+10)+resolverSlack)))
		if row, n, err := r.Shred(s, datum); err != nil || n != len(datum) || len(row) < items*size {
			t.Errorf("%s: %d bytes of %d, %v", name, len(row), n, err)
		}
	}
}
