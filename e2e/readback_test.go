package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// readBackCommand as first argument makes this test binary read a column file PASSES times,
// like the commands of the same names of e2e/java and e2e/python/readback.py.
const readBackCommand = "read-back"

func readBack(command string, args []string) error {
	passes, err := strconv.Atoi(os.Getenv("PASSES"))
	if err != nil {
		return err
	}
	var n int64
	for range passes {
		switch command {
		case "start":
		case "rows":
			n, err = readColumns(args[0], assembleAll)
		case "columns":
			n, err = decodeAll(args[0])
		case "sum":
			n, err = readColumns(args[0], func(f *trevni.File) (int64, error) { return sumColumn(f, args[1]) })
		default:
			err = errors.New("unknown command " + command)
		}
		if err != nil {
			return err
		}
	}
	fmt.Println(n)
	return nil
}

func readColumns(name string, read func(*trevni.File) (int64, error)) (int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	f, err := trevni.Open(file, info.Size(), name)
	if err != nil {
		return 0, err
	}
	return read(f)
}

// decodeAll decodes all columns and returns the number of rows.
func decodeAll(name string) (int64, error) {
	ctx := context.Background()
	d, err := dataset.Open(ctx, []store.Location{{Store: store.Local(), Path: name}}, dataset.Options{})
	if err != nil {
		return 0, err
	}
	b, err := d.Batches(ctx, dataset.Query{Limit: -1})
	if err != nil {
		return 0, err
	}
	defer b.Close()
	var rows int64
	for b.Next() {
		rows += int64(b.Rows())
	}
	return rows, b.Err()
}

// assembleAll assembles all rows and returns their number.
func assembleAll(f *trevni.File) (int64, error) {
	s, err := shred.ParseSchema(f.Schema())
	if err != nil {
		return 0, err
	}
	m, err := shred.Map(s, shred.Options{})
	if err != nil {
		return 0, err
	}
	cols := make([]shred.Values, len(m.Columns))
	for i := range cols {
		c, err := f.Cursor(i)
		if err != nil {
			return 0, err
		}
		cols[i] = c
	}
	a := shred.NewAssembler(m, cols, nil)
	a.Start(f.RowCount())
	var row []byte
	for range f.RowCount() {
		if row, err = a.Row(row[:0]); err != nil {
			return 0, err
		}
	}
	return f.RowCount(), nil
}

// sumColumn adds up a column of optional numbers.
func sumColumn(f *trevni.File, name string) (sum int64, err error) {
	cols := f.Columns()
	c, err := f.Cursor(slices.IndexFunc(cols, func(c trevni.Column) bool { return c.Name == name }))
	if err != nil {
		return 0, err
	}
	var v column.Vector
	for left := f.RowCount(); left > 0; {
		n := min(left, 4096)
		v.Reset()
		read, _, err := c.Read(&v, int(n))
		if err != nil {
			return 0, err
		}
		for _, x := range v.Ints {
			sum += int64(x)
		}
		for _, x := range v.Longs {
			sum += x
		}
		left -= int64(read)
	}
	return sum, nil
}

// reading is an operation on a file by a program. For each operation, rowtocol is first,
// and the others must have its result.
type reading struct {
	set, what, reader string
	command           []string
	repeats           int  // further passes in a second process, which measure one pass; 0 for no such process
	slow              bool // runs once only

	first, again time.Duration // processor time of a process with 1 pass, and with 1 + repeats
	result       string
}

// BenchmarkReadBack prints the cost of reading rows and columns back, next to that of Java's
// Trevni from the same file, and of pyarrow and DuckDB from a Parquet file of the same
// rows. A cost is the processor time of a whole process on one core, the least of b.N
// alternating runs.
//
//	go test -run '^$' -bench ReadBack -benchtime 5x -timeout 1h ./e2e
func BenchmarkReadBack(b *testing.B) {
	if java.missing != "" {
		b.Skip(java.missing)
	}
	python, err := pythonEnvironment()
	if err != nil {
		b.Skip(err)
	}
	self, err := os.Executable()
	must(b, err)
	programs := map[string][]string{
		"rowtocol": {self, readBackCommand}, "Java": {java.script},
		"pyarrow": {python, "python/readback.py", "pyarrow"}, "DuckDB": {python, "python/readback.py", "duckdb"},
	}
	all := readings(b, b.TempDir())
	for i := range all {
		program, _, _ := strings.Cut(all[i].reader, " ")
		all[i].command = append(slices.Clone(programs[program]), all[i].command...)
	}
	for round := range b.N {
		for i := range all {
			all[i].measure(b, round)
		}
	}
	printReadings(b, all)
}

