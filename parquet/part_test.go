package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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

// smallPages limits pages to a size that is enough for most parts.
var smallPages = format.OpenOptions{MaxBlock: 4 << 20}

// smallFile returns a file of a few small pages with a codec, and two Bloom filters.
func smallFile(t testing.TB, codec string) []byte {
	t.Helper()
	return smallForm(t, map[string][]string{optionCompression: {codec}, optionFilter: {"id", "name"}})
}

// smallForm returns a file of a few small pages.
func smallForm(t testing.TB, chosen map[string][]string) []byte {
	t.Helper()
	return formattest.Rows(t, Format, chosen, formattest.SmallSchema, formattest.SmallRows(40), 24).Files(t)[""]
}

// codedFile returns a file whose column "name" has a dictionary.
func codedFile(t testing.TB, chosen map[string][]string) []byte {
	t.Helper()
	rows := make([][]byte, 100)
	for i := range rows {
		rows[i] = []byte{14, 'n', 'u', 'm', 'b', 'e', 'r', byte('0' + i%3)}
	}
	source := formattest.Rows(t, Format, chosen, `{"type":"record","name":"r","fields":[{"name":"name","type":"string"}]}`, rows, 1000)
	return source.Files(t)[""]
}

// form is a file of one of the forms that the writer makes.
type form struct {
	name  string
	file  []byte
	coded bool
}

// eachForm returns files with all codecs, dictionaries, encodings and versions of pages.
func eachForm(t testing.TB) (forms []form) {
	t.Helper()
	for _, codec := range testCodecs {
		chosen := map[string][]string{optionCompression: {codec}}
		forms = append(forms, form{codec, smallForm(t, chosen), false}, form{"dictionary, " + codec, codedFile(t, chosen), true})
	}
	deltas := []string{
		"id=delta_binary_packed", "ok=rle", "score=byte_stream_split", "name=delta_byte_array", "suit=delta_length_byte_array",
		"price=byte_stream_split", "hops.port=delta_binary_packed", "hops.host=delta_length_byte_array",
	}
	others := []string{
		"id=byte_stream_split", "ok=plain", "score=plain", "name=delta_length_byte_array", "suit=delta_byte_array",
		"price=delta_byte_array", "hops.port=byte_stream_split", "hops.host=delta_byte_array",
	}
	for _, f := range []struct {
		version, codec string
		encodings      []string
	}{{"1", "none", deltas}, {"2", "snappy", deltas}, {"1", "zstd", others}, {"2", "none", others}, {"2", "none", nil}} {
		chosen := map[string][]string{optionCompression: {f.codec}, optionEncoding: f.encodings, optionPageVersion: {f.version}}
		forms = append(forms, form{fmt.Sprint(chosen), smallForm(t, chosen), false})
	}
	for _, codec := range []string{"none", "gzip"} {
		chosen := map[string][]string{optionCompression: {codec}, optionPageVersion: {"2"}}
		forms = append(forms, form{fmt.Sprint("dictionary", chosen), codedFile(t, chosen), true})
	}
	return append(forms, form{"row groups", smallGroups(t), false})
}

func openFile(b []byte, o format.OpenOptions) (format.Part, error) {
	return formattest.Open(Format, map[string][]byte{"": b}, o)
}

func mustOpen(t testing.TB, b []byte) *part {
	t.Helper()
	p, err := openFile(b, smallPages)
	testenv.Must(t, err)
	return p.(*part)
}

func isDamage(err error) bool {
	var d *damage.Error
	return errors.As(err, &d) && strings.HasPrefix(d.File, "p.parquet")
}

// checkPart opens a part and calls all its methods. It returns the error of opening or
// verifying, and requires each error to be damage.
func checkPart(t testing.TB, b []byte) error {
	t.Helper()
	p, err := openFile(b, smallPages)
	if err != nil {
		if !isDamage(err) {
			t.Errorf("open: %v", err)
		}
		return err
	}
	if err = p.Verify(t.Context(), nil); err != nil && !isDamage(err) {
		t.Errorf("verify: %v", err)
	}
	if err := p.Dump(io.Discard); err != nil && !isDamage(err) {
		t.Errorf("dump: %v", err)
	}
	for i := range p.Columns() {
		if _, err := boundedBlocks(p, i); err != nil && !isDamage(err) {
			t.Errorf("blocks: %v", err)
		}
		if _, err := lacks(p, i); err != nil && !isDamage(err) {
			t.Errorf("search: %v", err)
		}
		for _, row := range []int64{0, p.Rows() / 2} {
			if err := readColumn(p, i, row); err != nil && !isDamage(err) && !errors.Is(err, column.ErrFull) {
				t.Errorf("read: %v", err)
			}
		}
	}
	return err
}

