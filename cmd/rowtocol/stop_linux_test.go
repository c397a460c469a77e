package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// hungServer takes connections and never answers.
func hungServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

// waitingRun is a run of the program that waits for something that never comes.
type waitingRun struct {
	name   string
	args   []string
	env    string
	signal syscall.Signal
	again  time.Duration // after which the signal is sent once more; 0 is never
	stdin  *os.File
	ready  func() bool // reports whether the run waits
	code   int
	text   string // a part of its log
}

// begin starts the program. stop sends the signal when the run waits, and checks its end.
func (s *waitingRun) begin(t *testing.T, dir string) (stop func(t *testing.T)) {
	cmd := command(t, s.args...)
	cmd.Env = append(cmd.Env, s.env)
	log, err := os.Create(filepath.Join(dir, s.name+".log")) // ready reads it
	must(t, err)
	cmd.Stderr = log
	if s.stdin != nil {
		cmd.Stdin = s.stdin
	}
	startCmd(t, dir, cmd)
	return func(t *testing.T) {
		ready := false
		for i := 0; i < 60_000 && !ready; i++ {
			ready = s.ready()
			time.Sleep(time.Millisecond)
		}
		if !ready {
			t.Errorf("%s: the run does not begin to wait", s.name)
		}
		began := time.Now()
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if s.again > 0 {
			time.Sleep(s.again)
			if err := cmd.Process.Signal(s.signal); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
		o := waitCmd(t, cmd)
		took, text := time.Since(began), string(read(t, log.Name()))
		if o.code != s.code || took > stopLimit || !strings.Contains(text, s.text) || strings.Contains(text, givenUp) != (s.text == givenUp) {
			t.Errorf("%s: exit %d after %v\n%s", s.name, o.code, took, text)
		}
	}
}

// TestStopsWithin10Seconds checks that a signal ends the program within 10 s during any work.
// A busy machine may add to that.
func TestStopsWithin10Seconds(t *testing.T) {
	t.Parallel() // it waits
	receiveSIGHUP()
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3000)
	rowtocol(t, dir, nil, "convert", "a.avro", "columns").want(t, 0)
	hangingConf := func() (env string, w *os.File) {
		conf := t.TempDir()
		name := filepath.Join(conf, "core-site.xml")
		if err := unix.Mkfifo(name, 0o600); err != nil {
			testenv.Skip(t, err.Error())
		}
		w, err := os.OpenFile(name, os.O_RDWR, 0)
		must(t, err)
		t.Cleanup(func() { _ = w.Close() })
		return "HADOOP_CONF_DIR=" + conf, w
	}
	conf1, writer1 := hangingConf()
	conf2, writer2 := hangingConf()
	stdin, rows, err := os.Pipe()
	must(t, err)
	defer func() { _, _ = stdin.Close(), rows.Close() }()
	hung := hungServer(t)
	logged := func(name, text string) func() bool {
		return func() bool {
			b, err := os.ReadFile(filepath.Join(dir, name+".log"))
			return err == nil && strings.Contains(string(b), text)
		}
	}
	cases := []waitingRun{
		// Nothing can interrupt the reader of Hadoop's configuration.
		{name: "configuration", args: []string{"convert", "hdfs:///in", "out1"}, env: conf1, signal: syscall.SIGTERM, again: 50 * time.Millisecond, ready: writeUnread(t, writer1), code: 143, text: givenUp},
		{name: "signal twice", args: []string{"convert", "hdfs:///in", "out6"}, env: conf2, signal: syscall.SIGTERM, again: time.Second, ready: writeUnread(t, writer2), code: -1},
		{name: "reading HDFS", args: []string{"convert", "hdfs://" + hung + "/in", "out2"}, signal: syscall.SIGTERM, ready: logged("reading HDFS", "begins"), code: 143, text: "convert ended"},
		{name: "writing WebHDFS", args: []string{"convert", "a.avro", "webhdfs://" + hung + "/out"}, signal: syscall.SIGINT, ready: logged("writing WebHDFS", "begins"), code: 130, text: "convert ended"},
		{name: "trying again", args: []string{"plan", "hdfs://127.0.0.1:1/in", "out3", "-o", "plan.json"}, signal: syscall.SIGHUP, ready: logged("trying again", "trying again"), code: 129, text: "stopped by SIGHUP"},
		{name: "out of time", args: []string{"convert", "--max-runtime", "1s", "hdfs://" + hung + "/in", "out4"}, signal: 0, ready: func() bool { return true }, code: 4, text: "stopped after --max-runtime 1s: finished work is kept"},
		{name: "stdin", args: []string{"cat", "-", "--output", "out5"}, signal: syscall.SIGTERM, ready: writeUnread(t, rows), code: 143, text: "stopped by SIGTERM", stdin: stdin},
	}
	stops := map[string]func(t *testing.T){"blocked": startBlockedOnLog(t, dir), "lock": startBlockedOnLock(t, dir)}
	for i := range cases {
		stops[cases[i].name] = cases[i].begin(t, dir)
	}
	t.Run("signal", func(t *testing.T) {
		for name, stop := range stops {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				stop(t)
			})
		}
	})
	for _, pattern := range []string{"*.tmp*", ".*", "out*/.rowtocol/*/_lock"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	}
}

