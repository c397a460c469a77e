package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// TestYARN checks conversions whose tasks run on a cluster. With ROWTOCOL_SOAK it has all
// faults, and runs on the oldest Hadoop, too.
func TestYARN(t *testing.T) {
	if !soak.Full() {
		y := newYARN(t, hadooptest.Shared(t))
		y.mixed(t)
		y.cancelled(t)
		y.wantSmall(t)
		return
	}
	for _, version := range []string{"", hadooptest.Oldest} {
		t.Run("version "+version, func(t *testing.T) {
			y := newYARN(t, hadooptest.New(t, hadooptest.Config{Version: version, DataNodes: 1, YARN: 1536}))
			for name, test := range y.all() {
				t.Run(name, test)
			}
			y.wantSmall(t)
		})
	}
}

// TestFaultsOfSubmit checks a conversion on a cluster in which processes are killed.
func TestFaultsOfSubmit(t *testing.T) {
	y := newYARN(t, hadooptest.Shared(t))
	for _, f := range []target{hFiles, parquetFiles} {
		t.Run(f.name, func(t *testing.T) { y.killedSubmit(t, f) })
	}
	y.wantSmall(t)
}

// mailFile returns an Avro file of mail, compressed by a codec.
func mailFile(t *testing.T, seed uint64, rows int, codec string) []byte {
	t.Helper()
	var file bytes.Buffer
	must(t, mailgen.Write(&file, mailgen.Options{Rows: int64(rows), Seed: seed, Codec: codec}))
	return file.Bytes()
}

// mixed checks a job that converts many small files with all codecs and odd names, which tasks
// read in groups, and two large files that are cut into tasks. It also checks the costs.
func (y *yarn) mixed(t *testing.T) {
	in := y.dir(t)
	names := []string{"hive=000000_0", `we{ir},d [x]*?^ \ é.avro`, "a{b,c}.avro", "x.avro.snappy", "y.bz2", "z.gz", "_hidden.avro", "a b%20+c.avro"}
	kinds := []string{"null", "deflate", "snappy", "zstandard", "xz"}
	const files = 200
	for i := range files {
		name := fmt.Sprintf("mail-%03d.avro", i)
		if i < len(names) {
			name = names[i]
		}
		y.put(t, in, name, mailFile(t, uint64(i), 20, kinds[i%len(kinds)]))
	}
	rows := soak.Rounds(10_000, 150_000)
	big := mailFile(t, 7, rows, "snappy")
	y.put(t, in, "large.avro.snappy", big)
	y.put(t, in, "large.avro", big)
	s := y.submittable(t, []string{in, in + "/_hidden.avro"}, "--row-group-size", fmt.Sprint(len(big)*3/4), "--index", "id", "--index", "folder,id")
	if s.rows != int64(files*20+2*rows) || s.tasks < 4 {
		t.Fatalf("%d rows in %d tasks", s.rows, s.tasks)
	}
	dest, began := y.dir(t)+"/out", time.Now()
	r := s.submit(t, dest, 0, "-D", "mapreduce.map.speculative=false")
	s.wantComplete(t, dest)
	if r.counter("Data-local map tasks") < 1 {
		t.Errorf("no task was where its data is: %v", r.Result.Counters)
	}
	if a := y.newest(t); r.Result.Application != a.ID || a.FinalStatus != "SUCCEEDED" || a.Queue != "default" && a.Queue != "root.default" {
		t.Errorf("%s was the job, the newest is %+v", r.Result.Application, a)
	}
	y.overhead(t, s, r, began)
	jobs := y.jobs(t)
	needJava(t)
	count, err := y.Java(t.Context(), "TrevniCount", dest)
	must(t, err)
	if strings.TrimSpace(count) != fmt.Sprint(s.rows) {
		t.Errorf("Java counts %s rows, want %d", count, s.rows)
	}
	if y.jobs(t) != jobs+1 {
		t.Error("Java did not count on the cluster")
	}
	y.wantClean(t)
	if again := s.submit(t, dest, 0); !again.Result.Nothing || y.jobs(t) != jobs+1 {
		t.Error("the rerun did not report that there is nothing to do, or started a job")
	}
}