// lacks asks for a value that a column of formattest.SmallSchema has, and for one that it does
// not have, in each row group.
func lacks(p format.Part, col int) (all [2]string, err error) {
	for i, n := range []int64{1, 1000} {
		value := binary.AppendVarint(nil, n)
		switch c := p.Columns()[col]; {
		case c.Type == column.String || c.Type == column.Bytes:
			value = append([]byte{2}, "a?"[i])
		case c.Symbols != nil:
			value[0] = 0
		}
		for row := int64(0); row < p.Rows(); {
			one, end, lacksErr := p.(format.Searcher).Lacks(col, [][]byte{value}, row)
			all[i] += fmt.Sprint(row, one)
			err, row = errors.Join(err, lacksErr), end
		}
	}
	return all, err
}

// readColumn reads a column from a row on, but not too much of it.
func readColumn(p format.Part, col int, row int64) error {
	c, err := p.(format.ColumnPart).Cursor(col)
	if err == nil {
		err = c.SeekRow(row)
	}
	v := column.Vector{Limit: 1 << 12}
	for n := 0; err == nil && n < 1000; n++ {
		v.Reset()
		_, _, err = c.Read(&v, 1+n)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

var testCodecs = []string{"none", "snappy", "zstd", "gzip", "lz4_raw"}

// byteChanges are how tests change a byte.
var byteChanges = []func(b byte) byte{
	func(b byte) byte { return b + 1 }, func(b byte) byte { return b ^ 0x80 }, func(b byte) byte { return ^b },
}

// eachChange calls f with a file in which a byte is changed, for each byte and each of
// byteChanges, or for some of them.
func eachChange(t *testing.T, seed uint64, b []byte, f func(what string)) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, seed))
	for i := range b {
		for k, change := range byteChanges {
			if before := b[i]; r.IntN(soak.Rounds(24, 1)) == 0 {
				b[i] = change(before)
				f(fmt.Sprintf("byte %d of %d, change %d", i, len(b), k))
				b[i] = before
			}
		}
	}
}

// A change of any byte is reported. When the rows are read, it is reported or changes neither the
// rows nor the bounds by which conditions skip rows.
func TestFlippedBytes(t *testing.T) {
	for i, form := range eachForm(t) {
		b := form.file
		testenv.Must(t, checkPart(t, b))
		want := contents(t, mustOpen(t, b))
		eachChange(t, uint64(i), b, func(what string) {
			p, err := openFile(b, smallPages)
			if err != nil {
				if !isDamage(err) {
					t.Errorf("%s, %s: %v", form.name, what, err)
				}
				return
			}
			if err := p.Verify(t.Context(), nil); !isDamage(err) {
				t.Errorf("%s, %s: %v", form.name, what, err)
			}
			if got, err := contentsOf(p); err == nil && got != want || err != nil && !isDamage(err) {
				t.Errorf("%s, %s: other rows or bounds, %v", form.name, what, err)
			}
		})
	}
}

func verifyFile(t testing.TB, b []byte) error {
	p, err := openFile(b, smallPages)
	if err != nil {
		return err
	}
	err = p.Verify(t.Context(), nil)
	if beside := p.Verify(t.Context(), parallel.NewWorkers(3).Do); fmt.Sprint(beside) != fmt.Sprint(err) {
		t.Errorf("with several workers: %v; with one: %v", beside, err)
	}
	return err
}

// The case of the digits of a checksum is not free either.
func TestFlippedCase(t *testing.T) {
	b := smallFile(t, "snappy")
	for i, c := range b {
		if c < 'a' || c > 'z' {
			continue
		}
		b[i] ^= 0x20
		if err := verifyFile(t, b); !isDamage(err) {
			t.Errorf("byte %d of %d, %q: %v", i, len(b), c, err)
		}
		b[i] ^= 0x20
	}
}

func contents(t testing.TB, p format.Part) string {
	t.Helper()
	text, err := contentsOf(p)
	testenv.Must(t, err)
	return text
}

// boundedBlocks returns the blocks of a column with their bounds.
func boundedBlocks(p format.Part, col int) ([]format.Block, error) {
	blocks, err := p.Blocks(col)
	if err != nil {
		return nil, err
	}
	return blocks, p.(format.Searcher).Bounds(col, blocks)
}

