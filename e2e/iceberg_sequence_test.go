package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// icebergStep is a change of a destination.
type icebergStep struct {
	name    string
	make    []string // new inputs
	version int      // of their schema
	replace bool     // they replace the inputs before
	flags   []string // of convert
	day     string   // a partition: a query of it reads fewer files
}

const rowsOfStep = 150 // and of each of its inputs

// TestIcebergSequence changes destinations and syncs their tables after each change. Each time,
// all engines must read the rows of the inputs, and read fewer files for the latest rows or
// for a partition.
func TestIcebergSequence(t *testing.T) {
	engines := []string{"PyIceberg", "DuckDB", "iceberg-go", "Spark"}
	increment, partitioned := []string{"--incremental"}, []string{"--partitioned"}
	for _, tt := range []struct {
		name  string
		kinds []string
		steps []icebergStep
	}{
		{"increments", []string{"sql", "hadoop"}, []icebergStep{
			{name: "first output", make: []string{"0.avro"}, flags: increment},
			{name: "increment 1", make: []string{"1.avro"}, flags: increment},
			{name: "increment 2", make: []string{"2.avro"}, flags: increment},
			{name: "increment 3", make: []string{"3.avro", "4.avro"}, flags: increment},
			{name: "increment 4", make: []string{"5.avro"}, flags: increment},
			{name: "increment 5", make: []string{"6.avro"}, flags: increment},
			{name: "overwrite", make: []string{"7.avro", "8.avro"}, replace: true, flags: []string{"--overwrite"}},
			{name: "evolved overwrite", make: []string{"9.avro"}, version: 2, replace: true, flags: []string{"--overwrite"}},
		}},
		{"partitions", []string{"rest", "hadoop"}, []icebergStep{
			{name: "first outputs", make: []string{"dt=2026-01-01/a.avro", "dt=2026-01-02/a.avro"}, flags: partitioned, day: "2026-01-02"},
			{name: "increment", make: []string{"dt=2026-01-02/b.avro", "dt=2026-01-03/a.avro"}, flags: partitioned, day: "2026-01-02"},
			{name: "evolved", make: []string{"dt=2026-01-04/a.avro"}, version: 2, flags: partitioned, day: "2026-01-04"},
			{name: "reprocessed", make: []string{"dt=2026-01-01/c.avro"}, flags: append(partitioned, "--reprocess"), day: "2026-01-01"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLake(t, "", []string{"--row-group-size=64KiB"}, tt.kinds...)
			for _, step := range tt.steps {
				t.Log(step.name)
				if step.replace {
					l.removeInputs(t)
				}
				for _, name := range step.make {
					l.make(t, name, rowsOfStep, max(step.version, 1))
				}
				l.convert(t, step.flags...)
				l.sync(t)
				conditions := map[string]any{"after": l.rows - 20}
				if step.day != "" {
					conditions["day"] = step.day
				}
				l.check(t, engines, conditions)
			}
		})
	}
}

// TestIcebergConditions has engines select rows by conditions of each scalar column. The bounds of
// files must not make them miss rows. Spark refuses the table, because it has times of day.
func TestIcebergConditions(t *testing.T) {
	l := newLake(t, "", []string{"--row-group-size=64KiB", "--incremental"}, "sql")
	for i := range 3 {
		l.make(t, fmt.Sprintf("%d.avro", i), rowsOfStep, 3)
		l.convert(t)
	}
	l.sync(t)
	engines := []string{"PyIceberg", "DuckDB"}
	l.check(t, append(engines, "iceberg-go"), nil)
	arguments := map[string]any{"table": l.tables[0], "files": l.inputs, "engines": engines}
	if wrong := l.judge.ask(t, "conditions", arguments); wrong != "" {
		t.Error(wrong)
	}
	arguments = map[string]any{"table": l.tables[0], "files": l.inputs, "engines": []string{"Spark"}}
	if wrong := l.judge.ask(t, "check", arguments); !strings.Contains(wrong, "Spark does not support time fields") {
		t.Errorf("Spark says %q", wrong)
	}
}
