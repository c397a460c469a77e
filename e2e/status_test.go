package e2e

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

// TestHDFSStatus shows the work of a plan's tasks with both clients, and removes it once it
// is old by the cluster's clock.
func TestHDFSStatus(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	input := filepath.Join(t.TempDir(), "mail.avro")
	writeMail(t, input, 10_000)
	for client, uri := range map[string]string{"rpc": f.URI(), "web": f.WebURI()} {
		dest := uri + path.Join(f.path, client)
		s := newSteps(t, input, dest, "--row-group-size=768KiB")
		run(t, "status", dest).want(t, 3)
		run(t, s.task(0)...).want(t, 0)
		look := func() (tasks int) {
			t.Helper()
			var answer struct {
				Result struct {
					Lock       *struct{}
					Unfinished []struct {
						Done    int `json:"tasks_done"`
						Tasks   int
						Changed time.Time
					}
				}
			}
			must(t, json.Unmarshal([]byte(run(t, "status", "--json", dest).want(t, 0).stdout), &answer))
			for _, w := range answer.Result.Unfinished {
				tasks += w.Done
				if w.Tasks != s.tasks || w.Changed.IsZero() || answer.Result.Lock != nil {
					t.Errorf("%s: %+v", client, answer)
				}
			}
			return tasks
		}
		if n := look(); n != 1 {
			t.Errorf("%s: %d tasks are done", client, n)
		}
		run(t, "clean", dest).want(t, 0)
		if n := look(); n != 1 {
			t.Errorf("%s: %d tasks are left of recent work", client, n)
		}
		work := path.Join(client, ".rowtocol", "plan-"+s.id)
		then := time.Now().AddDate(0, 0, -8).UnixMilli()
		files := f.list(t, work)
		if len(files) < 3 {
			t.Errorf("%s: %v", client, files)
		}
		for _, file := range files {
			f.do(t, "PUT", path.Join(work, file), fmt.Sprintf("op=SETTIMES&modificationtime=%d", then))
		}
		run(t, "clean", dest).want(t, 0)
		if n := look(); n != 0 {
			t.Errorf("%s: %d tasks are left of old work", client, n)
		}
		run(t, "unlock", dest, "--holder", "0011223344556677").want(t, 0)
	}
}
