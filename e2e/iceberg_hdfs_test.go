package e2e

import (
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// TestIcebergHDFS syncs tables whose files and metadata are on a cluster that requires Kerberos,
// twice at once. Spark reads them there.
func TestIcebergHDFS(t *testing.T) {
	r := newRealm(t, hadooptest.Config{})
	l := newLake(t, r.URI()+"/alice", []string{"--partitioned", "--row-group-size=64KiB"}, "hadoop", "sql")
	l.judge = newTableJudge("JAVA_TOOL_OPTIONS=-Djava.security.krb5.conf=" + r.kdc.Conf())
	t.Cleanup(l.judge.stop)
	for _, input := range []string{"dt=2026-01-01/a.avro", "dt=2026-01-02/a.avro", "dt=2026-01-01/b.avro"} {
		l.make(t, input, rowsOfStep, 1)
		l.convert(t)
		var syncs []*running
		for _, of := range slices.Repeat(l.tables, 2) {
			syncs = append(syncs, launch(t, l.syncCommand(of)))
		}
		for _, s := range syncs {
			s.want(t, 0)
		}
	}
	r.wantOwner(t, "/alice/hadoop/ns/t/metadata", "alice")
	l.check(t, []string{"Spark"}, map[string]any{"day": "2026-01-01"})
}
