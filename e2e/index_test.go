package e2e

import (
	"path/filepath"
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
