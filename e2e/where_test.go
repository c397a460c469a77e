package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestConditionsOfDuckDB selects rows by random conditions, and compares with DuckDB on a
// Parquet file of the same rows.
func TestConditionsOfDuckDB(t *testing.T) {
	for seed := range soak.Rounds(1, 8) {
		dir := t.TempDir()
		avro, conditions, answers := dir+"/rows.avro", dir+"/conditions.json", dir+"/answers.json"
		python(t, "conditions.py", "make", avro, conditions, strconv.Itoa(2*seed), strconv.Itoa(soak.Rounds(60, 250)))
		run(t, "convert", "--row-group-size", "100KiB", "--block-size", "4KiB", avro, dir+"/columns").want(t, 0)
		run(t, "cat", "--to", "parquet", "--output", dir+"/rows.parquet", dir+"/columns").want(t, 0)
		text, err := os.ReadFile(conditions)
		must(t, err)
		var asked [][2]string
		must(t, json.Unmarshal(text, &asked))
		answered := make([][]int, len(asked))
		for i, condition := range asked {
			answered[i] = []int{}
			out := run(t, "cat", "--columns", "id", "--to", "csv", "--where", condition[0], dir+"/columns").want(t, 0).stdout
			for _, line := range strings.Fields(out)[1:] {
				id, err := strconv.Atoi(line)
				must(t, err)
				answered[i] = append(answered[i], id)
			}
		}
		if text, err = json.Marshal(answered); err == nil {
			err = os.WriteFile(answers, text, 0o644)
		}
		must(t, err)
		python(t, "conditions.py", "judge", dir+"/rows.parquet", conditions, answers)
	}
}
