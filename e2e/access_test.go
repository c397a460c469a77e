package e2e

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// TestHDFSDefaultACL checks that files and directories get the umask, and in a directory with a
// default access control list that list instead.
func TestHDFSDefaultACL(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	ctx := t.Context()
	local := filepath.Join(t.TempDir(), "in.avro")
	must(t, os.WriteFile(local, mailFile(t, 1, 100, "null"), 0o600))
	f.put(t, "in.avro", local)
	modesOf := func(out string) map[string]bool {
		t.Helper()
		modes := map[string]bool{}
		st := rpcStore(t, f.Cluster, "", 0, nil)
		var walk func(dir string)
		walk = func(dir string) {
			infos, err := st.List(ctx, dir)
			must(t, err)
			for _, info := range infos {
				status, err := f.Do(ctx, "GET", info.Path, "op=GETACLSTATUS")
				must(t, err)
				kind := "file "
				if info.Dir {
					kind = "directory "
					walk(info.Path)
				}
				var acl struct {
					ACLStatus struct {
						Entries    []string
						Permission string
					}
				}
				must(t, json.Unmarshal([]byte(status), &acl))
				modes[kind+acl.ACLStatus.Permission+" "+strings.Join(acl.ACLStatus.Entries, " ")] = true
			}
		}
		walk(out)
		return modes
	}
	in, plain, listed := f.URI()+path.Join(f.path, "in.avro"), path.Join(f.path, "plain"), path.Join(f.path, "listed")
	run(t, "convert", "--format", "cfile", in, f.URI()+plain).want(t, 0)
	for mode := range modesOf(plain) {
		if mode != "file 644 " && mode != "directory 755 " {
			t.Errorf("with the umask: %s", mode)
		}
	}
	if _, err := f.Do(ctx, "PUT", f.path, "op=MODIFYACLENTRIES&aclspec=default:group:analysts:rwx,default:other::---"); err != nil {
		t.Fatal(err)
	}
	run(t, "convert", "--format", "cfile", in, f.URI()+listed).want(t, 0)
	for mode := range modesOf(listed) {
		if !strings.Contains(mode, "group:analysts:rwx") || !strings.HasPrefix(mode, "file 66") && !strings.HasPrefix(mode, "directory 77") {
			t.Errorf("with a default list: %s", mode)
		}
	}
}
