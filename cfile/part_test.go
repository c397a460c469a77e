package cfile

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/formattest"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

// smallBlocks limits blocks to a size that is enough for most parts.
var smallBlocks = format.OpenOptions{MaxBlock: 1 << 20}

var smallChoices = []map[string][]string{
	{"compression": {"none"}, "sorted-by": {"id"}},
	{"compression": {"zlib"}},
	{"encoding": {"name=plain", "suit=physical", "price=physical", "hops[]#host/string=prefix"}},
}

// smallPart returns a part of a few small blocks.
func smallPart(t testing.TB, choice int) map[string][]byte {
	t.Helper()
	return formattest.Rows(t, Format, smallChoices[choice], formattest.SmallSchema, formattest.SmallRows(12), 6).Files(t)
}

// checkPart opens a part and calls all its methods. It returns the error of opening or
// verifying, and requires each error to be damage.
func checkPart(t *testing.T, files map[string][]byte) error {
	t.Helper()
	p, err := formattest.Open(Format, files, smallBlocks)
	if err != nil {
		if !partDamage(err) {
			t.Errorf("open: %v", err)
		}
		return err
	}
	if err = verifyPart(t, p); err != nil && !partDamage(err) {
		t.Errorf("verify: %v", err)
	}
	if err := p.Dump(io.Discard); err != nil && !partDamage(err) {
		t.Errorf("dump: %v", err)
	}
	for i := range p.Columns() {
		if _, err := p.Blocks(i); err != nil && !partDamage(err) {
			t.Errorf("blocks: %v", err)
		}
		c, err := p.(format.ColumnPart).Cursor(i)
		if err == nil {
			err = c.SeekRow(p.Rows() / 2)
		}
		v := column.Vector{Limit: 1 << 12}
		for n := 0; err == nil && n < 1000; n++ {
			v.Reset()
			_, _, err = c.Read(&v, 10)
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, column.ErrFull) && !partDamage(err) {
			t.Errorf("read: %v", err)
		}
	}
	return err
}

func partDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && strings.HasPrefix(d.File, "p.cfiles")
}

// A change of any byte is reported for the file that has it.
func TestFlippedBytes(t *testing.T) {
	for choice := range smallChoices {
		files := smallPart(t, choice)
		testenv.Must(t, checkPart(t, files))
		r := rand.New(rand.NewPCG(1, uint64(choice)))
		for name, b := range files {
			for i := 0; i < len(b); i += soak.Rounds(1+r.IntN(5), 1) {
				change := byte(1 + r.IntN(255))
				b[i] ^= change
				var d *damage.Error
				if err := verifyFiles(t, files); !errors.As(err, &d) || path.Base(d.File) != name {
					t.Errorf("%s, byte %d of %d changed by %#x: %v", name, i, len(b), change, err)
				}
				b[i] ^= change
			}
		}
	}
}

func verifyFiles(t *testing.T, files map[string][]byte) error {
	p, err := formattest.Open(Format, files, smallBlocks)
	if err == nil {
		err = verifyPart(t, p)
	}
	return err
}

// verifyPart verifies a part, and checks that several workers find the same as one.
func verifyPart(t *testing.T, p format.Part) error {
	err := p.Verify(t.Context(), nil)
	if beside := p.Verify(t.Context(), parallel.NewWorkers(3).Do); fmt.Sprint(beside) != fmt.Sprint(err) {
		t.Errorf("with several workers: %v; with one: %v", beside, err)
	}
	return err
}

