package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
)

// parquetLimits are the values that a reader of Parquet cannot represent, and what it finds
// wrong with them. Each names a file with such values.
var parquetLimits = []struct{ reader, reason, fault, file string }{
	{"pyarrow", "its times end before 24:00", "time32[ms] 86400000 is not within the acceptable range", lastMilli},
	{"Polars", "its times end before 24:00", "ts: which are null", lastMilli},
	{"DuckDB", "it has no nanoseconds with a time zone", "nanos: value", "all.avro"},
	{"Spark", "it has no times of day and no nanoseconds", "Illegal Parquet type", lastMilli},
	{"Spark", "its vectorized reader knows a decimal in bytes only from 19 digits", "physicalType: BINARY, logicalType: decimal", "fastavro+fastavro/tests__avro-files__java_generated_decimal.avro@8ba02bb8"},
	{"Java", "it has no fields of type null", `Cannot convert Avro type: "null"`, "duckdb+duckdb-avro/test__primitive_types.avro"},
	{"Java", "a file that leaves out records without fields has no Avro schema for Java", `"partition":{}`, "duckdb+duckdb-avro/test__4551fe85-feb8-43ec-8408-730e593c8b12-m0.avro"},
	{"Java", "a file that leaves out records without fields has no Avro schema for Java", `"money":{"money"`, "all.avro"},
	{"Java", "its rows are records", "Not a record", "apache+avro/share__test__interop__rpc__add__onePlusOne__response.avro"},
}

const lastMilli = "duckdb+duckdb-avro/test__time_millis.avro"

// parquetFault is what a reader finds wrong with the output of a file.
type parquetFault struct{ reader, text string }

// parquetEntries returns every nth file of the corpus, those of parquetLimits, and those that
// madeEntries writes into dir.
func parquetEntries(t *testing.T, dir string, n int) []entry {
	t.Helper()
	limited := map[string]bool{}
	for _, l := range parquetLimits {
		limited[l.file] = true
	}
	all := realFiles(t, readable, javaRefuses)
	entries := everyNth(all, n, 3)
	chosen := map[string]bool{}
	for _, e := range entries {
		chosen[e.file] = true
	}
	for _, e := range all {
		if limited[e.file] && !chosen[e.file] {
			entries = append(entries, e)
		}
	}
	return append(entries, madeEntries(t, dir)...)
}

// madeEntries writes rows of all types, the same without what Java cannot read, and mails.
func madeEntries(t *testing.T, dir string) []entry {
	t.Helper()
	entries := []entry{{file: "all.avro", rows: 3000}, {file: "for-java.avro", rows: 3000}, {file: "mail.avro", rows: 5000}}
	for i := range entries {
		entries[i].class, entries[i].path = "ok", filepath.Join(dir, entries[i].file)
	}
	python(t, "alltypes.py", "make", entries[0].path)
	python(t, "alltypes.py", "make", entries[1].path, "nothing", "empty")
	writeMail(t, entries[2].path, entries[2].rows)
	return entries
}

// TestParquetCorpus converts real files. Engines must read the values of the input, Java the
// rows, and cat must return them.
func TestParquetCorpus(t *testing.T) {
	needJava(t)
	t.Parallel()
	converted := convertAll(t, parquetEntries(t, t.TempDir(), 4), "--format=parquet")
	t.Run("engines", func(t *testing.T) {
		t.Parallel()
		wantLimits(t, converted, engineFaults(t, converted), "fastavro", "statistics", "pyarrow", "DuckDB", "Polars")
	})
	t.Run("Java", func(t *testing.T) {
		t.Parallel()
		var some []conversion
		for _, c := range converted {
			if classes[c.class] == readable {
				some = append(some, c)
			}
		}
		wantLimits(t, some, javaFaults(t, some), "Java")
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		inParallel(len(converted), func(i int) { wantRoundTrip(t, converted[i]) })
		wantWitnesses(t, converted)
	})
	t.Run("recursive", func(t *testing.T) {
		t.Parallel()
		var entries []entry
		for _, e := range realFiles(t, refused) {
			if e.class == "recursive" {
				entries = append(entries, e)
			}
		}
		recursive := convertAll(t, entries, "--format=parquet", "--recursive=bytes")
		inParallel(len(recursive), func(i int) { wantRoundTrip(t, recursive[i]) })
		wantWitnesses(t, recursive)
	})
}

// TestParquetForms has the engines read files of each compression, and those of an output of
// several parts.
func TestParquetForms(t *testing.T) {
	t.Parallel()
	entries := madeEntries(t, t.TempDir())
	entries = append(entries[:1], entries[2])
	var converted []conversion
	for _, flags := range everyNth([][]string{
		{"--compression=none", "--row-group-size=200KiB"},
		{"--compression=snappy", "--block-size=4KiB"},
		{"--compression=zstd", "--block-size=16KiB", "--row-group-size=1MiB"},
		{"--compression=gzip"},
		{"--compression=lz4_raw", "--row-group-size=500KiB"},
	}, 2, 0) {
		for _, c := range convertAll(t, entries, append([]string{"--format=parquet"}, flags...)...) {
			c.file += " " + strings.Join(flags, " ")
			converted = append(converted, c)
		}
	}
	wantLimits(t, converted, engineFaults(t, converted))
}