// writeUnread writes to a pipe. The result reports whether a reader has taken it.
func writeUnread(t *testing.T, w *os.File) func() bool {
	if _, err := w.WriteString("#"); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		n, err := unix.IoctlGetInt(int(w.Fd()), unix.TIOCINQ)
		return err == nil && n == 0
	}
}

// startBlockedOnLog starts a run that blocks on a full pipe for its log, during a task. One
// signal must end it, and it must leave no temporary files.
func startBlockedOnLog(t *testing.T, dir string) (stop func(t *testing.T)) {
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _ = r.Close() })
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 4096)
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	temp := tempDir(t, dir)
	cmd := command(t, "convert", "-v", "--temp-dir", temp, "a.avro", "blocked")
	cmd.Dir, cmd.Stderr = dir, w
	// The pipe has room for the first line, but not for the one about the task.
	if _, err := w.Write(make([]byte, size-450)); err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())
	return func(t *testing.T) {
		waitFor(t, temp+"/*")
		began := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // the exit code is checked below
		if code, took := cmd.ProcessState.ExitCode(), time.Since(began); code != 143 || took > stopLimit {
			t.Errorf("blocked: exit %d after %v", code, took)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// startBlockedOnLock starts a run that waits for the lock of a suspended run.
func startBlockedOnLock(t *testing.T, dir string) (stop func(t *testing.T)) {
	writePairs(t, dir, "long.avro", 0, 400_000)
	holder := startCmd(t, dir, command(t, "convert", "--codec", "bzip2", "--workers", "1", "--temp-dir", t.TempDir(), "long.avro", "held"))
	waitFor(t, dir+"/held/_lock")
	must(t, holder.Process.Signal(syscall.SIGSTOP))
	s := waitingRun{name: "lock", args: []string{"convert", "long.avro", "held"}, signal: syscall.SIGTERM, code: 143, text: "stopped by SIGTERM"}
	began := time.Now()
	s.ready = func() bool { // soon after its start it finds the lock
		b, err := os.ReadFile(filepath.Join(dir, s.name+".log"))
		return err == nil && len(b) > 0 && time.Since(began) > time.Second
	}
	endWait := s.begin(t, dir)
	return func(t *testing.T) {
		endWait(t)
		if err := holder.Process.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		_ = holder.Wait() // it was killed
	}
}

// TestStopsPrinting checks that a signal ends the output of inspect --bytes.
func TestStopsPrinting(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100_000)
	rowtocol(t, dir, nil, "convert", "--codec", "null", "a.avro", "out").want(t, 0)
	cmd := command(t, "inspect", "--bytes", partOf(t, dir+"/out", 0))
	text, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	// The program has begun to print, and blocks on the full pipe.
	if _, err := io.ReadFull(text, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	time.Sleep(time.Second) // for the program to receive the signal
	n, err := io.Copy(io.Discard, text)
	_ = cmd.Wait() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 143 || n > 1<<18 || err != nil {
		t.Errorf("exit %d after %d bytes, %v", code, n, err)
	}
}

// TestMaxRuntime checks that --max-runtime keeps finished work, and that a rerun resumes it.
func TestMaxRuntime(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 400_000)
	convert := []string{"convert", "--codec", "bzip2", "--workers", "1", "--row-group-size", "64KiB", "a.avro", "out"}
	rowtocol(t, dir, nil, append(convert, "--max-runtime", "-1s")...).want(t, 1, "--max-runtime")
	limit := 100 * time.Millisecond
	o := rowtocol(t, dir, nil, append(convert, "--max-runtime", limit.String())...).want(t, 4, "stopped after --max-runtime "+limit.String())
	o.wantRun(t, "convert", "storage")
	for o.code == 4 && limit < time.Minute {
		limit *= 2
		o = rowtocol(t, dir, nil, append(convert, "--max-runtime", limit.String())...)
	}
	o.want(t, 0, "400000 rows")
	_, last := o.wantRun(t, "convert", "done")
	if last.number("resumed_tasks") < 1 {
		t.Errorf("%v", last)
	}
}

// TestNohup checks that a program that was started with SIGHUP ignored keeps ignoring it.
func TestNohup(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" cat --output out - <rows`, binary)
	cmd.Env, cmd.Dir = testenv.ProgramEnviron(), dir
	if err := unix.Mkfifo(dir+"/rows", 0o600); err != nil {
		testenv.Skip(t, err.Error())
	}
	must(t, cmd.Start())
	rows, err := os.OpenFile(dir+"/rows", os.O_WRONLY, 0) // waits for the shell
	must(t, err)
	file := read(t, dir+"/a.avro")
	if _, err := rows.Write(file[:len(file)/2]); err != nil {
		t.Fatal(err)
	}
	waitFor(t, dir+"/.out.*.tmp")
	must(t, cmd.Process.Signal(syscall.SIGHUP))
	if _, err := rows.Write(file[len(file)/2:]); err != nil {
		t.Fatal(err)
	}
	must(t, rows.Close())
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(string(read(t, dir+"/out")), "\n"); n != 100 {
		t.Errorf("%d rows", n)
	}
}
