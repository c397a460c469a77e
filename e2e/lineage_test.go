package e2e

import (
	"os"
	"testing"
)

// TestLineage checks that OpenLineage's own client understands every field of --lineage:
// its classes are made from the published schemas.
func TestLineage(t *testing.T) {
	const parent = "prod/nightly.convert/f99310b4-3c3c-4a1a-8b2b-c1b95c24ff11"
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/in/day=1", 0o777))
	must(t, os.MkdirAll(dir+"/in/day=2", 0o777))
	writeMail(t, dir+"/in/day=1/mail.avro", 1000)
	writeMail(t, dir+"/in/day=2/mail.avro", 1000)
	all, err := os.ReadFile(dir + "/in/day=2/mail.avro")
	must(t, err)
	damaged, alltypes := dir+"/in/day=2/mail.avro", "../testdata/real/all-types.avro"
	must(t, os.WriteFile(damaged, append(all[:len(all)-16], make([]byte, 16)...), 0o666))
	for _, r := range []struct {
		code int
		args []string
	}{
		{0, []string{"convert", dir + "/in/day=1", dir + "/one"}},
		{0, []string{"convert", dir + "/in/day=1", dir + "/one"}},
		{0, []string{"convert", "--incremental", alltypes, dir + "/types"}},
		{3, []string{"convert", "--partitioned", dir + "/in", dir + "/tree"}},
		{8, []string{"convert", "--on-damage", "skip", damaged, dir + "/lossy"}},
		{9, []string{"convert", "--codec", "bzip2", dir + "/in/day=1", dir + "/one"}},
		{1, []string{"convert", dir + "/in", dir + "/none", "--memory", "1MiB"}},
		{1, []string{"convert"}},
		{3, []string{"commit", "--plan", dir + "/none.json"}},
	} {
		cmd := command(append(r.args, "--lineage", dir+"/runs.jsonl")...)
		cmd.Env = append(cmd.Env, "OPENLINEAGE_PARENT_ID="+parent)
		finish(t, cmd).want(t, r.code)
	}
	python(t, "lineage.py", dir+"/runs.jsonl", parent)
}
