package e2e

import (
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// TestHDFSCat reads from and writes to a cluster what cat reads and writes
// locally.
func TestHDFSCat(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	local := filepath.Join(t.TempDir(), "out")
	run(t, "convert", "--row-group-size=128KiB", "../testdata/mail", local).want(t, 0)
	queries := [][]string{
		nil,
		{"--offset=250", "--limit=100", "--columns=id,received.host"},
		{"--where=size > 1000 && seen", "--columns=subject,size", "--to=csv"},
	}
	for name, uri := range map[string]string{"rpc": f.URI(), "webhdfs": f.WebURI()} {
		t.Run(name, func(t *testing.T) {
			f.do(t, "PUT", name, "op=MKDIRS")
			dest := uri + path.Join(f.path, name)
			run(t, "convert", "--row-group-size=128KiB", "../testdata/mail", dest+"/out").want(t, 0)
			for _, q := range queries {
				want := run(t, append([]string{"cat", local}, q...)...).want(t, 0).stdout
				got := run(t, append([]string{"cat", dest + "/out"}, q...)...).want(t, 0).stdout
				if got != want || len(got) < 100 {
					t.Errorf("%v: %d bytes, want %d", q, len(got), len(want))
				}
			}
			to := []string{"cat", "--to=avro", "--output=" + dest + "/rows.avro", dest + "/out"}
			run(t, to...).want(t, 0)
			run(t, to...).want(t, 9)
			run(t, append(to, "--where=nothing > 1")...).want(t, 1)
			run(t, append(to, "--overwrite")...).want(t, 0)
			if left := f.list(t, name); !slices.Equal(left, []string{"out", "rows.avro"}) {
				t.Errorf("the folder holds %v", left)
			}
			run(t, "cat", "--to=avro", "--output="+dest+"/none/rows.avro", dest+"/out").want(t, 7)
			want := string(readFile(t, toAvro(t, local)))
			if got := f.get(t, name)["rows.avro"]; got != want {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
	}
}
