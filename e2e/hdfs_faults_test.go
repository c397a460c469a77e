package e2e

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// site is a conversion, on a cluster or else on local disk, that lasts long enough to be
// disturbed. want is its undisturbed output.
type site struct {
	*hadooptest.Cluster
	resolver *location.Resolver
	input    string
	flags    []string
	want     map[string]string // digests of the output's files
	took     time.Duration
	upload   time.Duration // how long its largest part takes
}

func newSite(t *testing.T, c *hadooptest.Cluster, rows int64, flags ...string) *site {
	t.Helper()
	s := &site{Cluster: c, flags: flags}
	if c != nil {
		t.Setenv("HADOOP_CONF_DIR", s.ConfDir())
	}
	s.resolver = location.New(location.Options{Patience: store.Patience{Limit: time.Minute}})
	t.Cleanup(func() { _ = s.resolver.Close() })
	dir := t.TempDir()
	s.input = filepath.Join(dir, "mail.avro")
	writeMail(t, s.input, rows)
	local := filepath.Join(dir, "out")
	s.took = run(t, s.args(local, "--temp-dir", dir)...).want(t, 0).elapsed
	s.want = map[string]string{}
	for name, content := range plain(t, tree(t, local)) {
		s.want[name] = digest([]byte(content))
	}
	return s
}

func digest(b []byte) string { return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b)) }

func (s *site) args(dest string, more ...string) []string {
	args := append([]string{"convert", "--log-level=debug"}, s.flags...)
	return append(append(args, more...), s.input, dest)
}

func (s *site) locate(t *testing.T, uri string) store.Location {
	t.Helper()
	l, err := s.resolver.Resolve(uri)
	must(t, err)
	return l
}

// eachFile calls f with the relative name and content of each file below a directory of a
// store. The content of a file that is being written is nil.
func eachFile(t *testing.T, at store.Location, f func(name string, content []byte)) {
	t.Helper()
	var walk func(below string)
	walk = func(below string) {
		infos, err := at.Store.List(t.Context(), path.Join(at.Path, below))
		if errors.Is(err, store.ErrNotExist) {
			return
		}
		must(t, err)
		for _, info := range infos {
			name := path.Join(below, info.Name)
			if info.Dir {
				walk(name)
				continue
			}
			b, err := at.Store.ReadFile(t.Context(), info.Path, 1<<30)
			switch {
			case errors.Is(err, store.ErrBeingWritten):
				f(name, nil)
			case errors.Is(err, store.ErrNotExist): // it was renamed meanwhile
			default:
				must(t, err)
				f(name, append([]byte{}, b...))
			}
		}
	}
	walk("")
}

// tree returns digests of the files below a directory, hidden ones included. It replaces
// names and content of outputs by plain ones. If two files have the same plain name, tree
// returns one that differs from want.
func (s *site) tree(t *testing.T, uri string) map[string]string {
	t.Helper()
	files := map[string]string{}
	eachFile(t, s.locate(t, uri), func(name string, content []byte) {
		if content == nil {
			files[name] = "open"
		} else if p := plainName(name); files[p] == "" || files[p] == s.want[p] {
			files[p] = digest(plainContent(t, name, content))
		}
	})
	return files
}

// checkVisible fails the test if a file that readers see is incomplete.
func (s *site) checkVisible(t *testing.T, uri string) {
	t.Helper()
	got := s.tree(t, uri)
	delete(got, manifest.InputsName) // a rerun of a finished conversion writes it
	for name, d := range got {
		if name == "_lock" || strings.HasPrefix(name, ".") {
			continue
		}
		if d != s.want[name] {
			t.Errorf("%s shows %s, want %s", name, d, s.want[name])
		}
	}
	if _, committed := got["_SUCCESS"]; !committed {
		return
	}
	// A lock and a work directory may be left: the rerun removes them.
	for name := range s.want {
		if _, there := got[name]; !there {
			t.Errorf("_SUCCESS exists without %s", name)
		}
	}
}

// wantNothing fails the test if readers see any file.
func (s *site) wantNothing(t *testing.T, uri string) {
	t.Helper()
	for name := range s.tree(t, uri) {
		if name != "_lock" && !strings.HasPrefix(name, ".") {
			t.Errorf("%s is visible", name)
		}
	}
}