// readings makes the files and returns the operations on them, without the programs.
func readings(b *testing.B, dir string) []reading {
	var all []reading
	for _, reader := range []string{"rowtocol", "Java", "pyarrow", "DuckDB"} {
		all = append(all, reading{what: "start only", reader: reader, command: []string{"start"}})
	}
	for _, of := range []struct {
		set                datagen.Set
		field, column, typ string
	}{
		{lookup(b, "mail"), "size", "size/int", "int"},
		{datagen.Flat(40, 300_000), "c0004", "c0004/long", "long"},
	} {
		name, file, parquet := of.set.Name, convertSet(b, dir, of.set), filepath.Join(dir, of.set.Name+".parquet")
		run(b, "cat", "--to", "parquet", "--output", parquet, file).want(b, 0)
		schema := filepath.Join(dir, name+".avsc")
		one := fmt.Sprintf(`{"type":"record","name":%q,"namespace":%q,"fields":[{"name":%q,"type":["null",%q]}]}`,
			recordName(b, of.set)[0], recordName(b, of.set)[1], of.field, of.typ)
		must(b, os.WriteFile(schema, []byte(one), 0o666))
		sum := "sum of " + of.field + ", a nullable " + of.typ
		for _, r := range []reading{
			{what: "whole rows", reader: "rowtocol", command: []string{"rows", file}, repeats: 4},
			{what: "whole rows", reader: "Java AvroColumnReader", command: []string{"rows", file}, repeats: 4},
			{what: "whole rows", reader: "pyarrow to_pylist", command: []string{"rows", parquet}, slow: true},
			{what: "whole rows", reader: "DuckDB fetchmany", command: []string{"rows", parquet}, slow: true},
			{what: "all columns, no rows", reader: "rowtocol", command: []string{"columns", file}, repeats: 4},
			{what: "all columns, no rows", reader: "pyarrow", command: []string{"columns", parquet}, repeats: 4},
			{what: "all columns, no rows", reader: "DuckDB", command: []string{"columns", parquet}, repeats: 4},
			{what: sum, reader: "rowtocol", command: []string{"sum", file, of.column}, repeats: 20},
			{what: sum, reader: "Java ColumnValues", command: []string{"sum", file, of.column}, repeats: 20},
			{what: sum, reader: "Java AvroColumnReader", command: []string{"sum-rows", file, schema}, repeats: 20},
			{what: sum, reader: "pyarrow", command: []string{"sum", parquet, of.field}, repeats: 20},
			{what: sum, reader: "DuckDB", command: []string{"sum", parquet, of.field}, repeats: 20},
		} {
			r.set = name
			all = append(all, r)
		}
	}
	return all
}

// measure runs the program once more.
func (r *reading) measure(b *testing.B, round int) {
	if r.slow && round > 0 {
		return
	}
	r.result = processorTime(b, &r.first, 1, r.command)
	if r.repeats > 0 {
		processorTime(b, &r.again, 1+r.repeats, r.command)
	}
}

// printReadings prints a table in Markdown.
func printReadings(b *testing.B, all []reading) {
	fmt.Println("| set | what | reader | process, CPU s | : rowtocol | a further pass, CPU s | : rowtocol |")
	fmt.Println("|---|---|---|---:|---:|---:|---:|")
	var ours *reading
	for i := range all {
		r := &all[i]
		if r.reader == "rowtocol" {
			ours = r
		}
		compared := r.set == ours.set && r.what == ours.what
		if compared && r.result != ours.result {
			b.Errorf("%s, %s: %s has %s, and rowtocol %s", r.set, r.what, r.reader, r.result, ours.result)
		}
		ratio, pass, passRatio := "", "", ""
		if compared {
			ratio = fmt.Sprintf("%.1f", r.first.Seconds()/ours.first.Seconds())
		}
		if r.repeats > 0 {
			pass = fmt.Sprintf("%.4f", r.pass().Seconds())
			if compared {
				passRatio = fmt.Sprintf("%.1f", r.pass().Seconds()/ours.pass().Seconds())
			}
		}
		fmt.Printf("| %s | %s | %s | %.3f | %s | %s | %s |\n", r.set, r.what, r.reader, r.first.Seconds(), ratio, pass, passRatio)
	}
}

// pass returns the average cost of a pass in a process that made one before.
func (r *reading) pass() time.Duration { return (r.again - r.first) / time.Duration(r.repeats) }

func lookup(b *testing.B, name string) datagen.Set {
	s, err := datagen.Lookup(name)
	must(b, err)
	return s
}

// recordName returns the name of a set's rows, and its namespace.
func recordName(b *testing.B, set datagen.Set) [2]string {
	s, err := shred.ParseSchema(set.Schema())
	must(b, err)
	namespace, name := shred.SplitName(s.Root().FullName())
	return [2]string{name, namespace}
}

// convertSet writes a set as one column file.
func convertSet(b *testing.B, dir string, set datagen.Set) string {
	input, out := filepath.Join(dir, set.Name+".avro"), filepath.Join(dir, set.Name)
	must(b, set.WriteFile(input, datagen.Options{Seed: 1, Codec: "snappy"}))
	r := run(b, "convert", "--json", "--row-group-size=1GiB", "--temp-dir", dir, input, out).want(b, 0)
	parts := r.report(b).parts(out)
	if len(parts) != 1 {
		b.Fatalf("%d parts", len(parts))
	}
	return parts[0]
}

// processorTime runs a command on one core and returns its output. It sets least to the
// processor time if that is less, or if least is 0.
func processorTime(b *testing.B, least *time.Duration, passes int, command []string) string {
	b.Helper()
	cmd := exec.Command("taskset", append([]string{"-c", "0"}, command...)...)
	// The tests' Java limits its compiler; here it may optimize fully.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "ORACLE_JAVA_OPTS=-XX:TieredStopAtLevel=4", fmt.Sprint("PASSES=", passes))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(b, err)
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if *least == 0 || took < *least {
		*least = took
	}
	return strings.TrimSpace(string(out))
}
