package e2e

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestIndexInLittleMemory makes an index that is larger than --memory.
func TestIndexInLittleMemory(t *testing.T) {
	const memory = 16 << 20
	dir := t.TempDir()
	input, dest := filepath.Join(dir, "mail.avro"), filepath.Join(dir, "out")
	writeMail(t, input, int64(soak.Rounds(60_000, 400_000)))
	cmd := command("convert", "--memory", "16MiB", "--temp-dir", dir, "--index", "body", "--index", "id", "--index", "from,subject,id", input, dest)
	r, peak := finishMeasured(t, cmd)
	r.want(t, 0)
	if peak > memory+48<<20 {
		t.Errorf("%d MiB of memory, want at most %d", peak>>20, (memory+48<<20)>>20)
	}
	files, err := filepath.Glob(filepath.Join(dest, "_index", "*", "*", "*.hfile"))
	must(t, err)
	size := int64(0)
	for _, f := range files {
		size += int64(len(readFile(t, f)))
	}
	if size < memory {
		t.Errorf("the indexes have %d bytes, which fit the memory", size)
	}
	run(t, "verify", dest).want(t, 0)
	run(t, "convert", "--index", "id", input, dest).want(t, 9)
}

// TestLookupReadsLittle looks up whole rows of a Parquet file, and counts what the program reads.
func TestLookupReadsLittle(t *testing.T) {
	const most = 1_000_000
	rows := int64(soak.Rounds(60_000, 400_000))
	dir := t.TempDir()
	input, dest := dir+"/mail.avro", dir+"/out"
	writeMail(t, input, rows)
	run(t, "convert", "--format", "parquet", "--index", "id", input, dest).want(t, 0)
	for _, offset := range []string{"0", strconv.FormatInt(rows/2, 10), strconv.FormatInt(rows-1, 10)} {
		want := run(t, "cat", "--offset", offset, "--limit", "1", dest).want(t, 0).stdout
		var row struct{ ID json.Number }
		must(t, json.Unmarshal([]byte(want), &row))
		// The shell waits for the program, so what the program reads counts for the shell, too.
		cmd := command("lookup", "--by", "id", dest, row.ID.String())
		cmd.Args = append([]string{"sh", "-c", `"$@" && sed -n 's/^rchar: //p' /proc/$$/io >&2`, "sh"}, cmd.Args...)
		cmd.Path = "/bin/sh"
		r := finish(t, cmd).want(t, 0)
		lines := strings.Fields(r.stderr)
		read, err := strconv.Atoi(lines[len(lines)-1])
		if err != nil || read < 10_000 || read > most || r.stdout != want {
			t.Errorf("row %s: %d bytes read (%v), want at most %d; the row is %q, want %q", offset, read, err, most, r.stdout, want)
		}
		t.Logf("row %s of %d: %d bytes read", offset, rows, read)
	}
}

// TestHDFSIndex makes an index on HDFS and looks up rows in it. Its files are one block each.
func TestHDFSIndex(t *testing.T) {
	c := newSite(t, hadooptest.Shared(t), 20_000, "--index=id", "--index=from,date", "--row-group-size=2MiB", "--workers=2")
	for client, uri := range c.clients() {
		dest := uri + "/indexed-" + client
		run(t, c.args(dest)...).want(t, 0)
		c.wantComplete(t, dest) // each file is one block
		run(t, "verify", dest).want(t, 0)
		want := run(t, "cat", "--columns", "id,subject", "--where", "id = 777 or id = -1", dest).want(t, 0).stdout
		if got := run(t, "lookup", "--by", "id", "--columns", "id,subject", dest, "777").want(t, 0).stdout; got != want || got == "" {
			t.Errorf("%s: the row is %q, want %q", client, got, want)
		}
	}
}