// wantComplete fails the test unless a directory holds the output alone, on HDFS with one
// block per file.
func (s *site) wantComplete(t *testing.T, uri string) {
	t.Helper()
	got := s.tree(t, uri)
	delete(got, manifest.InputsName) // it exists only for recent inputs
	s.wantOneOutput(t, uri)
	for name, d := range s.want {
		if got[name] != d {
			t.Errorf("%s: %s, want %s", name, got[name], d)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("left over: %s", name)
	}
	if work := glob(t.Context(), s.locate(t, uri), manifest.WorkName); len(work) > 0 {
		t.Errorf("left over: %v", work)
	}
	if s.Cluster == nil {
		return
	}
	report, err := s.Fsck(t.Context(), s.locate(t, uri).Path)
	must(t, err)
	for line := range strings.Lines(report) {
		if strings.Contains(line, "block(s)") && !strings.Contains(line, " 1 block(s)") {
			t.Errorf("not one block: %s", line)
		}
	}
}

// wantOneOutput fails the test if a directory holds parts of two outputs.
func (s *site) wantOneOutput(t *testing.T, uri string) {
	t.Helper()
	at := s.locate(t, uri)
	infos, err := at.Store.List(t.Context(), at.Path)
	must(t, err)
	seen := map[string]bool{}
	for _, info := range infos {
		if p := plainName(info.Name); seen[p] {
			t.Errorf("left over: %s, of another output", info.Name)
		} else {
			seen[p] = true
		}
	}
}

// waitForUpload waits until a part is being uploaded and returns its pipeline.
func (s *site) waitForUpload(t *testing.T, uri string, ended <-chan struct{}) []*hadooptest.Daemon {
	t.Helper()
	at := s.locate(t, uri)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		for _, file := range uploads(ctx, at) {
			if nodes, err := s.Pipeline(ctx, file); err == nil && len(nodes) > 0 {
				return nodes
			}
		}
		select {
		case <-ended:
			t.Fatal("the conversion ended before an upload was seen")
		case <-ctx.Done():
			t.Fatal("no upload was seen")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// uploads returns the parts that are being uploaded, without waiting.
func uploads(ctx context.Context, at store.Location) (files []string) {
	for _, dir := range unfinishedWork(ctx, at) {
		files = append(files, unclosedParts(dir)...)
	}
	return files
}

// unclosedParts returns the files of parts in a directory that are being written: HDFS
// counts a block when it is complete, and they have one.
func unclosedParts(dir []store.Info) (files []string) {
	for _, info := range dir {
		if strings.Contains(info.Path, "/part-") && !info.Dir && info.Size == 0 {
			files = append(files, info.Path)
		}
	}
	return files
}

// running is a conversion that has started.
type running struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	stderr *strings.Builder
}

func (s *site) start(t *testing.T, dest string, more ...string) *running {
	t.Helper()
	return launch(t, command(s.args(dest, more...)...))
}

func launch(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd, ended: make(chan struct{}), stderr: &strings.Builder{}}
	r.cmd.Stderr = r.stderr
	must(t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait() // want and code check its exit code
		close(r.ended)
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it has ended, if the test passed
		<-r.ended
	})
	return r
}

// want waits for the exit code. -1 means that a signal ended the program.
func (r *running) want(t *testing.T, code int) {
	t.Helper()
	select {
	case <-r.ended:
	case <-time.After(5 * time.Minute):
		t.Fatalf("the conversion hangs\n%s", tail(r.stderr.String()))
	}
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit %d, want %d\n%s", got, code, tail(r.stderr.String()))
	}
}

// code waits for the exit code. -1 means that a signal ended the program.
func (r *running) code() int {
	<-r.ended
	return r.cmd.ProcessState.ExitCode()
}

// retries counts the waits that an ended conversion logged.
func (r *running) retries() int { return strings.Count(r.stderr.String(), "trying again") }

func tail(text string) string { return text[max(0, len(text)-4000):] }

// clients are the URIs of the cluster by the client that serves them.
func (s *site) clients() map[string]string {
	return map[string]string{"hdfs": s.URI(), "webhdfs": s.WebURI()}
}

// measure measures an undisturbed upload.
func (s *site) measure(t *testing.T, dest string) {
	t.Helper()
	r := s.start(t, dest)
	s.waitForUpload(t, dest, r.ended)
	began := time.Now()
	for at := s.locate(t, dest); len(uploads(t.Context(), at)) > 0; {
		time.Sleep(5 * time.Millisecond)
	}
	s.upload = time.Since(began)
	r.want(t, 0)
	s.wantComplete(t, dest)
}

// TestKilledOnHDFS checks conversions to HDFS whose data nodes or client are killed. With
// ROWTOCOL_SOAK it also kills clients on the oldest Hadoop, which does not show the nodes that
// receive a file.
func TestKilledOnHDFS(t *testing.T) {
	versions := []string{""}
	if soak.Full() {
		versions = append(versions, hadooptest.Oldest)
	}
	for _, version := range versions {
		c := hadooptest.New(t, hadooptest.Config{Version: version, DataNodes: 3})
		if version == "" {
			t.Run("data node", func(t *testing.T) { killedDataNode(t, c) })
		}
		t.Run("client "+version, func(t *testing.T) { killedClient(t, c) })
	}
}

