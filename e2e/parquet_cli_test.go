package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parquetCommands are commands of parquet-cli, and what each prints about rows of alltypes.py.
var parquetCommands = []struct{ args, want string }{
	{"meta", "Row group 0:  count: 3000"},
	{"scan", "Scanned 3000 records"},
	{"check-stats", "has no corrupt stats"},
	{"schema", `"name" : "All"`},
	{"footer", `"createdBy" : "rowtocol`},
	{"column-size", "deep.list.element.m.key_value.key->"},
	{"dictionary -c color", `: "GREEN"`},
	{"cat -n 7", `{"id": 6, `},
}

// TestParquetCommands runs the commands of Java's parquet-cli. They must find the rows, and
// pages whose bounds are those of the values. The rows that they write as Avro must be those of
// the file, with each compression.
func TestParquetCommands(t *testing.T) {
	needJava(t)
	t.Parallel()
	dir := t.TempDir()
	all := entry{file: "for-cli.avro", class: "ok", rows: 3000, path: dir + "/for-cli.avro"}
	// The commands that read rows fail at the types of these columns.
	python(t, "alltypes.py", "make", all.path, "nothing", "none", "empty")
	for i, codec := range []string{"snappy", "none", "zstd", "gzip", "lz4_raw"} {
		c := convertAll(t, []entry{all}, "--format=parquet", "--block-size=4KiB", "--compression="+codec)[0]
		file, avro := c.parts[0], dir+"/"+codec+".avro"
		java.call(t, "parquet-cli", "to-avro", "-o", avro, file)
		run(t, "verify", c.dest, "--against", avro).want(t, 0)
		if i == 0 {
			wantCommands(t, file)
			wantPages(t, all.path, file)
		}
	}
}

// wantCommands checks what the commands print about a file.
func wantCommands(t *testing.T, file string) {
	t.Helper()
	for _, c := range parquetCommands {
		args := append([]string{"parquet-cli"}, strings.Fields(c.args)...)
		if got := strings.Join(java.call(t, append(args, file)...), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%.300s", c.args, c.want, got)
		}
	}
}

// wantPages compares the pages of a file and their bounds, as two commands print them, with the
// values of the Avro file.
func wantPages(t *testing.T, avro, file string) {
	t.Helper()
	dir, printed := t.TempDir(), []string{avro}
	for _, command := range []string{"column-index", "pages"} {
		path := filepath.Join(dir, command)
		must(t, os.WriteFile(path, []byte(strings.Join(java.call(t, "parquet-cli", command, file), "\n")), 0o600))
		printed = append(printed, path)
	}
	python(t, "parquetcli.py", printed...)
}
