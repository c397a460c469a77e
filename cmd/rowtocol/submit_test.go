package main

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
)

// TestSubmitFlags checks that submit has the flags of convert, with the same texts.
func TestSubmitFlags(t *testing.T) {
	root := rowtocolProgram.Root()
	convert, _, err := root.Find([]string{"convert"})
	must(t, err)
	submit, _, err := root.Find([]string{"submit"})
	must(t, err)
	n := 0
	convert.LocalFlags().VisitAll(func(f *pflag.Flag) {
		n++
		if g := submit.Flags().Lookup(f.Name); g == nil || g.Usage != f.Usage || g.DefValue != f.DefValue || g.Value.Type() != f.Value.Type() || g.Shorthand != f.Shorthand {
			t.Errorf("--%s of submit is %+v, want %+v as of convert", f.Name, g, f)
		}
	})
	if n < 30 {
		t.Errorf("only %d flags compared", n)
	}
}

// clusterConf makes a configuration with an address where no server listens, and returns an
// environment with it and without a Hadoop client.
func clusterConf(t *testing.T, dir string) []string {
	t.Helper()
	write(t, dir+"/conf/core-site.xml", []byte("<configuration><property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>"))
	return []string{"HADOOP_CONF_DIR=" + dir + "/conf", "HADOOP_USER_NAME=etl", "PATH="}
}

// TestSubmitRefuses checks that wrong requests are refused before any server is contacted.
func TestSubmitRefuses(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	env := clusterConf(t, dir)
	write(t, dir+"/places.yaml", []byte("input: [hdfs:///in]\ndest: hdfs:///out\n"))
	write(t, dir+"/list.yaml", []byte("property:\n- mapreduce.job.acl-view-job=a,b c\n- nonsense\n"))
	write(t, dir+"/map.yaml", []byte("property: {mapreduce.job.acl-view-job: \"a,b c\", \"\": x}\n"))
	for _, c := range []struct{ args, text string }{
		{"a.avro hdfs:///out", "a.avro is on this machine"},
		{"hdfs:///in out", "out is on this machine"},
		{"--dry-run hdfs:///in file:///out", "/out is on this machine"},
		{"--partitioned hdfs:///in out", "out is on this machine"},
		{"hdfs:///in", "cannot run with 1 argument"},
		{"s3://in hdfs:///out", "s3"},
		{"--workers 0 hdfs:///in hdfs:///out", "--workers must be at least 1"},
		{"--memory 1MiB hdfs:///in hdfs:///out", "--memory must be at least 16MiB"},
		{"-D nonsense hdfs:///in hdfs:///out", "-D nonsense: a property is written key=value"},
		{"-D =x hdfs:///in hdfs:///out", "-D =x: a property is written key=value"},
		{"--config list.yaml hdfs:///in hdfs:///out", "-D nonsense: a property is written key=value"},
		{"--config map.yaml hdfs:///in hdfs:///out", "-D =x: a property is written key=value"},
		{"-D mapreduce.job.queuename=x hdfs:///in hdfs:///out", "use --queue"},
		{"--attach application_1_1 hdfs:///in hdfs:///out", "leave out the arguments"},
		{"--attach application_1_1 --dest hdfs:///out", "leave out --dest"},
		{"--attach=", "needs the ID"},
		{"--config places.yaml --attach=", "needs the ID"},
		{"--attach application_1_1 --detach", "leave out one of them"},
		{"--attach application_1_1 --dry-run", "leave out --dry-run"},
		{"--attach application_1_1 --exit-nothing 256", "--exit-nothing"},
		{"--cancel application_1_1 hdfs:///in hdfs:///out", "--cancel knows inputs and destination from the job"},
		{"--cancel application_1_1 --attach application_1_1", "leave out one of them"},
		{"--cancel=", "--cancel needs the ID"},
		{"--cancel application_1_1", "no mapred in"},
		{"--attach application_1_1 --moved hdfs:///old", "--moved hdfs:///old: write OLD=NEW"},
		{"--partitioned --overwrite hdfs:///in hdfs:///out", "--reprocess, and not --overwrite"},
		{"hdfs:///in hdfs:///out", "no mapred in"},
		{"--config places.yaml", "no mapred in"},
		{"--config places.yaml --attach application_1_1", "no mapred in"},
	} {
		rowtocol(t, dir, env, append([]string{"submit"}, strings.Fields(c.args)...)...).want(t, 1, c.text)
	}
}

