package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/store"
)

// phase is a part of a conversion, recognized by the content of its destination.
type phase struct {
	name string
	now  func(at, work []store.Info) bool
}

var phases = []phase{
	{"reading", func(_, work []store.Info) bool {
		return has(work, "plan.json", "") // the first row group is being read
	}},
	{"writing", func(_, work []store.Info) bool { return len(unclosedParts(work)) > 0 }},
	{"commit", func(at, work []store.Info) bool {
		return has(work, "pending-", "") && has(at, "part-", ".trv")
	}},
}

func has(infos []store.Info, prefix, suffix string) bool {
	for _, i := range infos {
		if strings.HasPrefix(i.Name, prefix) && strings.HasSuffix(i.Name, suffix) {
			return true
		}
	}
	return false
}

// suspendIn suspends a conversion in a phase.
func (s *site) suspendIn(t *testing.T, r *running, dest string, p phase) {
	t.Helper()
	at := s.locate(t, dest)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-r.ended:
			t.Fatalf("the conversion ended before it was seen %s\n%s", p.name, tail(r.stderr.String()))
		default:
		}
		infos, _ := at.Store.List(ctx, at.Path) // it may not exist yet
		for _, work := range unfinishedWork(ctx, at) {
			if p.now(infos, work) {
				must(t, r.cmd.Process.Signal(syscall.SIGSTOP))
				return
			}
		}
	}
	t.Fatalf("the conversion was never seen %s", p.name)
}

// TestFailover changes the active name node during a conversion from HDFS to HDFS:
// gracefully, or by killing the active one. During a graceful change the conversion is
// suspended, so that it is still in the phase, with its connections, after the change.
func TestFailover(t *testing.T) {
	s := newSite(t, hadooptest.New(t, hadooptest.Config{DataNodes: 1, HA: true}), 60_000, "--row-group-size=512KiB", "--store-retry=3m")
	data, err := os.ReadFile(s.input)
	must(t, err)
	in := s.locate(t, s.URI()+"/mail.avro")
	must(t, in.Store.WriteFile(t.Context(), in.Path, data, true))
	s.input = s.URI() + "/mail.avro"
	// The names of the inputs are in _SUCCESS, and affect nothing else.
	run(t, s.args(s.URI()+"/reference")...).want(t, 0)
	s.want["_SUCCESS"] = s.tree(t, s.URI()+"/reference")["_SUCCESS"]
	s.wantComplete(t, s.URI()+"/reference")

	active := 0
	for client, uri := range s.clients() {
		for i, p := range phases {
			for j, graceful := range []bool{true, false} {
				if client == "webhdfs" && !soak.Full() && (i+j)%2 == 0 {
					continue // half of the cases with the second client
				}
				t.Run(fmt.Sprintf("%s, %s, graceful %v", client, p.name, graceful), func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
					defer cancel()
					dest := fmt.Sprintf("%s/%s-%s-%v", uri, client, p.name, graceful)
					r := s.start(t, dest)
					s.suspendIn(t, r, dest, p)
					if graceful {
						must(t, s.Failover(ctx, active, 1-active))
						must(t, r.cmd.Process.Signal(syscall.SIGCONT))
					} else {
						s.NameNodes[active].Kill()
						must(t, r.cmd.Process.Signal(syscall.SIGCONT))
						must(t, s.Active(ctx, 1-active))
					}
					r.want(t, 0)
					s.wantComplete(t, dest)
					if !graceful {
						must(t, s.NameNodes[active].Start(ctx))
						must(t, s.WaitLive(ctx, 1))
					}
					active = 1 - active
				})
			}
		}
	}
}
