package shred_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// doer returns a function that calls others on workers.
func doer(t *testing.T, workers int) func(n int, fn func(i int) error) error {
	pool := parallel.NewWorkers(workers)
	return func(n int, fn func(i int) error) error {
		return pool.Do(t.Context(), n, func(_ context.Context, i int) error { return fn(i) })
	}
}

// Two assemblers use the same columns by turns. If one has loaded its rows, the other loads the next
// rows before the first assembles its own. The first error in row order is the same as with one
// assembler.
func TestLoad(t *testing.T) {
	const rows = 150
	loaded, short, failed := 0, 0, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 42))
		m, want, data := wideRows(t, r, rows)
		fails := map[int][2]int{}
		if seed%2 == 1 {
			fails[r.IntN(len(m.Columns))] = [2]int{r.IntN(rows), -1}
		}
		size, do := r.IntN(40)*500, doer(t, 1+int(seed%3))
		columns := choppyColumns(m, r, rows, data, fails)
		for _, c := range columns { // if many reads are short, nothing is ever loaded
			c.(*choppy).chop = 200
		}
		two := [2]*shred.Assembler{shred.NewAssembler(m, columns, nil), shred.NewAssembler(m, columns, nil)}
		var left [2]int // rows of each assembler to assemble
		var got [][]byte
		var err error
		assemble := func(a int) {
			for ; left[a] > 0 && err == nil; left[a]-- {
				var row []byte
				if row, err = two[a].Row(nil); err == nil {
					got = append(got, row)
				}
			}
		}
		for started, a := 0, 0; started < rows; a = 1 - a {
			n := min(1+r.IntN(40), rows-started)
			two[a].Start(int64(n))
			started, left[a] = started+n, n
			ok := two[a].Load(do, size)
			assemble(1 - a) // the rows before
			if ok {
				loaded++
			} else {
				short++
				assemble(a)
			}
		}
		assemble(0)
		assemble(1)
		plain := choppyAssembler(m, r, rows, data, fails)
		plain.Start(rows)
		var wantErr error
		for i := range want {
			if _, wantErr = plain.Row(nil); wantErr != nil {
				want = want[:i]
				failed++
				break
			}
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !equalRows(got, want) {
			t.Fatalf("seed %d: %d rows, then %v; want %d rows, then %v\n%s", seed, len(got), err, len(want), wantErr, m.Schema.JSON())
		}
	}
	if loaded < 100 || short < 20 || failed < 20 {
		t.Errorf("%d turns were loaded, %d were not, and %d columns failed", loaded, short, failed)
	}
}

// Load allocates nothing per column or row.
func TestLoadAllocatesLittle(t *testing.T) {
	const rows, turn = 4000, 64
	m := mapping(t, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"},`+wideFields(40)+`]}`, shred.Options{})
	r := rand.New(rand.NewPCG(7, 43))
	var data [][]byte
	for range rows {
		data = append(data, randavro.Datum(r, m.Schema.Root()))
	}
	a := assembler(m, columns(t, m, data), 0)
	dst, do := make([]byte, 0, 1<<20), doer(t, 1)
	run := func() {
		a.Start(turn)
		if !a.Load(do, 1<<20) {
			t.Fatal("not loaded")
		}
		for range turn {
			_, err := a.Row(dst)
			testenv.Must(t, err)
		}
	}
	run()
	run()
	if n := testing.AllocsPerRun(10, run); n > 10 {
		t.Errorf("%v allocations for each turn", n)
	}
}
