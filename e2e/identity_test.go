package e2e

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

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

// underLargeMap returns the columns at or under a map with several entries in a row: Java
// returns those in another order.
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

// writeJava has Java write each input as a Trevni file.
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
	entries := realFiles(t, readable, javaRefuses)
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

// TestReadsJava reads Java's files, in all its codecs and checksums. The rows are those of
// the input, and cat prints the same for our own output, unless Java loses the order of
// maps.
func TestReadsJava(t *testing.T) {
	needJava(t)
	t.Parallel()
	entries, ours := realFiles(t, readable, javaRefuses), map[string]conversion{}
	for _, c := range wholeCorpus(t, readable, javaRefuses) {
		ours[c.file] = c
	}
	for i, codec := range []string{"null", "deflate", "snappy", "bzip2"} {
		for j, checksum := range []string{"null", "crc32"} {
			t.Run(codec+","+checksum, func(t *testing.T) {
				t.Parallel()
				chosen := entries
				if i+j > 0 {
					chosen = everyNth(entries, 8, 2*i+j)
				}
				theirs := writeJava(t, chosen, "write-all", codec, checksum)
				inParallel(len(chosen), func(k int) {
					e := chosen[k]
					if r := run(t, "verify", theirs[k], "--against", e.path); r.code != 0 {
						t.Errorf("%s: exit %d\n%s%s", e.file, r.code, r.stdout, r.stderr)
					}
					if c := ours[e.file]; i+j > 0 && !slices.Contains(open(t, c.parts[0]).underLargeMap(t), true) {
						if got, want := run(t, "cat", theirs[k]), run(t, "cat", c.dest); got.code != 0 || got.stdout != want.stdout {
							t.Errorf("%s: cat: exit %d, %d bytes, want %d\n%s", e.file, got.code, len(got.stdout), len(want.stdout), got.stderr)
						}
					}
				})
			})
		}
	}
}