// contentsOf returns the values and blocks of all columns as text.
func contentsOf(p format.Part) (string, error) {
	text := fmt.Sprint(p.Rows(), p.Schema())
	for i := range p.Columns() {
		blocks, err := boundedBlocks(p, i)
		if err != nil {
			return "", err
		}
		for _, b := range blocks {
			text += fmt.Sprintf(" %d+%d:%x-%x/%d", b.FirstRow, b.Rows, b.Min, b.Max, b.Presence)
		}
		found, err := lacks(p, i)
		if err != nil {
			return "", err
		}
		text += fmt.Sprint(found)
		c, err := p.(format.ColumnPart).Cursor(i)
		for err == nil {
			var v column.Vector
			if _, _, err = c.Read(&v, 1000); err == nil {
				text += fmt.Sprint(formattest.VectorText(&v))
			}
		}
		if !errors.Is(err, io.EOF) {
			return "", err
		}
	}
	return text, nil
}

// A file that is cut anywhere, or continues, is not a file.
func TestCutFiles(t *testing.T) {
	b := smallFile(t, "snappy")
	for n := range b {
		if checkPart(t, b[:n]) == nil {
			t.Fatalf("%d of %d bytes are a file", n, len(b))
		}
		if n > 0 && n < 64 && checkPart(t, append(bytes.Clone(b), b[:n]...)) == nil {
			t.Fatalf("%d bytes after the end are not reported", n)
		}
	}
}

func TestDumpHasEveryByte(t *testing.T) {
	for _, f := range eachForm(t) {
		b := f.file
		var out bytes.Buffer
		testenv.Must(t, mustOpen(t, b).Dump(&out))
		if got := formattest.Dumped(out.Bytes()); !bytes.Equal(got, b) {
			t.Errorf("%s: the dump has %d bytes, the file %d", f.name, len(got), len(b))
		}
		for _, line := range []string{"rest", "belong", "damaged"} {
			if strings.Contains(out.String(), line) {
				t.Errorf("%s: the dump has %q", f.name, line)
			}
		}
		if dictionary := strings.Contains(out.String(), `header of the dictionary of "name"`); dictionary != f.coded {
			t.Errorf("%s: the dump has the header of a dictionary: %v", f.name, dictionary)
		}
		b[30] ^= 1 // of the first page
		out.Reset()
		p, err := openFile(b, smallPages)
		if err != nil {
			continue
		}
		if err := p.Dump(&out); !isDamage(err) || !bytes.Equal(formattest.Dumped(out.Bytes()), b) {
			t.Errorf("%s: the dump of a damaged file: %v", f.name, err)
		}
	}
}

// randomSchema returns a random schema and rows of it, some of which repeat.
func randomSchema(t testing.TB, r *rand.Rand, n int) (schema string, rows [][]byte) {
	t.Helper()
	schema = randavro.Schema(r)
	parsed, err := shred.ParseSchema(schema)
	testenv.Must(t, err)
	rows = make([][]byte, n)
	for i := range rows {
		if rows[i], _ = randavro.Pair(r, parsed.Root()); i > 10 && r.IntN(3) == 0 {
			rows[i] = rows[r.IntN(i)]
		}
	}
	return schema, rows
}

// Random columns are the same as in Trevni, in any order of reading.
func TestCursorsAgreeWithTrevni(t *testing.T) {
	for seed := range soak.Rounds[uint64](30, 300) {
		r := rand.New(rand.NewPCG(seed, 23))
		schema, rows := randomSchema(t, r, []int{1, 20, 200, 600}[r.IntN(4)])
		b := dividedFile(t, r, schema, randomOptions(t, r, schema, testCodecs), 50+r.IntN(4000), rows)
		want := formattest.MustOpen(t, trevni.Format, formattest.Rows(t, trevni.Format, map[string][]string{"codec": {"null"}}, schema, rows, 1000).Files(t), smallPages)
		checkAgainst(t, seed, r, b, want, schema)
		checkAgainst(t, seed, r, newRewriter(t, b, r).file(), want, schema)
	}
}

// checkAgainst compares a file with a part of the same rows.
func checkAgainst(t *testing.T, seed uint64, r *rand.Rand, b []byte, want format.Part, schema string) {
	t.Helper()
	p := mustOpen(t, b)
	if err := p.Verify(t.Context(), nil); err != nil || p.Schema() != schema || p.Rows() != want.Rows() {
		t.Fatalf("seed %d: %d rows, %v", seed, p.Rows(), err)
	}
	cols := formattest.Mapping(t, schema).Columns
	for col, c := range p.Columns() {
		if !reflect.DeepEqual(c.Column, cols[col]) {
			t.Errorf("seed %d: column %+v, want %+v", seed, c.Column, cols[col])
		}
		formattest.CompareCursors(t, fmt.Sprintf("seed %d", seed), r, p, want, col, isDamage)
	}
}

