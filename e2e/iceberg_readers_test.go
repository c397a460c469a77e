package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestIcebergReaders has engines query tables without a pause while outputs are replaced. A
// query must not fail, and must not see rows of two outputs.
func TestIcebergReaders(t *testing.T) {
	const rows = 100
	l := newLake(t, "", []string{"--row-group-size=64KiB", "--overwrite"}, "sql", "hadoop")
	replace := func() {
		l.removeInputs(t)
		l.make(t, "a.avro", rows, 1)
		l.convert(t)
		l.sync(t, "--keep-snapshots=3")
	}
	replace()
	watches := []*watch{startWatch(t, "PyIceberg", l.tables[0], rows), startWatch(t, "DuckDB", l.tables[1], rows)}
	for range 20 {
		replace()
	}
	for _, w := range watches {
		queries, outputs := w.stop(t)
		t.Logf("%s: %d queries saw %d outputs", w.engine, queries, outputs)
		if queries < 20 || outputs < 2 {
			t.Errorf("%s was too slow", w.engine)
		}
	}
}

// watch is an engine that queries a table without a pause.
type watch struct {
	engine string
	*running
	stdin  io.Closer
	stdout *strings.Builder
}

// startWatch starts an engine. The table must always have the same number of rows.
func startWatch(t *testing.T, engine string, of table, rows int) *watch {
	t.Helper()
	program, err := pythonEnvironment()
	must(t, err)
	description, err := json.Marshal(of)
	must(t, err)
	cmd := exec.Command(program, "python/icebergtables.py", "watch", engine, string(description), strconv.Itoa(rows))
	w := &watch{engine: engine, stdout: &strings.Builder{}}
	cmd.Stdout = w.stdout
	w.stdin, err = cmd.StdinPipe()
	must(t, err)
	w.running = launch(t, cmd)
	return w
}

// stop ends the queries. It returns the number of queries and of the outputs that they saw.
func (w *watch) stop(t *testing.T) (queries, outputs int) {
	t.Helper()
	must(t, w.stdin.Close())
	w.want(t, 0)
	_, err := fmt.Sscan(w.stdout.String(), &queries, &outputs)
	must(t, err)
	return queries, outputs
}
