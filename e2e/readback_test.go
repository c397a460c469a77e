package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/column"
	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/trevni"
)

// readBackCommand as first argument makes this test binary read a column file
// as e2e/java's commands of the same names do.
const readBackCommand = "read-back"

func readBack(command string, args []string) error {
	file, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f, err := trevni.Open(file, info.Size(), args[0])
	if err != nil {
		return err
	}
	var n int64
	if command == "rows" {
		n, err = assembleAll(f)
	} else {
		n, err = sumColumn(f, args[1])
	}
	if err == nil {
		fmt.Println(n)
	}
	return err
}

// assembleAll makes all rows and gives their number.
func assembleAll(f *trevni.File) (int64, error) {
	s, err := shred.ParseSchema(f.Schema())
	if err != nil {
		return 0, err
	}
	m, err := shred.Map(s, shred.Options{})
	if err != nil {
		return 0, err
	}
	cols := make([]*column.Reader, len(m.Columns))
	for i := range cols {
		c, err := f.Cursor(i)
		if err != nil {
			return 0, err
		}
		cols[i] = c.Reader
	}
	a := shred.NewAssembler(m, cols)
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
		if _, err := c.Read(&v, int(n)); err != nil {
			return 0, err
		}
		for _, x := range v.Ints {
			sum += int64(x)
		}
		for _, x := range v.Longs {
			sum += x
		}
		left -= n
	}
	return sum, nil
}

// reading is one thing to do with a file. Java may have two ways to do it.
type reading struct {
	set, name string
	ours      []string
	java      [][]string
}

// BenchmarkReadBack prints what reading whole rows, and adding up one nullable
// column, costs Java's Trevni and us: processor time of whole processes on one
// core, the least of b.N runs that take turns, and of Java's ways the faster.
//
//	go test -run '^$' -bench ReadBack -benchtime 5x ./e2e
func BenchmarkReadBack(b *testing.B) {
	if java.missing != "" {
		b.Skip(java.missing)
	}
	dir := b.TempDir()
	var all []reading
	for _, of := range []struct {
		set           datagen.Set
		field, column string
		typ           string
	}{
		{lookup(b, "mail"), "size", "size/int", "int"},
		{datagen.Flat(40, 300_000), "c0004", "c0004/long", "long"},
	} {
		file := convertSet(b, dir, of.set)
		schema := filepath.Join(dir, of.set.Name+".avsc")
		one := fmt.Sprintf(`{"type":"record","name":%q,"namespace":%q,"fields":[{"name":%q,"type":["null",%q]}]}`,
			recordName(b, of.set)[0], recordName(b, of.set)[1], of.field, of.typ)
		must(b, os.WriteFile(schema, []byte(one), 0o666))
		all = append(all,
			reading{of.set.Name, "all rows", []string{"rows", file}, [][]string{{"rows", file}}},
			reading{of.set.Name, "sum of " + of.column, []string{"sum", file, of.column}, [][]string{{"sum", file, of.column}, {"rows", file, schema}}},
		)
	}
	self, err := os.Executable()
	must(b, err)
	ours, theirs := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	for range b.N {
		for i, r := range all {
			got := processorTime(b, &ours[i], self, append([]string{readBackCommand}, r.ours...)...)
			for k, args := range r.java {
				if want := processorTime(b, &theirs[i], java.script, args...); k == 0 && got != want {
					b.Fatalf("%s, %s: %s, java has %s", r.set, r.name, got, want)
				}
			}
		}
	}
	fmt.Printf("%-8s %-20s %8s %8s %6s\n", "set", "what", "Java s", "ours s", "ratio")
	for i, r := range all {
		fmt.Printf("%-8s %-20s %8.2f %8.3f %6.1f\n", r.set, r.name, theirs[i].Seconds(), ours[i].Seconds(), theirs[i].Seconds()/ours[i].Seconds())
	}
}

func lookup(b *testing.B, name string) datagen.Set {
	s, err := datagen.Lookup(name)
	must(b, err)
	return s
}

// recordName is the name of a set's rows, and its namespace.
func recordName(b *testing.B, set datagen.Set) [2]string {
	s, err := shred.ParseSchema(set.Schema())
	must(b, err)
	full := s.Root().FullName()
	i := strings.LastIndexByte(full, '.')
	return [2]string{full[i+1:], full[:max(i, 0)]}
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

// processorTime runs a program on one core and gives what it printed. least
// becomes what the program took if that is less, or if it is 0.
func processorTime(b *testing.B, least *time.Duration, program string, args ...string) string {
	b.Helper()
	cmd := exec.Command("taskset", append([]string{"-c", "0", program}, args...)...)
	// The tests' Java saves on its compiler; here it may take its time.
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "ORACLE_JAVA_OPTS=-XX:TieredStopAtLevel=4")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(b, err)
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if *least == 0 || took < *least {
		*least = took
	}
	return strings.TrimSpace(string(out))
}