// encodedColumns are encodings of columns, and what engines say that do not read them. The
// columns are those of for-java.avro, or of nulls.avro, with pages that have no values.
var encodedColumns = []struct {
	nulls   bool
	columns map[string]string // by encoding
	refused map[string]string // by reader
}{
	{columns: map[string]string{
		"delta_binary_packed":     "id date time_millis time_micros millis micros nanos local_micros union/long pair/int option.n option.inner.z",
		"delta_byte_array":        "uuid union/string pair/string deep.m>key big decimal",
		"delta_length_byte_array": "raw color colors option.tags",
		"byte_stream_split":       "single double deep.m>value",
		"rle":                     "option/org.example.Option#either/boolean",
	}},
	{columns: map[string]string{
		"delta_byte_array":        "raw color colors option.tags",
		"delta_length_byte_array": "uuid union/string pair/string deep.m>key big",
		"plain":                   "single double option.n millis micros four",
	}},
	{columns: map[string]string{"plain": "raw decimal color id", "dictionary": "uuid four double option.tags"}},
	{nulls: true, columns: map[string]string{
		"delta_binary_packed": "int long longs", "byte_stream_split": "double", "delta_byte_array": "text color",
		"delta_length_byte_array": "raw", "rle": "truth truths",
	}},
	{nulls: true, columns: map[string]string{"delta_byte_array": "raw", "delta_length_byte_array": "text color", "plain": "int"}},
	{
		columns: map[string]string{"byte_stream_split": "id date time_micros union/long pair/int option.inner.z"},
		refused: map[string]string{"DuckDB": "only supported for FLOAT or DOUBLE"},
	},
	{
		columns: map[string]string{"byte_stream_split": "four money duration"},
		refused: map[string]string{"DuckDB": "only supported for FLOAT or DOUBLE", "Polars": `"ByteStreamSplit"-encoded required parquet pages not yet`},
	},
	{
		columns: map[string]string{"delta_byte_array": "four money duration"},
		refused: map[string]string{"Polars": `"DeltaByteArray"-encoded required parquet pages not yet`},
	},
	{
		columns: map[string]string{"delta_length_byte_array": "decimal"},
		refused: map[string]string{"DuckDB": "only supported for string/blob"},
	},
}

// TestParquetEncodings has the engines and Java read files of each encoding, in both versions of
// pages.
func TestParquetEncodings(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	entries := append(madeEntries(t, dir)[1:2], entry{file: "nulls.avro", rows: 22_000, class: "ok", path: dir + "/nulls.avro"})
	python(t, "alltypes.py", "nulls", entries[1].path)
	var converted []conversion
	var refused []map[string]string
	codecs := []string{"none", "snappy", "zstd", "gzip", "lz4_raw"}
	for i, e := range encodedColumns {
		some := entries[:1]
		if e.nulls {
			some = entries[1:]
		}
		flags := []string{"--format=parquet", "--block-size=4KiB"}
		for encoding, columns := range e.columns {
			for _, c := range strings.Fields(columns) {
				flags = append(flags, "--encoding="+c+"="+encoding)
			}
		}
		for version := 1; version <= 2; version++ {
			for _, codec := range everyNth(codecs, len(codecs), 2*i+version) {
				c := convertAll(t, some, append(flags, "--compression="+codec, fmt.Sprint("--page-version=", version))...)[0]
				c.file = fmt.Sprintf("%s, encodings %d, pages of version %d, %s", c.file, i, version, codec)
				converted, refused = append(converted, c), append(refused, e.refused)
			}
		}
	}
	faults := engineFaults(t, converted)
	for i, c := range converted {
		for reader, text := range refused[i] {
			others := slices.DeleteFunc(slices.Clone(faults[c.file]), func(f parquetFault) bool { return f.reader == reader && strings.Contains(f.text, text) })
			if len(others) == len(faults[c.file]) {
				t.Errorf("%s: %s does not say %q", c.file, reader, text)
			}
			faults[c.file] = others
		}
	}
	wantLimits(t, converted, faults)
	wantLimits(t, converted, javaFaults(t, converted))
}