// endSubmit ends a run and returns its final JSON object.
func endSubmit(t *testing.T, s *submitCommand, result any, err error) cli.Ending {
	t.Helper()
	s.reportJob()
	o := output{code: s.Finish(err)}
	o.stdout = string(read(t, s.Stdout.File.Name()))
	return o.object(t, result)
}

// startedSubmission returns a submission whose job has started.
func startedSubmission(t *testing.T) *submitCommand {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(t.TempDir(), "")
		must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		files[i] = f
	}
	s := newSubmission(&app{App: cli.NewApp(rowtocolProgram, nil, files[0], files[1])})
	s.JSON = true
	s.tellJob(task.RemoteJob{ID: "application_1_2", Job: "job_1_2", URL: "http://rm/proxy/application_1_2/"})
	return s
}

// samplePlan is a plan of two tasks.
var samplePlan = &manifest.Plan{ID: "p", Dest: "hdfs://nn/out", Tasks: make([]manifest.Task, 2), Request: manifest.Request{Inputs: make([]manifest.Input, 3)}}

func TestSubmitDetached(t *testing.T) {
	s := startedSubmission(t)
	s.detached = true
	s.Watchers.MetricsFile = t.TempDir() + "/none.prom"
	s.reportDetached(&job.Outcome{Plan: samplePlan}, samplePlan.Dest)
	var r submittedFlat
	e := endSubmit(t, s, &r, nil)
	if e.Exit != 0 || e.Status != statusDetached || !r.Detached || r.Application != "application_1_2" || r.Job != "job_1_2" || r.TrackingURL == "" ||
		r.Plan != "p" || r.Tasks != 2 || r.Inputs != 3 || r.Rows != 0 || r.Nothing || r.Counters == nil {
		t.Errorf("%+v: %+v", e, r)
	}
	if s.Watchers.MetricsFile != "" {
		t.Error("a detached run would report a success")
	}
}

// submittedFlat has the fields of submitted as a reader of the JSON sees them.
type submittedFlat struct {
	converted
	onCluster
}

func TestSubmitResult(t *testing.T) {
	s := startedSubmission(t)
	s.tellJob(task.RemoteJob{ID: "application_1_2", Job: "job_1_2", State: "SUCCEEDED", Counters: map[string]map[string]int64{"rowtocol": {"rows": 7}}})
	err := s.report(&job.Outcome{Published: []*manifest.Success{{Plan: "p", Rows: 7}}, Tasks: 2}, nil, "hdfs://nn/out")
	var r submittedFlat
	e := endSubmit(t, s, &r, err)
	if e.Exit != 0 || e.Status != "done" || r.Detached || r.Rows != 7 || r.Tasks != 2 || r.Counters["rowtocol"]["rows"] != 7 || r.Dest != "hdfs://nn/out" {
		t.Errorf("%+v: %+v", e, r)
	}

	// The result of a failed run names its job in the same field.
	s = startedSubmission(t)
	r = submittedFlat{}
	if e := endSubmit(t, s, &r, failure.New(failure.Storage, "no node")); e.Exit != 4 || r.Application != "application_1_2" || r.Parts == nil {
		t.Errorf("%+v: %+v", e, r)
	}
	s = startedSubmission(t)
	s.last = task.RemoteJob{}
	if e := endSubmit(t, s, nil, failure.New(failure.Storage, "no node")); e.Result != nil {
		t.Errorf("%+v", e)
	}
}

