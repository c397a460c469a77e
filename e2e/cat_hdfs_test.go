package e2e

import (
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// TestHDFSCat checks that cat reads and writes the same on a cluster as locally.
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
			f.do(t, "PUT", name+"/tree", "op=MKDIRS")
			for _, k := range []string{"k=10", "k=9"} {
				run(t, "convert", "../testdata/mail/archive-1.avro", dest+"/tree/"+k).want(t, 0)
			}
			keys := []string{"--to=csv", "--columns=id,k", "--limit=1"}
			for place, want := range map[string]string{"/tree": "id,k\n1,9\n", "/tree/k=1?": "id,k\n1,10\n"} {
				if got := run(t, append(keys, "cat", dest+place)...).want(t, 0).stdout; got != want {
					t.Errorf("%s: %q", place, got)
				}
			}
			to := []string{"cat", "--to=avro", "--output=" + dest + "/rows.avro", dest + "/out"}
			run(t, to...).want(t, 0)
			run(t, to...).want(t, 9)
			run(t, append(to, "--where=nothing > 1")...).want(t, 1)
			run(t, append(to, "--overwrite")...).want(t, 0)
			if left := f.list(t, name); !slices.Equal(left, []string{"out", "rows.avro", "tree"}) {
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
