package e2e

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/trevni"
)

var mu sync.Mutex // guards the sums of tests that work in parallel

// columnFile is a Trevni file in memory.
type columnFile struct {
	*trevni.File
	data []byte
}

func open(t *testing.T, path string) columnFile {
	t.Helper()
	data := readFile(t, path)
	f, err := trevni.Open(bytes.NewReader(data), int64(len(data)), path)
	must(t, err)
	return columnFile{f, data}
}

// section returns the bytes of a column: its block table and its blocks.
func (f columnFile) section(col int) []byte {
	end := int64(len(f.data))
	if col+1 < len(f.Columns()) {
		end = f.Columns()[col+1].Start
	}
	return f.data[f.Columns()[col].Start:end]
}

// underLargeMap returns the columns that are, or are under, a map of which a
// row has two entries or more: Java gives those back in another order.
func (f columnFile) underLargeMap(t *testing.T) []bool {
	t.Helper()
	cols := f.Columns()
	large := make([]bool, len(cols))
	items := make([]int64, len(cols))
	for i, c := range cols {
		sequences := f.RowCount()
		if c.Parent >= 0 {
			sequences = items[c.Parent]
			large[i] = large[c.Parent]
		}
		if !c.Array {
			continue
		}
		cursor, err := f.Cursor(i)
		must(t, err)
		for range sequences {
			n, err := cursor.Length()
			must(t, err)
			for range n {
				if _, err := cursor.Value(nil); err != nil {
					t.Fatal(err)
				}
			}
			items[i] += int64(n)
			large[i] = large[i] || n > 1 && strings.HasSuffix(c.Name, ">")
		}
	}
	return large
}

// writeJava lets Java write each input as a Trevni file.
func writeJava(t *testing.T, entries []entry, command, codec, checksum string) []string {
	t.Helper()
	dir := t.TempDir()
	lines, files := make([][]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		files[i] = filepath.Join(dir, strconv.Itoa(i)+".trv")
		lines[i] = []string{e.path, files[i]}
	}
	for i, v := range java.list(t, lines, command, "-", codec, checksum) {
		if !v.pass {
			t.Fatalf("%s: java does not write it: %s", entries[i].file, v.detail)
		}
	}
	return files
}

func TestSameBytesAsJava(t *testing.T) {
	needJava(t)
	entries := corpus(t, readable, odd)
	ours := convertAll(t, entries, "--codec=null", "--checksum=null")
	theirs := writeJava(t, entries, "write-all", "null", "null")
	var columns, sameBytes, underMaps int
	for i, e := range entries {
		if len(ours[i].parts) != 1 {
			t.Fatalf("%s: %d parts", e.file, len(ours[i].parts))
		}
		got, want := open(t, ours[i].parts[0]), open(t, theirs[i])
		if n := int64(len(got.Columns())); n != e.columns || len(want.Columns()) != int(n) {
			t.Errorf("%s: %d columns, the index says %d, java %d", e.file, n, e.columns, len(want.Columns()))
			continue
		}
		var large []bool
		for c := range got.Columns() {
			columns++
			if g, w := got.Columns()[c].Column, want.Columns()[c].Column; g.Name != w.Name || g.Type != w.Type || g.Array != w.Array || g.Parent != w.Parent {
				t.Errorf("%s: column %d is %+v, java's %+v", e.file, c, g, w)
			}
			if bytes.Equal(got.section(c), want.section(c)) {
				sameBytes++
				continue
			}
			if large == nil {
				large = got.underLargeMap(t)
			}
			if !large[c] {
				t.Errorf("%s: column %s differs from java's", e.file, got.Columns()[c].Name)
			}
			underMaps++
		}
	}
	t.Logf("%d columns of %d files: %d byte-identical, %d under maps in another order", columns, len(entries), sameBytes, underMaps)
}

// rowsOf assembles all rows of a file.
func rowsOf(t *testing.T, f columnFile) [][]byte {
	t.Helper()
	s, err := shred.ParseSchema(f.Schema())
	must(t, err)
	m, err := shred.Map(s, shred.Options{})
	must(t, err)
	cols := make([]shred.Values, len(m.Columns))
	for i := range cols {
		c, err := f.Cursor(i)
		must(t, err)
		cols[i] = c
	}
	a := shred.NewAssembler(m, cols, nil)
	a.Start(f.RowCount())
	rows := make([][]byte, f.RowCount())
	for i := range rows {
		if rows[i], err = a.Row(nil); err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
	}
	return rows
}

// TestReadsJava reads what Java wrote. The rows are those of our own output,
// which Java has judged; where maps make Java lose the order, goavro compares
// them with the input.
func TestReadsJava(t *testing.T) {
	needJava(t)
	t.Parallel()
	entries := corpus(t, readable, odd)
	ours := wholeCorpus(t, readable, odd)
	want := map[string][][]byte{} // by file; nil where Java loses the order
	for i, e := range entries {
		f := open(t, ours[i].parts[0])
		if !slices.Contains(f.underLargeMap(t), true) {
			want[e.file] = append([][]byte{}, rowsOf(t, f)...)
		}
	}
	for i, codec := range []string{"null", "deflate", "snappy", "bzip2"} {
		for j, checksum := range []string{"null", "crc32"} {
			t.Run(codec+","+checksum, func(t *testing.T) {
				t.Parallel()
				chosen := entries
				if i+j > 0 {
					chosen = thinned(entries, 8, 2*i+j)
				}
				theirs := writeJava(t, chosen, "write-all", codec, checksum)
				for k, e := range chosen {
					w := want[e.file]
					if w == nil {
						run(t, "verify", theirs[k], "--against", e.path).want(t, 0)
						continue
					}
					got := rowsOf(t, open(t, theirs[k]))
					if len(got) != len(w) {
						t.Errorf("%s: %d rows, want %d", e.file, len(got), len(w))
						continue
					}
					for r := range got {
						if !bytes.Equal(got[r], w[r]) {
							t.Errorf("%s: row %d differs", e.file, r)
							break
						}
					}
				}
			})
		}
	}
}