// TestSubmitPartitions reports partitions that run on, and some that had nothing to do.
func TestSubmitPartitions(t *testing.T) {
	for _, c := range []struct {
		detached bool
		status   string
		exit     int
	}{{true, statusDetached, 0}, {false, "nothing", 99}} {
		s := startedSubmission(t)
		r := &partitioned{Figures: &s.Figures, Partitions: []partitionResult{}}
		s.Result = r
		if c.detached {
			s.detached = true
			s.tellPartition(t.Context(), r, s.accountPartition("k=1", &job.Outcome{Plan: samplePlan}), task.ErrDetached)
		}
		s.tellPartition(t.Context(), r, s.accountPartition("k=2", &job.Outcome{Nothing: true}), nil)
		s.ExitNothing = 99
		err := s.reportPartitions(t.Context(), r, nil)
		var got struct {
			partitioned
			onCluster
		}
		e := endSubmit(t, s, &got, err)
		if e.Exit != c.exit || e.Status != c.status || got.Detached != c.detached || got.Nothing == c.detached || got.Failed != 0 || got.Converted != 0 {
			t.Errorf("%+v: %+v", e, got)
		}
		if last := got.Partitions[len(got.Partitions)-1]; last.Action != "nothing" || c.detached && got.Partitions[0].Action != statusDetached {
			t.Errorf("%+v", got.Partitions)
		}
	}
}

// TestSubmitPartitionsInOrder checks that partitions are reported in the order of their names.
func TestSubmitPartitionsInOrder(t *testing.T) {
	r := &partitioned{}
	for _, name := range []string{"k=2", "k=10", "k=1"} {
		r.Partitions = append(r.Partitions, partitionResult{Partition: name})
	}
	names := []string{"k=1", "k=10", "k=2"}
	r.order(names)
	for i, p := range r.Partitions {
		if p.Partition != names[i] {
			t.Errorf("partition %d is %s, want %s", i, p.Partition, names[i])
		}
	}
}

// TestSubmitTellsPeople checks that a terminal shows only ID and URL of the job.
func TestSubmitTellsPeople(t *testing.T) {
	const at = "http://rm/proxy/application_1_2/"
	for _, c := range []struct {
		people, verbose, quiet, detach, found bool
		want                                  string
	}{
		{people: true, want: "application_1_2 runs:\n  " + at + "\n"},
		{people: true, found: true, want: "application_1_2, which an earlier run started, is followed:\n  " + at + "\n"},
		{people: true, detach: true}, // the summary shows the job
		{people: true, quiet: true},
		{people: true, verbose: true, want: "job started"},
		{want: "job started"},
	} {
		f, err := os.CreateTemp(t.TempDir(), "")
		must(t, err)
		s := newSubmission(&app{App: cli.NewApp(rowtocolProgram, nil, f, f)})
		s.Console.People, s.Logs.Verbose, s.options.Detach = c.people, c.verbose, c.detach
		if c.quiet {
			s.Log = s.Console.Logger(slog.LevelWarn, "auto")
		}
		s.engineLog().Info("the job is prepared")
		s.tellJob(task.RemoteJob{ID: "application_1_2", URL: at, Found: c.found})
		if plain := !c.people || c.verbose; !plain {
			s.tellJob(task.RemoteJob{ID: "application_1_2", URL: at, State: "SUCCEEDED"})
		}
		got := string(read(t, f.Name()))
		if logged := strings.Contains(got, c.want) && strings.Contains(got, "is prepared"); got != c.want && !(strings.HasPrefix(c.want, "job") && logged) {
			t.Errorf("%+v: %q", c, got)
		}
		must(t, f.Close())
	}
}

func TestPartitionsOf(t *testing.T) {
	for _, c := range []struct {
		dests []string
		dest  string
		names []string
	}{
		{[]string{"hdfs://nn/out/k=1", "hdfs://nn/out/k=2"}, "hdfs://nn/out", []string{"k=1", "k=2"}},
		{[]string{"hdfs://nn/out/y=1/m=1", "hdfs://nn/out/y=1/m=12"}, "hdfs://nn/out", []string{"y=1/m=1", "y=1/m=12"}},
		{nil, "", nil},
		{[]string{"hdfs://nn/a/out", "hdfs://nn/b"}, "hdfs://nn", []string{"a/out", "b"}},
	} {
		var plans []task.Attached
		for _, d := range c.dests {
			plans = append(plans, task.Attached{Dest: d})
		}
		if dest, names := partitionsOf(plans); dest != c.dest || !slices.Equal(names, c.names) {
			t.Errorf("%s: %s in %s", c.dests, names, dest)
		}
	}
}
