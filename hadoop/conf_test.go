package hadoop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store/cluster"
)

func TestParseProperties(t *testing.T) {
	got, err := parseProperties([]string{"a.b=c=d", " a.b = e ", "empty="})
	if err != nil || len(got) != 3 || got[0] != (property{"a.b", "c=d"}) || got[1] != (property{"a.b", " e "}) || got[2] != (property{"empty", ""}) {
		t.Errorf("%q, %v", got, err)
	}
	for text, words := range map[string]string{
		"nothing": "key=value", "=x": "key=value",
		"mapreduce.job.queuename=q":                       "--queue",
		"mapred.job.queue.name=q":                         "--queue",
		"mapreduce.map.memory.mb=1":                       "--memory",
		"mapreduce.map.cpu.vcores=9":                      "--workers",
		"mapreduce.pipes.executable=x":                    "depends on it",
		"hadoop.pipes.executable=x":                       "depends on it",
		"mapreduce.job.reduces=3":                         "depends on it",
		"mapreduce.input.fileinputformat.split.minsize=1": "depends on it",
		" mapreduce.job.cache.files =x":                   "depends on it",
		"mapreduce.framework.name=local":                  "depends on it",
		"a=\x00":                                          "characters",
		"a\x01b=c":                                        "characters",
	} {
		_, err := parseProperties([]string{"fine=1", text})
		if !errors.Is(err, failure.Usage) || !strings.Contains(err.Error(), words) {
			t.Errorf("-D %q: got %v, want an error with %q", text, err, words)
		}
	}
}

// loadProperties writes properties, and loads them as a configuration.
func loadProperties(t *testing.T, props []property) *cluster.Conf {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HADOOP_CONF_DIR", dir)
	f, err := os.Create(filepath.Join(dir, "core-site.xml"))
	testenv.Must(t, err)
	testenv.Must(t, errors.Join(writeProperties(f, props), f.Close()))
	c, err := cluster.LoadConf()
	testenv.Must(t, err)
	return c
}

func sampleRequest() *request {
	l := &layout{splitSize: 1 << 20, total: 10 << 20, files: []string{"hdfs://nn/a,<&>\t\"é{1}"}, carriers: []string{"0-00001"}, carrierDir: "hdfs://nn/c"}
	return &request{name: "rowtocol ab hdfs://nn/out", tag: "rowtocol-ab", queue: "etl", executable: "hdfs://nn/x", tasks: "hdfs://nn/t",
		memory: 300<<20 + 1, workers: 3, layout: l, servers: []string{"hdfs://b", "webhdfs://c:1"}}
}

func TestJobProperties(t *testing.T) {
	user, err := parseProperties([]string{"mapreduce.map.maxattempts=9", "mapreduce.map.maxattempts=2", "mapreduce.job.tags=mine,two"})
	testenv.Must(t, err)
	site := cluster.NewConf(map[string]string{"mapred.child.java.opts": "-Xmx1g -Da=b"})
	c := loadProperties(t, sampleRequest().properties(site, user))
	for key, want := range map[string]string{
		"mapreduce.job.name":                            "rowtocol ab hdfs://nn/out",
		"mapreduce.job.tags":                            "rowtocol-ab,mine,two",
		"mapreduce.map.maxattempts":                     "2",
		"mapreduce.map.memory.mb":                       "301",
		"mapreduce.map.cpu.vcores":                      "3",
		"mapreduce.map.java.opts":                       "-Xmx1g -Da=b -Xmx96m",
		"mapreduce.job.queuename":                       "etl",
		"mapreduce.job.maps":                            "11",
		"mapreduce.job.reduces":                         "0",
		"mapreduce.job.cache.files":                     "hdfs://nn/t#rowtocol-tasks",
		"mapreduce.pipes.executable":                    "hdfs://nn/x",
		"mapreduce.job.hdfs-servers":                    "hdfs://b,webhdfs://c:1",
		"mapreduce.input.fileinputformat.split.minsize": "1048576",
		"mapreduce.input.fileinputformat.inputdir":      "hdfs://nn/a\\,<&>\t\"é\\\\{1\\\\},hdfs://nn/c",
	} {
		if got := c.String(key, ""); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestJavaOptions(t *testing.T) {
	both := map[string]string{"mapred.child.java.opts": "-Da=old", "mapreduce.map.java.opts": "-Da=new"}
	for want, tt := range map[string]struct {
		site map[string]string
		user []string
	}{
		"-Xmx96m":         {nil, nil},
		"-Da=new -Xmx96m": {both, nil},
		"-Dc=d -Xmx96m":   {both, []string{"mapreduce.map.java.opts=-Db=c", "mapreduce.map.java.opts=-Dc=d"}},
	} {
		user, err := parseProperties(tt.user)
		testenv.Must(t, err)
		c := loadProperties(t, sampleRequest().properties(cluster.NewConf(tt.site), user))
		if got := c.String("mapreduce.map.java.opts", ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{"a é\t": "a é\t", "a\x00b\xffc\uFFFE": "a?b?c?"} {
		if got := plainText(in); got != want || !fitsXML(got) {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	// Readers replace invalid bytes by the replacement character, which is valid itself.
	if in := (pipes.Split{Path: "a\uFFFD"}); !fitsXML(in.Path) {
		t.Error("a character that XML can hold is rejected")
	}
}

// TestContainer checks the size of the container for the default --memory, which was measured.
func TestContainer(t *testing.T) {
	if got := containerMemory(512 << 20); got != (256+512+48)<<20 {
		t.Errorf("got %d MiB", got>>20)
	}
}
