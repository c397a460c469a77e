package dataset_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// If few rows of a part with many columns match, several workers do not each read all blocks.
func TestSparseMatchesOfManyColumns(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		d := openIn(t, wideSetOf(t, f, 20_000, settings{rowGroup: 64 << 20, blockSize: 1 << 20}), nil)
		if len(d.Parts()) != 1 || d.Parts()[0].Bytes < 8<<20 {
			t.Fatalf("%d parts, the first of %d bytes: want a part of several ranges", len(d.Parts()), d.Parts()[0].Bytes)
		}
		var one [][]byte
		blocks := int64(0)
		for _, workers := range []int{1, 3} {
			q := dataset.Query{Limit: -1, Where: "id % 400 == 7", Workers: workers}
			rows, err := readAs(t, "results", d, q)
			if one == nil {
				one = rows
			}
			if err != io.EOF || len(rows) == 0 || !slices.EqualFunc(rows, one, bytes.Equal) {
				t.Fatalf("%d workers: %d results, want %d; %v", workers, len(rows), len(one), err)
			}
			got, read, err := scan(t, d, q)
			if blocks == 0 {
				blocks = read.BlocksRead
			}
			if err != nil || len(got) != 53 || read.BlocksRead > blocks*15/8 {
				t.Errorf("%d workers: %d rows, %d blocks read, with one worker %d, %v", workers, len(got), read.BlocksRead, blocks, err)
			}
		}
	})
}

// The rows before damage in a part with many columns are returned, whether it is in a column of the
// condition or in another, and by any number of workers.
func TestDamageWhileRowsAreFound(t *testing.T) {
	dir := wideSetOf(t, trevni.Format, 12_000, settings{rowGroup: 64 << 20, blockSize: 4 << 10})
	q := dataset.Query{Limit: -1, Where: `id % 3 != 1 && body contains "a"`}
	var all [][]byte
	var numbers []int64 // of these rows
	s, err := openIn(t, dir, nil).Scan(t.Context(), q)
	testenv.Must(t, err)
	defer s.Close()
	for row, err := s.Next(nil); err == nil; row, err = s.Next(nil) {
		_, number := s.Place()
		all, numbers = append(all, row), append(numbers, number)
	}
	if len(all) < 7000 {
		t.Fatalf("%d rows", len(all))
	}
	part := partsOf(t, dir)[0]
	p := openPart(t, store.Local(), part)
	defer p.Close()
	body := slices.IndexFunc(p.Columns(), func(c format.Column) bool { return c.Name == "body" })
	bodies, err := p.Blocks(body)
	testenv.Must(t, err)
	sound, err := os.ReadFile(part)
	testenv.Must(t, err)
	const window = 4096 // rows that are evaluated together
	found, ofCondition := 0, 0
	for seed := range uint64(24) {
		at := len(sound)/10 + rand.New(rand.NewPCG(seed, 9)).IntN(len(sound)*9/10)
		if seed%2 == 0 {
			at = len(sound)/10 + at/5 // in the body
		}
		damaged := bytes.Clone(sound)
		damaged[at] ^= 0x10
		testenv.Must(t, os.WriteFile(part, damaged, 0o666))
		d, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats})
		if err != nil {
			continue // the header is damaged
		}
		one, errOne := readAs(t, "scan", d, q)
		if d := (*damage.Error)(nil); errors.As(errOne, &d) && d.Column != "" {
			first := d.Row
			if found++; d.Column == "body" {
				ofCondition, first = ofCondition+1, bodies[d.Block].FirstRow
			}
			if sure, _ := slices.BinarySearch(numbers, first-window); len(one) < sure {
				t.Errorf("byte %d: %d rows, want at least %d: %v", at, len(one), sure, errOne)
			}
		}
		if !slices.EqualFunc(one, all[:len(one)], bytes.Equal) || errOne == io.EOF && len(one) < len(all) {
			t.Errorf("byte %d: %d rows, which are not those of the sound file, then %v", at, len(one), errOne)
		}
		for _, way := range []string{"results", "alone"} {
			q := q
			q.Workers = 3
			if got, err := readAs(t, way, d, q); fmt.Sprint(err) != fmt.Sprint(errOne) || !slices.EqualFunc(one, got, bytes.Equal) {
				t.Errorf("byte %d, %s: %d rows, then %v; want %d rows, then %v", at, way, len(got), err, len(one), errOne)
			}
		}
	}
	if found < 16 || ofCondition < 6 || ofCondition == found {
		t.Errorf("damage was found %d times, %d times in a column of the condition", found, ofCondition)
	}
}

// A limit ends the reading in the part that has the last row, and no block is counted twice.
func TestFiguresOfConditionsOnManyColumns(t *testing.T) {
	d := openIn(t, wideSet(t, trevni.Format, 3000), nil)
	_, all, err := scan(t, d, dataset.Query{Limit: -1})
	testenv.Must(t, err)
	for _, workers := range []int{1, 3} {
		_, read, err := scan(t, d, dataset.Query{Limit: -1, Where: "id % 2 == 1", Workers: workers})
		if err != nil || read.Blocks != all.Blocks || len(d.Parts()) < 2 {
			t.Errorf("%d workers: %d blocks of %d parts, want %d, %v", workers, read.Blocks, len(d.Parts()), all.Blocks, err)
		}
		rows, read, err := scan(t, d, dataset.Query{Limit: 1, Where: "id % 2 == 1", Workers: workers})
		if first := d.Parts()[0].Bytes; err != nil || len(rows) != 1 || read.BytesRead > first*3/2 {
			t.Errorf("%d workers: %d rows of %d bytes read, the first part has %d, %v", workers, len(rows), read.BytesRead, first, err)
		}
	}
}