// Vectors are not filled beyond their limit, and the next read goes on with the rest.
func TestFullVectors(t *testing.T) {
	for _, b := range [][]byte{smallFile(t, "snappy"), newRewriter(t, smallFile(t, "none"), rand.New(rand.NewPCG(4, 4))).file()} {
		p := mustOpen(t, b)
		for col, info := range p.Columns() {
			c, err := p.Cursor(col)
			testenv.Must(t, err)
			var all, whole column.Vector
			units := 0
			for {
				v := column.Vector{Limit: 2}
				n, _, err := c.Read(&v, 100)
				if errors.Is(err, column.ErrFull) {
					v = column.Vector{Limit: 6}
					n, _, err = c.Read(&v, 100)
				}
				if errors.Is(err, io.EOF) {
					break
				}
				testenv.Must(t, err)
				if v.Values > 6 && info.Type != column.Null {
					t.Errorf("column %s: %d values", info.Name, v.Values)
				}
				units += n
				testenv.Must(t, all.Extend(info.Type, v.Lengths, &v, 0, v.Values))
			}
			testenv.Must(t, c.SeekRow(0))
			_, err = formattest.ReadMany(c, &whole, units)
			testenv.Must(t, err)
			if !reflect.DeepEqual(formattest.VectorText(&all), formattest.VectorText(&whole)) {
				t.Errorf("column %s: %v, want %v", info.Name, formattest.VectorText(&all), formattest.VectorText(&whole))
			}
		}
	}
}

// Memory is reserved for what is read, and released by Verify and Dump. Too little of it is not
// damage.
func TestPartMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	schema, rows := randomSchema(t, r, 300)
	b := formattest.Rows(t, Format, map[string][]string{optionFilter: {"id"}}, schema, rows, 500).Files(t)[""]
	var free formattest.Memory
	p, err := openFile(b, format.OpenOptions{Memory: &free})
	testenv.Must(t, err)
	held := free.Held
	testenv.Must(t, p.Verify(t.Context(), nil), p.Dump(io.Discard))
	if free.Held != held {
		t.Errorf("%d bytes held, %d before", free.Held, held)
	}
	for limit := free.Peak - 1; limit > 0; limit = limit * 3 / 4 {
		memory := formattest.Memory{Limit: limit}
		p, err := openFile(b, format.OpenOptions{Memory: &memory})
		held := memory.Held // of indexes, if the file could be opened
		if err == nil {
			err = p.Verify(t.Context(), nil)
		} else if held > 0 {
			t.Fatalf("with %d bytes: %d bytes are held after an error", limit, held)
		}
		if !errors.Is(err, formattest.ErrMemory) || isDamage(err) {
			t.Fatalf("with %d bytes: %v", limit, err)
		}
		if memory.Held != held {
			t.Fatalf("with %d bytes: %d bytes are held, %d before", limit, memory.Held, held)
		}
	}
}

// Bounds of blocks are bounds of their values.
func TestBlockBounds(t *testing.T) {
	p := mustOpen(t, smallFile(t, "snappy"))
	for col, name := range map[int]string{0: "id", 3: "name"} {
		blocks, err := boundedBlocks(p, col)
		testenv.Must(t, err)
		if len(blocks) < 2 {
			t.Errorf("%s has %d blocks", name, len(blocks))
		}
		for _, b := range blocks {
			if b.Min == nil || b.Max == nil || b.Rows == 0 || b.StoredSize == 0 || b.RawSize == 0 {
				t.Errorf("%s: %+v", name, b)
			}
			if low, _ := binary.Varint(b.Min); col == 0 && low != b.FirstRow {
				t.Errorf("%s: %+v begins with %d", name, b, low)
			}
			if high, _ := binary.Varint(b.Max); col == 0 && high != b.FirstRow+b.Rows-1 {
				t.Errorf("%s: %+v ends with %d", name, b, high)
			}
		}
	}
	for _, col := range []int{1, 4, 5} { // a boolean, an enum, a decimal
		blocks, err := boundedBlocks(p, col)
		testenv.Must(t, err)
		for _, b := range blocks {
			if b.Min != nil || b.Max != nil {
				t.Errorf("column %d: %+v", col, b)
			}
		}
	}
}

// FuzzPart opens and reads arbitrary bytes.
func FuzzPart(f *testing.F) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, form := range eachForm(f) {
		f.Add(form.file)
		f.Add(newRewriter(f, form.file, r).file())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 1<<16 {
			_ = checkPart(t, b)
		}
	})
}
