package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
)

// TestParquetRowGroups checks that readers, rowtocol among them, find all rows of a file of several
// row groups, and use the statistics and the indexes of each. rowtocol also reads the row groups that
// pyarrow and parquet-avro make of these rows.
func TestParquetRowGroups(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	const rows, blockRows = 1_100_000, 10_000
	const schema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"word","type":["null","string"]},{"name":"items","type":{"type":"array","items":"int"}}]}`
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, schema, "null", [16]byte{1})
	must(t, err)
	var block []byte
	for id := range int64(rows) {
		block = binary.AppendVarint(block, id)
		if id%7 == 0 {
			block = append(block, 0)
		} else {
			word := fmt.Sprint("word ", id%1000)
			block = append(binary.AppendVarint(append(block, 2), int64(len(word))), word...)
		}
		if n := id % 3; n > 0 {
			block = binary.AppendVarint(block, n)
			for i := range n {
				block = binary.AppendVarint(block, id%100+i)
			}
		}
		block = append(block, 0)
		if id%blockRows == blockRows-1 {
			must(t, w.AppendBlock(blockRows, block))
			block = block[:0]
		}
	}
	avro, parquet := dir+"/rows.avro", dir+"/rows.parquet"
	must(t, os.WriteFile(avro, file.Bytes(), 0o600))
	run(t, "cat", "--to", "parquet", "--output", parquet, avro).want(t, 0)
	python(t, "rowgroups.py", parquet, fmt.Sprint(rows), dir)
	checkRowGroups(t, avro, parquet, rows)
	byJava := dir + "/java.parquet"
	java.call(t, "parquet-cli", "convert", "--row-group-size", "1000000", "-o", byJava, avro)
	if meta := strings.Join(java.call(t, "parquet-cli", "meta", byJava), " "); !strings.Contains(meta, "Row group 2") {
		t.Errorf("parquet-java wrote fewer row groups than expected: %.500s", meta)
	}
	checkRowGroups(t, avro, byJava, rows)
	for i := range pyarrowFiles {
		checkRowGroups(t, avro, fmt.Sprintf("%s/pyarrow%d.parquet", dir, i), 20_000)
	}
	if v := java.list(t, [][]string{{avro, parquet}}, "compare", "-")[0]; !v.pass || v.detail != fmt.Sprintf("%d rows", rows) {
		t.Errorf("parquet-java: %s", v.detail)
	}
	var selected, all int
	answer := java.call(t, "selected", parquet, "id", "1090000")[0]
	if _, err := fmt.Sscan(answer, &selected, &all); err != nil || selected < 1 || selected > all/2 {
		t.Errorf("parquet-java reads pages of %s rows (%v)", answer, err)
	}
}

// pyarrowFiles is the number of files that rowgroups.py writes.
const pyarrowFiles = 3

// checkRowGroups checks that rowtocol reads the first rows of an Avro file from a Parquet file.
func checkRowGroups(t *testing.T, avro, parquet string, rows int) {
	t.Helper()
	run(t, "verify", parquet).want(t, 0)
	const where = "word = 'word 77' and items is not null and (id < 5000 or id > 19000)"
	for _, query := range [][]string{{"--limit", fmt.Sprint(rows)}, {"--where", fmt.Sprintf("%s and id < %d", where, rows)}, {"--columns", "items", "--limit", "15000"}} {
		want := run(t, append([]string{"cat", "--to", "json", avro}, query...)...)
		want.want(t, 0)
		if got := run(t, append([]string{"cat", "--to", "json", parquet}, query...)...); got.code != 0 || got.stdout != want.stdout || len(got.stdout) == 0 {
			t.Errorf("%s: %s: exit %d, %d bytes of rows, expected %d", parquet, query, got.code, len(got.stdout), len(want.stdout))
		}
	}
}
