package shred_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// choppy reads a column in pieces of random sizes, some of them decoded. One of chop reads is shorter
// than asked for. It overwrites the bytes of a piece as soon as the next one is read. It fails at element failAt, and makes
// element wrongAt a length of 2, or an ordinal without a symbol.
type choppy struct {
	in              *column.Reader
	r               *rand.Rand
	decoded         bool
	chop            int
	failAt, wrongAt int // -1 for never
	done            int
	bytes           []byte
}

func (c *choppy) Read(v *column.Vector, n int) (read, items int, err error) {
	for i := range c.bytes {
		c.bytes[i] = 0xee
	}
	if c.done == c.failAt {
		return 0, 0, errDisk
	}
	if c.failAt > c.done {
		n = min(n, c.failAt-c.done)
	}
	if c.r.IntN(c.chop) == 0 {
		n = 1 + c.r.IntN(n)
	}
	if c.decoded || c.r.IntN(20) == 0 {
		v.Encoded = false
	}
	if read, items, err = c.in.Read(v, n); err != nil {
		return read, items, err
	}
	if v.Encoded && len(v.Offsets) > 0 {
		from := v.Offsets[0]
		c.bytes = bytes.Clone(v.Data[from:v.Offsets[len(v.Offsets)-1]])
		c.bytes = c.bytes[:len(c.bytes):len(c.bytes)]
		v.Data = c.bytes
		for i := range v.Offsets {
			v.Offsets[i] -= from
		}
	}
	if i := c.wrongAt - c.done; c.wrongAt >= c.done && i < read {
		switch {
		case len(v.Lengths) > 0:
			v.Lengths[i] = 2
		case v.Encoded:
			v.Data[v.Offsets[2*i]] |= 0x7f
		default:
			v.Ints[i] = -64
		}
	}
	c.done += read
	return read, items, nil
}

