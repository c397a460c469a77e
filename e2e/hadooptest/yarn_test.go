package hadooptest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// sleeper is a program for Pipes that never communicates with it.
const sleeper = "#!/bin/sh\nsleep 1000 & wait\n"

// submitSleeper submits a job of one map task, whose child sleeps.
func submitSleeper(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := contextFor(t, 5*time.Minute)
	dir := t.TempDir()
	for name, text := range map[string]string{"sleeper": sleeper, "input": "a line\n"} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777))
	}
	put := c.launch(ctx, "hdfs", "dfs", "-put", "-f", filepath.Join(dir, "sleeper"), filepath.Join(dir, "input"), "/tmp")
	if out, err := put.CombinedOutput(); err != nil {
		t.Fatalf("put: %v\n%s", err, out)
	}
	job := properties{
		"mapreduce.pipes.executable":               c.URI() + "/tmp/sleeper",
		"mapreduce.pipes.isjavarecordreader":       "false",
		"mapreduce.pipes.isjavarecordwriter":       "false",
		"mapred.input.format.class":                "org.apache.hadoop.mapred.SequenceFileInputFormat",
		"mapred.output.format.class":               "org.apache.hadoop.mapred.lib.NullOutputFormat",
		"mapreduce.input.fileinputformat.inputdir": "/tmp/input",
		"mapreduce.job.reduces":                    "0",
		"mapreduce.job.queuename":                  OtherQueue,
	}
	conf := filepath.Join(dir, "job.xml")
	testenv.Must(t, os.WriteFile(conf, []byte(job.xml()), 0o666))
	client := c.launch(ctx, "mapred", "pipes", "-conf", conf)
	testenv.Must(t, client.Start())
	t.Cleanup(func() {
		_ = client.Process.Kill() // it may have ended
		_ = client.Wait()
	})
}

// launch prepares a launcher of the client installation.
func (c *Cluster) launch(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Home(), "bin", name), args...)
	cmd.Env = environment("HADOOP_CONF_DIR="+c.ConfDir(), "HADOOP_ROOT_LOGGER=WARN,console")
	return cmd
}

// waitForChild waits until a Pipes child runs.
func waitForChild(t *testing.T, c *Cluster) (child Process) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(poll) {
		all, err := c.Processes()
		testenv.Must(t, err)
		for _, p := range all {
			if p.Child() {
				return p
			}
		}
	}
	t.Fatal("no child of Pipes ran")
	return child
}

// waitUntilGone waits until no process works in a directory.
func waitUntilGone(t *testing.T, c *Cluster) {
	t.Helper()
	var all []Process
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(poll) {
		if all, _ = c.Processes(); len(all) == 0 {
			return
		}
	}
	t.Errorf("these processes still run: %v", all)
}

// TestKilledProgram kills the program that started the cluster with SIGKILL.
func TestKilledProgram(t *testing.T) {
	RequireCluster(t)
	program := filepath.Join(t.TempDir(), "hdfs")
	if out, err := exec.Command("go", "build", "-o", program, "./hdfs").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	temp := t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, "-datanodes", "1", "-yarn")
	cmd.Env = append(environment(), "TMPDIR="+temp)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	testenv.Must(t, spawn(cmd))
	var dir string
	for end := time.Now().Add(3 * time.Minute); dir == "" && time.Now().Before(end); time.Sleep(poll) {
		found, _ := filepath.Glob(filepath.Join(temp, "*", "home", "bin", "yarn"))
		if len(found) == 1 {
			dir = filepath.Dir(filepath.Dir(filepath.Dir(found[0])))
		}
	}
	if dir == "" {
		_ = cmd.Process.Kill()
		t.Fatalf("%v\n%s", cmd.Wait(), &stderr)
	}
	c := &Cluster{dir: dir}
	site, err := os.ReadFile(filepath.Join(c.ConfDir(), "core-site.xml"))
	testenv.Must(t, err)
	_, rest, _ := bytes.Cut(site, []byte("<name>fs.defaultFS</name><value>"))
	uri, _, _ := bytes.Cut(rest, []byte("<"))
	c.uri = string(uri)
	waitUntilReady(t, c)
	submitSleeper(t, c)
	waitForChild(t, c)
	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	waitUntilGone(t, c)
}

// waitUntilReady waits until a cluster of another process accepts jobs.
func waitUntilReady(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := contextFor(t, 3*time.Minute)
	for ctx.Err() == nil {
		out, err := c.launch(ctx, "yarn", "node", "-list").Output()
		if err == nil && bytes.Contains(out, []byte("Total Nodes:1")) {
			return
		}
		time.Sleep(poll)
	}
	t.Fatal("no node manager")
}
