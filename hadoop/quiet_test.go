package hadoop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// TestClientHangs checks that Run stops a client that prints nothing more and never ends.
func TestClientHangs(t *testing.T) {
	const id = "application_1795425022941_0005"
	for name, tt := range map[string]struct {
		until   string // the last line of the recording that the client prints
		job     bool   // whether the cluster has a job
		kind    error
		words   string
		longest time.Duration
	}{
		"with job":         {"map 0%", true, nil, "", 4 * time.Minute},
		"unreported job":   {"number of splits", true, nil, "", 4 * time.Minute},
		"without job":      {"number of splits", false, failure.Storage, "started no job", minStart + time.Minute},
		"without output":   {" ", false, failure.Storage, "started no job", minStart + time.Minute},
		"while connecting": {"Connecting to ResourceManager", false, failure.Storage, "started no job", minStart + time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.client.submit = replay(t, "killed", tt.until, errStays)
			if tt.job {
				running := r.report(id, rigKey, "RUNNING", "UNDEFINED", 50)
				r.client.reports[id] = []*report{running, running, r.report(id, rigKey, "FINISHED", succeeded, 100)}
			}
			began := time.Now()
			err := r.run(t.Context())
			if failure.KindOf(err) != tt.kind || err != nil && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s: got %v, want %v with %q", name, err, tt.kind, tt.words)
			}
			if took := time.Since(began); took > tt.longest || len(r.jobDirs()) != 0 {
				t.Errorf("%s: took %v, jobs left %v", name, took, r.jobDirs())
			}
		})
	}
}

// TestDetachWithoutClient checks that a run with Detach finds its job if the client ends
// before it prints that the job runs.
func TestDetachWithoutClient(t *testing.T) {
	const id = "application_1795425022941_0005"
	for name, tt := range map[string]struct {
		until string
		state string
		want  error
	}{
		"running":   {"number of splits", "RUNNING", task.ErrDetached},
		"submitted": {"Submitted application", "ACCEPTED", task.ErrDetached},
		"refused":   {"Submitted application", failed, failure.Storage},
	} {
		r := newRig(t, func(o *Options) { o.Detach = true })
		r.client.submit = replay(t, "killed", tt.until, errExit)
		r.client.reports[id] = []*report{r.report(id, rigKey, tt.state, tt.state, 0)}
		if err := r.run(t.Context()); !errors.Is(err, tt.want) || len(r.notified) != 1 || r.notified[0].ID != id {
			t.Errorf("%s: got %v, notified %+v", name, err, r.notified)
		}
		if detached := tt.want == task.ErrDetached; detached != (len(r.jobDirs()) == 1) {
			t.Errorf("%s: jobs left %v", name, r.jobDirs())
		}
	}
}

// TestHadoopsFiles checks which of the client's files for a job's master remain.
func TestHadoopsFiles(t *testing.T) {
	const job = "job_1795425022941_0005"
	for name, tt := range map[string]struct {
		until, site, user string
		reports           bool
		dir               string
		stays             bool
	}{
		"killed":             {"map 0%", "", "", true, "/tmp/hadoop-yarn/staging/etl/.staging/" + job, false},
		"before the splits":  {"Disabling Erasure", "", "", false, "/tmp/hadoop-yarn/staging/etl/.staging/" + job, false},
		"not submitted":      {"Submitting tokens", "", "", false, "/tmp/hadoop-yarn/staging/etl/.staging/" + job, false},
		"site's directory":   {"map 0%", "/s", "", true, "/s/etl/.staging/" + job, false},
		"user's directory":   {"map 0%", "/s", "hdfs://nn/user", true, "/user/etl/.staging/" + job, false},
		"on another cluster": {"map 0%", "hdfs://other/s", "", true, "/s/etl/.staging/" + job, true},
		"unknown directory":  {"map 0%", "/s/${user.dir}", "", true, "/s/${user.dir}/etl/.staging/" + job, true},
		"another job":        {"map 0%", "", "", true, "/tmp/hadoop-yarn/staging/etl/.staging/job_1795425022941_0006", true},
		"another user":       {"map 0%", "", "", true, "/tmp/hadoop-yarn/staging/other/.staging/" + job, true},
		"job not started":    {"Connecting to", "", "", false, "/tmp/hadoop-yarn/staging/etl/.staging/" + job, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil)
			r.site = cluster.NewConf(map[string]string{stagingKey: tt.site})
			if tt.user != "" {
				r.user = []property{{stagingKey, tt.user}}
			}
			testenv.Must(t, mkdirs(t.Context(), r.st, tt.dir))
			r.client.submit = replay(t, "killed", tt.until, errStays)
			if id := applicationID(job); tt.reports {
				r.client.reports[id] = []*report{r.report(id, rigKey, "RUNNING", "UNDEFINED", 50)}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := r.run(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := r.st.Stat(t.Context(), tt.dir); (err == nil) != tt.stays || slices.Contains(r.jobDirs(), "job-"+rigKey) {
				t.Errorf("%s: got %v, jobs left %v", name, err, r.jobDirs())
			}
		})
	}
}