// javaShare is the MiB of a task's container besides --memory and the fixed needs of the
// program.
const javaShare = 256

// overhead logs the cost of a job besides the work of its tasks. It fails the test if the
// job requested more memory, or wrote more to local disks, than it should.
func (y *yarn) overhead(t *testing.T, s *submittable, r submitReport, began time.Time) {
	t.Helper()
	attempts := r.counter("Total time spent by all map tasks (ms)")
	_, lived, _, wrote := y.measured(began)
	perByte := float64(r.counter("local bytes written")) / float64(s.size)
	t.Logf("overhead: a job of %.1f s; %d attempts of %.1f s together, their children of %.1f s; %d bytes of output, for each of which tasks wrote %.2f to local disk, the disk took %.2f",
		r.Result.Seconds, r.counter("Launched map tasks"), float64(attempts)/1000, lived.Seconds(), s.size, perByte, float64(wrote)/float64(s.size))
	if perByte > 1.1 || float64(wrote) > 1.1*float64(s.size) {
		t.Error("too much was written to local disk")
	}
	memory := r.counter("Total megabyte-milliseconds taken by all map tasks") / max(attempts, 1)
	if want := int64(javaShare + (taskMemory+processMemory)>>20); memory > want || memory == 0 {
		t.Errorf("containers of %d MiB, want %d", memory, want)
	}
}

// mail returns a conversion with several tasks of about a second each.
func (y *yarn) mail(t *testing.T, flags ...string) *submittable {
	t.Helper()
	in, file := y.dir(t), filepath.Join(t.TempDir(), "mail.avro")
	writeMail(t, file, int64(soak.Rounds(20_000, 40_000)))
	y.putFile(t, in, "mail.avro", file)
	s := y.submittable(t, []string{in}, append([]string{"--row-group-size=2MiB"}, flags...)...)
	if s.tasks < 3 {
		t.Fatalf("%d tasks are too few", s.tasks)
	}
	s.input = file
	return s
}

// killedSubmit kills the submit of a job when only one of its tasks is done. The same
// command follows that job, in which a child is killed, and publishes it.
func (y *yarn) killedSubmit(t *testing.T, f target) {
	s := y.mail(t, f.flagsFor("2MiB", "4MiB")...)
	dest := y.dir(t) + "/out"
	first := s.start(t, dest)
	held := y.hold(t, first, dest, 1)
	client := clients(t, first)
	must(t, first.cmd.Process.Kill())
	first.running.want(t, -1)
	wantEnded(t, client)
	s.wantNothing(t, dest)
	job, jobs := y.newest(t), y.jobs(t)
	defer func() {
		if t.Failed() {
			all, err := y.Applications(t.Context())
			t.Logf("%s was the job. All jobs: %+v, %v", job.ID, all, err)
		}
	}()
	second := s.start(t, dest)
	second.waitFor(t, "the job was found", func() bool { return strings.Contains(second.stderr.String(), job.ID) })
	must(t, syscall.Kill(held.PID, syscall.SIGKILL))
	r := second.end(t, 0)
	s.wantComplete(t, dest)
	if r.Result.Application != job.ID || y.jobs(t) != jobs {
		t.Errorf("%s was followed, not %s; %d jobs, not %d", r.Result.Application, job.ID, y.jobs(t), jobs)
	}
	y.wantClean(t)
	if f.name == parquetFiles.name {
		wantMail(t, copyOf(t, y.Cluster, y.locate(t, dest).Path), s.input)
	}
}

// clients returns the processes of Hadoop's client that a submit started.
func clients(t *testing.T, s *submission) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	must(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			must(t, err)
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		t.Error("the submit runs no Hadoop client")
	}
	return pids
}

// wantEnded fails the test unless processes end soon.
func wantEnded(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !slices.ContainsFunc(pids, func(pid int) bool { return !endedProcess(pid) }) {
			return
		}
	}
	t.Errorf("still there: %v", pids)
}