// TestParquetSkips checks that engines use the statistics of parts, and Java the indexes of
// pages, to read less for a condition.
func TestParquetSkips(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	writeMail(t, dir+"/mail.avro", 10_000)
	convert := func(dest string, flags ...string) []string {
		return run(t, append([]string{"convert", "--json", "--format=parquet", dir + "/mail.avro", dest}, flags...)...).want(t, 0).report(t).parts(dest)
	}
	python(t, "parquetskips.py", convert(dir+"/parts", "--row-group-size=500KiB", "--block-size=4KiB")...)

	file := convert(dir+"/pages", "--block-size=4KiB")[0]
	var selected, rows int
	answer := java.call(t, "selected", file, "id", "5000")[0]
	if _, err := fmt.Sscan(answer, &selected, &rows); err != nil || selected < 1 || selected > rows*3/4 {
		t.Errorf("parquet-java reads pages of %s rows (%v)", answer, err)
	}
}

// TestParquetUnfinished checks that engines read the published rows of a destination, while tasks
// leave parts there that are not published.
func TestParquetUnfinished(t *testing.T) {
	t.Parallel()
	first, more, dest := mail(t, 1000), mail(t, 6000), filepath.Join(t.TempDir(), "out")
	run(t, parquetFiles.convert(first, dest)...).want(t, 0)
	s := newSteps(t, more, dest, append(slices.Clip(parquetFiles.flags), "--incremental", "--row-group-size=256KiB")...)
	for _, n := range s.taskNumbers() {
		run(t, s.task(n)...).want(t, 0)
	}
	if staged := glob(t.Context(), s.at, ".rowtocol/plan-*/part-*"); len(staged) < s.tasks {
		t.Fatalf("%d tasks have left %d parts", s.tasks, len(staged))
	}
	wantMail(t, dest, first)
	s.commit(t).want(t, 0)
	wantMail(t, dest, first, more)
}

// wantMail fails the test unless engines read the mails of Avro files from a local directory.
func wantMail(t *testing.T, dir string, files ...string) {
	t.Helper()
	python(t, "parquetmail.py", append([]string{dir}, files...)...)
}

// engineFaults returns what the engines find wrong, by the name of the file. times is the value of
// --times, if it was given.
func engineFaults(t *testing.T, converted []conversion, times ...string) map[string][]parquetFault {
	t.Helper()
	return parquetFaults(t, converted, []string{"RUST_BACKTRACE=0"}, "python/parquetfiles.py", times...)
}

// parquetFaults returns what a script finds wrong with a list of files, by the name of the
// file. The list is the script's last argument.
func parquetFaults(t *testing.T, converted []conversion, environment []string, script string, args ...string) map[string][]parquetFault {
	t.Helper()
	var list strings.Builder
	for _, c := range converted {
		list.WriteString(strings.Join(append([]string{c.path}, c.parts...), "\t") + "\n")
	}
	path := filepath.Join(t.TempDir(), "list")
	must(t, os.WriteFile(path, []byte(list.String()), 0o600))
	faults := map[string][]parquetFault{}
	for _, line := range strings.Split(pythonWith(t, environment, script, append(args, path)...), "\n") {
		f := strings.SplitN(line, "\t", 3)
		if len(f) == 3 {
			i, err := strconv.Atoi(f[0])
			must(t, err)
			file := converted[i].file
			faults[file] = append(faults[file], parquetFault{f[1], f[2]})
		}
	}
	return faults
}

// javaFaults returns what parquet-java finds wrong, by the name of the file.
func javaFaults(t *testing.T, converted []conversion) map[string][]parquetFault {
	t.Helper()
	lines := make([][]string, len(converted))
	for i, c := range converted {
		lines[i] = append([]string{c.path}, c.parts...)
	}
	faults := map[string][]parquetFault{}
	for i, v := range java.list(t, lines, "compare", "-") {
		c := converted[i]
		if want := fmt.Sprintf("%d rows", c.rows); !v.pass || v.detail != want {
			faults[c.file] = append(faults[c.file], parquetFault{"Java", v.detail})
		}
	}
	return faults
}

// wantLimits fails the test unless the faults that readers found are those of parquetLimits,
// and each limit of these readers was met.
func wantLimits(t *testing.T, converted []conversion, faults map[string][]parquetFault, readers ...string) {
	t.Helper()
	met := make([]bool, len(parquetLimits))
	limited := map[string]int{}
	for file, found := range faults {
		for _, f := range found {
			known := false
			for i, l := range parquetLimits {
				if l.reader == f.reader && strings.Contains(f.text, l.fault) {
					known = true
					met[i] = met[i] || l.file == file
					limited[l.reader]++
				}
			}
			if !known {
				t.Errorf("%s: %s: %s", file, f.reader, f.text)
			}
		}
	}
	judged := map[string]bool{}
	for _, c := range converted {
		judged[c.file] = true
	}
	for i, l := range parquetLimits {
		for _, r := range readers {
			if r == l.reader && !met[i] && (judged[l.file] || soak.Full() && os.Getenv("ROWTOCOL_CORPUS") != "") {
				t.Errorf("%s: %s reads it, so this limit is no longer needed: %s", l.file, l.reader, l.reason)
			}
		}
	}
	t.Logf("%d files; faults of readers, listed: %v", len(converted), limited)
}