// Extra, missing, longer and shorter files are reported.
func TestOtherFiles(t *testing.T) {
	for name, change := range map[string]func(map[string][]byte){
		"no document":       func(f map[string][]byte) { delete(f, documentName) },
		"no column":         func(f map[string][]byte) { delete(f, "00002.cf") },
		"an extra file":     func(f map[string][]byte) { f["other"] = nil },
		"an extra column":   func(f map[string][]byte) { f["00099.cf"] = f["00000.cf"] },
		"a longer column":   func(f map[string][]byte) { f["00000.cf"] = append(f["00000.cf"], 0) },
		"a shorter column":  func(f map[string][]byte) { f["00000.cf"] = f["00000.cf"][1:] },
		"an empty column":   func(f map[string][]byte) { f["00000.cf"] = nil },
		"an empty document": func(f map[string][]byte) { f[documentName] = nil },
		"a short document":  func(f map[string][]byte) { f[documentName] = f[documentName][:9] },
		"swapped columns":   func(f map[string][]byte) { f["00000.cf"], f["00003.cf"] = f["00003.cf"], f["00000.cf"] },
		"swapped lengths": func(f map[string][]byte) {
			f["00006.lengths.cf"], f["00009.lengths.cf"] = f["00009.lengths.cf"], f["00006.lengths.cf"]
		},
	} {
		files := maps.Clone(smallPart(t, 0))
		change(files)
		if checkPart(t, files) == nil {
			t.Errorf("%s is not reported", name)
		}
	}
}

// randomSchema returns a random schema and rows of it. Some integers are longer than necessary.
func randomSchema(t testing.TB, r *rand.Rand, n int) (schema string, rows [][]byte) {
	t.Helper()
	schema = randavro.Schema(r)
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	rows = make([][]byte, n)
	for i := range rows {
		plain, odd := randavro.Pair(r, parsed.Root())
		if rows[i] = plain; i%2 == 0 {
			rows[i] = odd
		}
	}
	return schema, rows
}

// chosen returns random options for columns that can have them.
func chosen(r *rand.Rand, cols []column.Column) map[string][]string {
	options := map[string][]string{"many-files": {"true"}}
	compressions := []string{"none", "snappy", "lz4", "zlib"}
	if r.IntN(3) == 0 {
		options["compression"] = []string{compressions[r.IntN(4)]}
	}
	encodings := map[column.Type][]string{
		column.Boolean: {"plain", "rle"}, column.Int: {"physical"}, column.Long: {"plain", "rle", "bitshuffle", "physical"},
		column.Float: {"plain", "bitshuffle"}, column.Double: {"plain", "bitshuffle"},
		column.String: {"plain", "dict", "prefix"}, column.Bytes: {"physical"},
	}
	for _, c := range cols {
		if r.IntN(4) == 0 {
			options["compression"] = append(options["compression"], c.Name+"="+compressions[r.IntN(4)])
		}
		if e := encodings[c.Type]; len(e) > 0 && r.IntN(2) == 0 {
			options["encoding"] = append(options["encoding"], c.Name+"="+e[r.IntN(len(e))])
		}
	}
	return options
}

// Random columns are the same as in Trevni, in any order of reading.
func TestCursorsAgreeWithTrevni(t *testing.T) {
	for seed := range soak.Rounds[uint64](20, 200) {
		r := rand.New(rand.NewPCG(seed, 19))
		schema, rows := randomSchema(t, r, 200)
		cols := formattest.Mapping(t, schema).Columns
		source := formattest.Rows(t, Format, chosen(r, cols), schema, rows, 100+r.IntN(2000))
		files := source.Files(t)
		if again := source.Files(t); !reflect.DeepEqual(files, again) {
			t.Fatalf("seed %d: the same rows give different bytes", seed)
		}
		p := formattest.MustOpen(t, Format, files, smallBlocks)
		want := formattest.MustOpen(t, trevni.Format, formattest.Rows(t, trevni.Format, map[string][]string{"codec": {"null"}}, schema, rows, 1000).Files(t), smallBlocks)
		if err := p.Verify(t.Context(), nil); err != nil || p.Schema() != schema || p.Rows() != want.Rows() {
			t.Fatalf("seed %d: %d rows, %v", seed, p.Rows(), err)
		}
		for col, c := range p.Columns() {
			stored := cols[col]
			stored.Def, stored.Rep = 0, 0 // follow from the schema
			if !reflect.DeepEqual(c.Column, stored) {
				t.Errorf("seed %d: column %+v, want %+v", seed, c.Column, stored)
			}
			formattest.CompareCursors(t, fmt.Sprintf("seed %d", seed), r, p, want, col, partDamage)
		}
	}
}
