package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Delegation tokens of TestSecureYARN's cluster are valid for tokenLife without renewal, and
// for tokenEnd with it. Both begin at the submission.
const (
	tokenLife = 75 * time.Second
	tokenEnd  = 4 * time.Minute
)

// TestSecureYARN runs tasks on a cluster that requires Kerberos. They use the tokens of
// their job. The oldest Hadoop does not start with Kerberos on Java 17.
func TestSecureYARN(t *testing.T) {
	if !soak.Full() {
		t.Skip("NO SECURE YARN: it is for make soak")
	}
	r := newRealm(t, hadooptest.Config{YARN: 3072, HDFS: tokens(tokenLife, tokenEnd)})
	t.Setenv("HADOOP_HOME", r.Home())
	for _, op := range []string{"PUT /user/alice op=MKDIRS", "PUT /user/alice op=SETOWNER&owner=alice"} {
		f := strings.Fields(op)
		_, err := r.Do(t.Context(), f[0], f[1], f[2])
		must(t, err)
	}
	cached, _ := r.withCache(t)
	t.Run("keytab", func(t *testing.T) { r.submitAndCheck(t, "hdfs", r.withKeytab()) })
	t.Run("ticket cache", func(t *testing.T) { r.submitAndCheck(t, "webhdfs", cached) })
	t.Run("private", r.private)
	t.Run("no credentials", r.submitWithoutCredentials)
	t.Run("renewal", r.outlastRenewal)
	t.Run("expiry", r.outlastTokens)
}

// submission returns the command of a submit.
func (r *realm) submission(s *site, dest string, b bearer) *exec.Cmd {
	cmd := b.convert(s, dest, "--memory=64MiB", "--json")
	cmd.Args[1] = "submit"
	return cmd
}

// submitAndCheck submits a conversion. No secret except the job's tokens may reach the
// nodes.
func (r *realm) submitAndCheck(t *testing.T, client string, b bearer) {
	s, dest := r.sites[client], "/alice/submitted-"+client
	uri := s.clients()[client] + dest
	run := launch(t, r.submission(s, uri, b))
	env := r.childEnviron(t, run)
	for _, name := range []string{"KRB5KEYTAB", "KRB5PRINCIPAL", "KRB5CCNAME"} {
		if strings.Contains(env, "\x00"+name+"=") {
			t.Errorf("a child has %s", name)
		}
	}
	if !strings.Contains(env, "\x00HADOOP_TOKEN_FILE_LOCATION=") {
		t.Errorf("a child has no tokens: %q", env)
	}
	run.want(t, 0)
	s.wantComplete(t, uri)
	r.wantOwner(t, dest, "alice")
}

// childEnviron returns the environment of a child of Pipes, once there is one.
func (r *realm) childEnviron(t *testing.T, run *running) string {
	t.Helper()
	var env []byte
	r.anyChild(t, run, func(pid int) (err error) {
		env, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err
	})
	return "\x00" + string(env)
}

// anyChild waits for a child of Pipes for which do succeeds.
func (r *realm) anyChild(t *testing.T, run *running, do func(pid int) error) (pid int) {
	t.Helper()
	run.waitFor(t, "a child of Pipes", func() bool {
		all, err := r.Processes()
		must(t, err)
		for _, p := range all {
			if p.Child() && do(p.PID) == nil {
				pid = p.PID
				return true
			}
		}
		return false
	})
	return pid
}

// private fails the test unless only the owner can read the files uploaded for jobs.
func (r *realm) private(t *testing.T) {
	const dir = "/user/alice/.rowtocol"
	text, err := r.Do(t.Context(), "GET", dir, "op=LISTSTATUS")
	must(t, err)
	program := regexp.MustCompile(`"pathSuffix":"(rowtocol-[0-9a-f]{32})"`).FindStringSubmatch(text)
	if program == nil {
		t.Fatalf("no program in %s: %s", dir, text)
	}
	keytab, err := r.kdc.Keytab(t.Context(), "bob")
	must(t, err)
	bob := r.webStore(t, cluster.LoginOptions{Principal: "bob", Keytab: keytab})
	if _, err := bob.ReadFile(t.Context(), path.Join(dir, program[1]), 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("bob reads the program: %v", err)
	}
	if _, err := bob.List(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("bob lists %s: %v", dir, err)
	}
	alice := r.webStore(t, cluster.LoginOptions{Principal: "alice", Keytab: r.keytab})
	var names []string
	infos, err := alice.List(t.Context(), dir)
	must(t, err)
	for _, i := range infos {
		names = append(names, i.Name)
	}
	if len(names) != 1 {
		t.Errorf("after the jobs there are %v", names)
	}
}

// submitWithoutCredentials checks that a submit without credentials fails.
func (r *realm) submitWithoutCredentials(t *testing.T) {
	s := r.sites["hdfs"]
	b := bearer{env: []string{"KRB5CCNAME=FILE:/nonexistent"}}
	finishInTime(t, r.submission(s, s.URI()+"/alice/absent", b)).want(t, 7)
}

// hold submits a conversion, and suspends its first child for a time. No other attempt may
// do the child's task meanwhile.
func (r *realm) hold(t *testing.T, dest string, d time.Duration) *running {
	t.Helper()
	cmd := r.submission(r.sites["hdfs"], dest, r.withKeytab())
	cmd.Args = slices.Insert(cmd.Args, 2, "-D", "mapreduce.map.speculative=false")
	run := launch(t, cmd)
	child := r.anyChild(t, run, func(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) })
	select {
	case <-run.ended:
		t.Errorf("the child was not suspended in time\n%s", tail(run.stderr.String()))
	case <-time.After(d):
	}
	_ = syscall.Kill(child, syscall.SIGCONT) // the cluster may have ended it
	return run
}

// outlastRenewal delays a job for longer than its tokens are valid without renewal.
func (r *realm) outlastRenewal(t *testing.T) {
	s, dest := r.sites["hdfs"], r.URI()+"/alice/renewal"
	r.hold(t, dest, tokenLife+30*time.Second).want(t, 0)
	s.wantComplete(t, dest)
}

// outlastTokens delays a job for longer than its tokens can be valid. The same command again
// does the remaining tasks, with new tokens.
func (r *realm) outlastTokens(t *testing.T) {
	s, dest := r.sites["hdfs"], r.URI()+"/alice/expiry"
	r.hold(t, dest, tokenEnd+20*time.Second).want(t, 4)
	s.wantNothing(t, dest)
	again := r.submission(s, dest, r.withKeytab())
	var stdout bytes.Buffer
	again.Stdout = &stdout
	launch(t, again).want(t, 0)
	s.wantComplete(t, dest)
	var report struct {
		Result struct {
			Tasks        int
			ResumedTasks int `json:"resumed_tasks"`
		}
	}
	must(t, json.Unmarshal(stdout.Bytes(), &report))
	if r := report.Result; r.ResumedTasks == 0 || r.ResumedTasks == r.Tasks {
		t.Errorf("%d of %d tasks were not done again", r.ResumedTasks, r.Tasks)
	}
}