// killedDataNode kills a data node of the pipeline during an upload.
func killedDataNode(t *testing.T, c *hadooptest.Cluster) {
	s := newSite(t, c, 100_000, "--codec=null", "--row-group-size=256MiB", "--store-retry=3m")
	whens := []struct {
		name string
		at   float64 // of the upload's time
	}{{"early", 0}, {"late", 0.7}, {"in close", 0.95}}
	for client, uri := range s.clients() {
		s.measure(t, uri+"/measure-"+client)
		for i := range soak.Rounds(3, 20) {
			position, when := (i+i/3)%3, whens[i%3]
			t.Run(fmt.Sprintf("%s %d: node %d of the pipeline, %s", client, i, position+1, when.name), func(t *testing.T) {
				dest := fmt.Sprintf("%s/killed-%s-%d", uri, client, i)
				r := s.start(t, dest)
				nodes := s.waitForUpload(t, dest, r.ended)
				victim := nodes[min(position, len(nodes)-1)]
				jitter := 1 + (rand.Float64()-0.5)/10
				time.Sleep(time.Duration(when.at * jitter * float64(s.upload)))
				victim.Kill()
				t.Cleanup(func() { _ = victim.Start(context.Background()) }) // fails if it runs again
				r.want(t, 0)
				t.Logf("pipeline of %d; the upload of %v was tried again %d times", len(nodes), s.upload.Round(time.Millisecond), r.retries())
				if len(nodes) > 1 {
					s.wantComplete(t, dest)
				}
				must(t, victim.Start(t.Context()))
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				must(t, s.WaitLive(ctx, 3))
				// A name node accepts a file of one replica. If only the dead
				// node holds it, it is back when the node is.
				s.wantComplete(t, dest)
			})
		}
	}
}

// TestHungNodes checks conversions while daemons are suspended for longer than any deadline.
func TestHungNodes(t *testing.T) {
	const deadline = "4000" // ms
	s := newSite(t, hadooptest.New(t, hadooptest.Config{
		DataNodes: 3,
		Core:      map[string]string{"ipc.client.rpc-timeout.ms": deadline},
		HDFS:      map[string]string{"dfs.client.socket-timeout": deadline},
	}), 100_000, "--codec=null", "--row-group-size=256MiB", "--store-retry=3m")
	for client, uri := range s.clients() {
		t.Run(client+", data node", func(t *testing.T) {
			dest := uri + "/hung-data-node-" + client
			r := s.start(t, dest)
			victim := s.waitForUpload(t, dest, r.ended)[0]
			must(t, victim.Suspend())
			r.want(t, 0)
			s.wantComplete(t, dest)
			must(t, victim.Resume())
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			must(t, s.WaitLive(ctx, 3))
		})
		t.Run(client+", name node", func(t *testing.T) {
			dest := uri + "/hung-name-node-" + client
			r := s.start(t, dest)
			s.waitForUpload(t, dest, r.ended)
			must(t, s.NameNodes[0].Suspend())
			time.Sleep(6 * time.Second) // longer than any deadline
			must(t, s.NameNodes[0].Resume())
			r.want(t, 0)
			s.wantComplete(t, dest)
		})
		t.Run(client+", name node for good", func(t *testing.T) {
			dest := uri + "/lost-name-node-" + client
			r := s.start(t, dest, "--store-retry=2s")
			s.waitForUpload(t, dest, r.ended)
			must(t, s.NameNodes[0].Suspend())
			r.want(t, 4)
			must(t, s.NameNodes[0].Resume())
			s.wantNothing(t, dest)
			run(t, s.args(dest)...).want(t, 0)
			s.wantComplete(t, dest)
		})
	}
}

// killedClient kills the program itself. Its lease and half-written files must not block
// a rerun.
func killedClient(t *testing.T, c *hadooptest.Cluster) {
	for client, f := range clientTargets {
		s := newSite(t, c, 40_000, append(f.flagsFor("2MiB", "4MiB"), "--workers=2")...)
		uri := s.clients()[client]
		s.took = run(t, s.args(uri+"/whole-"+client)...).want(t, 0).elapsed
		s.killed(t, uri+"/client-"+client, soak.Rounds(2, 25))
		if f.name == parquetFiles.name {
			wantMail(t, copyOf(t, c, "/client-"+client+"-0"), s.input)
		}
	}
}