// wideSchema returns a record of many fields, some of which hold such a record.
func wideSchema(r *rand.Rand) string {
	names := 0
	name := func() string { names++; return fmt.Sprint("n", names) }
	simple := []string{`"null"`, `"boolean"`, `"int"`, `"long"`, `"float"`, `"double"`, `"string"`, `"bytes"`}
	var record func(fields, depth int) string
	typ := func(depth int) string {
		s := simple[r.IntN(len(simple))]
		switch k := r.IntN(12); {
		case k == 0 && depth > 0:
			return `{"type":"array","items":` + record(10, depth-1) + `}`
		case k == 1 && depth > 0:
			return `{"type":"map","values":` + record(9, depth-1) + `}`
		case k == 2 && depth > 0:
			return `["null",` + record(8, depth-1) + `]`
		case k == 3:
			return `{"type":"enum","name":"` + name() + `","symbols":["A","B","C"]}`
		case k == 4:
			return `{"type":"fixed","name":"` + name() + `","size":5}`
		case k < 7 && s != `"null"`:
			return `["null",` + s + `]`
		case k < 9 && s != `"null"`:
			return `[` + s + `,"null"]`
		}
		return s
	}
	record = func(fields, depth int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"type":"record","name":%q,"fields":[{"name":"e","type":{"type":"enum","name":%q,"symbols":["A","B","C"]}}`, name(), name())
		for i := range fields {
			fmt.Fprintf(&b, `,{"name":"f%d","type":%s}`, i, typ(depth))
		}
		return b.String() + `]}`
	}
	return record(8+r.IntN(20), 2)
}

// choppyAssembler returns an assembler of rows, whose columns fail in elements.
func choppyAssembler(m *shred.Mapping, r *rand.Rand, rows int, data [][]byte, fails map[int][2]int) *shred.Assembler {
	return shred.NewAssembler(m, choppyColumns(m, r, rows, data, fails), &column.Unlimited{})
}

func choppyColumns(m *shred.Mapping, r *rand.Rand, rows int, data [][]byte, fails map[int][2]int) []shred.Values {
	in := make([]shred.Values, len(data))
	for i, reader := range readers(m, int64(rows), data) {
		c := &choppy{in: reader, r: rand.New(rand.NewPCG(r.Uint64(), 1)), decoded: r.IntN(3) == 0, chop: 3, failAt: -1, wrongAt: -1}
		if f, ok := fails[i]; ok {
			c.failAt, c.wrongAt = f[0], f[1]
		}
		in[i] = c
	}
	return in
}

func wideRows(t *testing.T, r *rand.Rand, rows int) (m *shred.Mapping, want, data [][]byte) {
	t.Helper()
	m = mapping(t, wideSchema(r), shred.Options{})
	for range rows {
		row, _ := randavro.Pair(r, m.Schema.Root())
		want = append(want, row)
	}
	return m, want, shredded(t, m, want)
}

// Wide records are assembled in strips. The rows are the same wherever vectors end, and if
// any rows are skipped.
func TestStripsOfWideRecords(t *testing.T) {
	stripped := 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 38))
		m, want, data := wideRows(t, r, 150)
		a := choppyAssembler(m, r, len(want), data, nil)
		for i := 0; i < len(want); {
			n := min(1+r.IntN(100), len(want)-i)
			a.Start(int64(n))
			for end := i + n; i < end; {
				if r.IntN(10) == 0 {
					skip := min(r.IntN(50), end-i)
					testenv.Must(t, a.Skip(skip))
					i += skip
					continue
				}
				got, err := a.Row([]byte("before"))
				if err != nil || !bytes.Equal(got, append([]byte("before"), want[i]...)) {
					t.Fatalf("seed %d row %d: %v\ngot  % x\nwant % x\n%s", seed, i, err, got, want[i], m.Schema.JSON())
				}
				i++
			}
		}
		stripped += a.StripMemory()
	}
	if stripped == 0 {
		t.Error("no rows were assembled in strips")
	}
}

// The first wrong element in the order of rows and columns is reported, and all rows before
// it are there, as without strips.
func TestStripsFailAsJointsDo(t *testing.T) {
	failed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 39))
		m, want, data := wideRows(t, r, 60)
		fails := map[int][2]int{}
		for range 1 + r.IntN(3) {
			i := r.IntN(len(m.Columns))
			f := [2]int{r.IntN(60), -1}
			if c := &m.Columns[i]; len(c.Symbols) > 0 && !c.Array || c.Array && c.Optional {
				f = [2]int{-1, f[0]}
			}
			fails[i] = f
		}
		run := func(plain bool) (rows [][]byte, err error) {
			a := choppyAssembler(m, r, len(want), data, fails)
			if plain {
				a.WithoutStrips()
			}
			a.Start(int64(len(want)))
			for range want {
				row, err := a.Row(nil)
				if err != nil {
					return rows, err
				}
				rows = append(rows, row)
			}
			return rows, nil
		}
		plainRows, plainErr := run(true)
		rows, err := run(false)
		if fmt.Sprint(err) != fmt.Sprint(plainErr) || !equalRows(rows, plainRows) || !equalRows(rows, want[:len(rows)]) {
			t.Fatalf("seed %d: %d rows, then %v; without strips %d rows, then %v\n%s",
				seed, len(rows), err, len(plainRows), plainErr, m.Schema.JSON())
		}
		if err != nil {
			failed++
		}
	}
	if failed < 40 {
		t.Errorf("only %d runs failed", failed)
	}
}

func equalRows(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Large values are not kept in strips, and rows around them are still right.
func TestStripsAreSmall(t *testing.T) {
	var fields strings.Builder
	for i := range 12 {
		fmt.Fprintf(&fields, `{"name":"f%d","type":"string"},`, i)
	}
	m := mapping(t, `{"type":"record","name":"R","fields":[`+fields.String()+`{"name":"o","type":["null","bytes"]}]}`, shred.Options{})
	r := rand.New(rand.NewPCG(1, 40))
	var want [][]byte
	for range 4000 {
		var row []byte
		for range 12 {
			size := r.IntN(30)
			if r.IntN(2000) == 0 {
				size = r.IntN(200_000)
			}
			row = sized(row, strings.Repeat("x", size))
		}
		want = append(want, sized(append(row, 2), "o"))
	}
	data := shredded(t, m, want)
	for range 3 {
		a := choppyAssembler(m, r, len(want), data, nil)
		a.Start(int64(len(want)))
		held, most := 0, len(m.Columns)*shred.ColumnMemory
		for i := range want {
			got, err := a.Row(nil)
			if err != nil || !bytes.Equal(got, want[i]) {
				t.Fatalf("row %d of %d bytes: %d bytes, %v", i, len(want[i]), len(got), err)
			}
			held = max(held, a.StripMemory())
		}
		if held > most || held == 0 {
			t.Errorf("strips of %d columns hold %d bytes, want at most %d", len(m.Columns), held, most)
		}
	}
}

func TestStripsAllocateNothing(t *testing.T) {
	const rows = 4000
	m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},`+wideFields(40)+`]}`, shred.Options{})
	r := rand.New(rand.NewPCG(7, 41))
	var data [][]byte
	for range rows {
		row, _ := randavro.Pair(r, m.Schema.Root())
		data = append(data, row)
	}
	a := assembler(m, columns(t, m, data), rows)
	dst := make([]byte, 0, 1<<20)
	for range 300 { // the first rows allocate strips and vectors
		_, err := a.Row(dst)
		testenv.Must(t, err)
	}
	if n := testing.AllocsPerRun(1, func() {
		for range 1500 {
			if _, err := a.Row(dst); err != nil {
				t.Fatal(err)
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func wideFields(n int) string {
	types := []string{`"long"`, `["null","int"]`, `"boolean"`, `"double"`, `["string","null"]`}
	var fields []string
	for i := range n {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":%s}`, i, types[i%len(types)]))
	}
	return strings.Join(fields, ",")
}
