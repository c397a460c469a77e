package hadoop

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store/cluster"
)

func TestProxyURL(t *testing.T) {
	const id = "application_1_0001"
	for name, tt := range map[string]struct {
		conf map[string]string
		want string
	}{
		"host":        {map[string]string{"yarn.resourcemanager.hostname": "rm"}, "http://rm:8088/proxy/" + id + "/"},
		"secure host": {map[string]string{"yarn.resourcemanager.hostname": "rm", "yarn.http.policy": "HTTPS_ONLY"}, "https://rm:8090/proxy/" + id + "/"},
		"address":     {map[string]string{"yarn.resourcemanager.hostname": "rm", "yarn.resourcemanager.webapp.address": "web:80"}, "http://web:80/proxy/" + id + "/"},
		"proxy":       {map[string]string{"yarn.web-proxy.address": "p:1", "yarn.resourcemanager.webapp.address": "web:80"}, "http://p:1/proxy/" + id + "/"},
		"nothing":     {nil, "http://master:4"},
		"no host":     {map[string]string{"yarn.resourcemanager.webapp.address": "${yarn.resourcemanager.hostname}:8088"}, "http://master:4"},
		"any host":    {map[string]string{"yarn.resourcemanager.webapp.address": "0.0.0.0:8088"}, "http://master:4"},
	} {
		e := &Engine{site: cluster.NewConf(tt.conf)}
		if got := e.application(&report{id: id, url: "http://master:4"}).URL; got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
	}
}

// TestRestart checks that Restart kills the job of a plan that another plan replaces.
func TestRestart(t *testing.T) {
	const id = "application_1_0001"
	r := newRig(t, func(o *Options) { o.Restart = true })
	r.client.submit = replay(t, "success", "", nil)
	h, err := openHome(t.Context(), r.o.Resolve, r.o.Home)
	testenv.Must(t, err)
	earlier := r.batch
	earlier.Plan = &manifest.Plan{ID: "00ee", Dest: earlier.Plan.Dest, Tasks: earlier.Plan.Tasks}
	r.batch.Superseded = []string{"00ee"}
	if err := h.makeJob(t.Context(), Job{Run: "ours"}, nil, &layout{}, newJobPlans("ours", "ours", []task.Batch{earlier})); err != nil {
		t.Fatal(err)
	}
	r.client.reports[id] = []*report{r.report(id, "ours", "RUNNING", "UNDEFINED", 10)}
	testenv.Must(t, r.run(t.Context()))
	if !slices.Equal(r.client.killed, []string{id}) || r.client.job == "" || len(r.jobDirs()) != 0 || r.notified[0].Found {
		t.Errorf("killed %v, started %q, jobs left %v, notified %+v", r.client.killed, r.client.job, r.jobDirs(), r.notified)
	}
}

// TestFailuresOfPlans checks that the error has a failure of each of two plans.
func TestFailuresOfPlans(t *testing.T) {
	const id = "application_1795425022941_0004"
	r := newRig(t, nil)
	r.client.submit = replay(t, "failed", "", errExit)
	other := newBatch("00aa", 1<<20, manifest.Input{Path: "hdfs://nn/in/c", Size: 1 << 20})
	testenv.Must(t, mkdirs(t.Context(), r.st, other.Dir))
	r.writeFailure(task.Failed{Job: id, Attempt: "attempt_1795425022941_0004_m_000001_0", Task: 1, Kind: "storage", Message: "no data node"})
	f := task.Failed{Version: 1, Run: rigKey, Job: id, Attempt: "attempt_1795425022941_0004_m_000004_0", Task: 0, Kind: "input", Message: "damaged"}
	testenv.Must(t, f.Write(t.Context(), r.st, other.Dir))
	err := r.Run(t.Context(), []task.Batch{r.batch, other}, nil)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 {
		t.Fatalf("got %v, want two errors", err)
	}
	for i, want := range []task.Failure{{Plan: "00ff", Task: 1}, {Plan: "00aa"}} {
		if f := (*task.Failure)(nil); !errors.As(joined.Unwrap()[i], &f) || f.Plan != want.Plan || f.Task != want.Task {
			t.Errorf("got %#v, want %+v", joined.Unwrap()[i], want)
		}
	}
}

// TestWorkRemoved checks the error if somebody removed the work directory of tasks while their
// job ran.
func TestWorkRemoved(t *testing.T) {
	r := newRig(t, nil)
	r.client.submit = replay(t, "failed", "", errExit)
	testenv.Must(t, r.st.RemoveAll(t.Context(), r.batch.Dir))
	if err := r.run(t.Context()); !errors.Is(err, failure.Storage) || !strings.Contains(err.Error(), "or somebody removed hdfs://nn"+r.batch.Dir) {
		t.Errorf("got %v", err)
	}
}

// TestTaskPatience checks that tasks stop waiting for storage before Java kills them.
func TestTaskPatience(t *testing.T) {
	for name, tt := range map[string]struct {
		site, user string
		patience   time.Duration
		want       time.Duration
	}{
		"default":          {"", "", 15 * time.Minute, 7*time.Minute + 30*time.Second},
		"shorter patience": {"", "", time.Minute, time.Minute},
		"site's timeout":   {"60000", "", 15 * time.Minute, 45 * time.Second},
		"user's timeout":   {"60000", "120000", 15 * time.Minute, 90 * time.Second},
		"no timeout":       {"0", "", 15 * time.Minute, 15 * time.Minute},
		"not a number":     {"x", "", 15 * time.Minute, 15 * time.Minute},
		"many years":       {"9223372036854775807", "", 15 * time.Minute, 15 * time.Minute},
		"a few years":      {"100000000000", "", 15 * time.Minute, 15 * time.Minute},
	} {
		conf := map[string]string{}
		if tt.site != "" {
			conf["mapreduce.task.timeout"] = tt.site
		}
		e := &Engine{o: Options{RemoteOptions: task.RemoteOptions{StoreRetry: tt.patience}}, site: cluster.NewConf(conf)}
		if tt.user != "" {
			e.user = []property{{"mapreduce.task.timeout", tt.user}}
		}
		if got := e.taskPatience(); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
