package hadoop

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// The memory that a map task's container needs besides the memory of the task. The JVM only
// waits for the program. With Java 17, the processes of the JVM had 165 MiB resident with
// this heap, and as much with heaps of 64 and 128 MiB. The rest of javaMemory is for the
// JVM's copies of the names of a job's files, and for garbage collectors that need more
// memory than the serial collector.
const (
	javaHeap      = 96 << 20
	javaMemory    = 256 << 20
	processMemory = 48 << 20 // memory of this program besides that of the task
)

// containerMemory returns the memory of a map task's container: that of the JVM and
// that of the program.
func containerMemory(task int64) int64 { return javaMemory + task + processMemory }

// property is a property of a job.
type property struct{ name, value string }

// reserved maps the properties on which the job depends, by their current names and by
// old names that Hadoop still accepts, to the flag that replaces them, if any.
var reserved = map[string]string{
	"mapreduce.framework.name":                            "",
	"mapreduce.job.queuename":                             "--queue",
	"mapred.job.queue.name":                               "--queue",
	"mapreduce.map.memory.mb":                             "--memory",
	"mapred.job.map.memory.mb":                            "--memory",
	"mapreduce.map.resource.memory":                       "--memory",
	"mapreduce.map.resource.memory-mb":                    "--memory",
	"mapreduce.map.cpu.vcores":                            "--workers",
	"mapreduce.map.resource.vcores":                       "--workers",
	"mapreduce.job.name":                                  "",
	"mapred.job.name":                                     "",
	"mapreduce.job.reduces":                               "",
	"mapred.reduce.tasks":                                 "",
	"mapreduce.job.maps":                                  "",
	"mapred.map.tasks":                                    "",
	"mapred.map.runner.class":                             "",
	"mapred.mapper.class":                                 "",
	"mapred.mapper.new-api":                               "",
	"mapred.input.format.class":                           "",
	"mapred.output.format.class":                          "",
	"mapreduce.job.inputformat.class":                     "",
	"mapreduce.job.outputformat.class":                    "",
	"mapreduce.job.map.class":                             "",
	"mapreduce.input.pathFilter.class":                    "",
	"mapred.input.pathFilter.class":                       "",
	"mapreduce.input.fileinputformat.inputdir":            "",
	"mapred.input.dir":                                    "",
	"mapreduce.input.fileinputformat.split.minsize":       "",
	"mapred.min.split.size":                               "",
	"mapreduce.job.split.metainfo.maxsize":                "",
	"mapreduce.jobtracker.split.metainfo.maxsize":         "",
	"mapreduce.input.fileinputformat.input.dir.recursive": "",
	"mapred.input.dir.recursive":                          "",
	"mapreduce.input.fileinputformat.input.dir.nonrecursive.ignore.subdirs": "",
	"mapreduce.job.ubertask.enable":                                         "",
	"mapreduce.job.cache.files":                                             "",
	"mapred.cache.files":                                                    "",
	"mapreduce.job.cache.files.visibilities":                                "",
	"mapreduce.job.cache.files.timestamps":                                  "",
	"mapreduce.job.cache.files.filesizes":                                   "",
	"hadoop.pipes.executable":                                               "",
	"hadoop.pipes.java.recordreader":                                        "",
	"hadoop.pipes.java.recordwriter":                                        "",
	"hadoop.pipes.java.mapper":                                              "",
	"hadoop.pipes.java.reducer":                                             "",
	"hadoop.pipes.partitioner":                                              "",
	"hadoop.pipes.command.file":                                             "",
}

const pipesPrefix = "mapreduce.pipes."

// Properties that the user or the site may set as well. The engine adds its values to theirs.
const (
	tagsKey = "mapreduce.job.tags"
	optsKey = "mapreduce.map.java.opts"
)

// stagingKey names the directory of the files that Hadoop's client passes to a job's master.
const stagingKey = "yarn.app.mapreduce.am.staging-dir"

// parseProperties parses the user's properties, in their order.
func parseProperties(texts []string) ([]property, error) {
	var out []property
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, failure.New(failure.Usage, "-D %s: a property is written key=value", text)
		}
		flag, known := reserved[name]
		//guard: refuses properties that the job sets itself
		if known || strings.HasPrefix(name, pipesPrefix) {
			if flag != "" {
				return nil, failure.New(failure.Usage, "-D %s: use %s", text, flag)
			}
			return nil, failure.New(failure.Usage, "-D %s: %s cannot be chosen, because the job depends on it", text, name)
		}
		//guard: refuses properties that XML cannot hold
		if !fitsXML(name) || !fitsXML(value) {
			return nil, failure.New(failure.Usage, "-D %q has characters that a property cannot have", text)
		}
		out = append(out, property{name, value})
	}
	return out, nil
}

// takeLast returns the last value of a property, and props without that property.
func takeLast(props []property, name string) (value string, rest []property) {
	rest = slices.DeleteFunc(slices.Clone(props), func(p property) bool {
		if p.name == name {
			value = p.value
		}
		return p.name == name
	})
	return value, rest
}

// request describes a job to submit.
type request struct {
	name       string
	tag        string
	queue      string
	executable string // URI of the program
	tasks      string // URI of the task file
	memory     int64  // memory of a container, in bytes
	workers    int
	layout     *layout
	servers    []string // file systems that tasks need tokens for
}

// properties returns the properties of a job: first those of the engine, then those of the user.
func (r *request) properties(site *cluster.Conf, user []property) []property {
	opts, user := takeLast(user, optsKey)
	tags, user := takeLast(user, tagsKey)
	if opts == "" {
		opts = site.String(optsKey, site.String("mapred.child.java.opts", ""))
	}
	// The last -Xmx counts.
	opts = strings.TrimSpace(opts + fmt.Sprintf(" -Xmx%dm", javaHeap>>20))
	if tags != "" {
		tags = "," + tags
	}
	props := []property{
		{"mapreduce.framework.name", "yarn"},
		{"mapreduce.job.name", r.name},
		{tagsKey, r.tag + tags},
		{pipesPrefix + "executable", r.executable},
		{pipesPrefix + "isjavarecordreader", "false"},
		{pipesPrefix + "isjavarecordwriter", "false"},
		// This class only computes splits. Unlike TextInputFormat, it splits a file even if its
		// name ends as the names of compressed files do.
		{"mapred.input.format.class", "org.apache.hadoop.mapred.SequenceFileInputFormat"},
		{"mapred.output.format.class", "org.apache.hadoop.mapred.lib.NullOutputFormat"},
		{"mapreduce.input.fileinputformat.inputdir", r.layout.inputs()},
		{"mapreduce.input.fileinputformat.input.dir.recursive", "false"},
		{"mapreduce.input.fileinputformat.list-status.num-threads", "8"},
		{"mapreduce.input.fileinputformat.split.minsize", strconv.FormatInt(r.layout.splitSize, 10)},
		{"mapreduce.job.maps", strconv.Itoa(r.layout.maps())},
		{"mapreduce.job.reduces", "0"},
		// The default of 10 MB allows about 100,000 splits.
		{"mapreduce.job.split.metainfo.maxsize", "-1"},
		// Uber mode would run tasks in the container of the application master.
		{"mapreduce.job.ubertask.enable", "false"},
		{"mapreduce.job.cache.files", r.tasks + "#" + TasksName},
		{"mapreduce.map.memory.mb", strconv.FormatInt((r.memory+1<<20-1)>>20, 10)},
		{"mapreduce.map.cpu.vcores", strconv.Itoa(r.workers)},
		{optsKey, opts},
	}
	if r.queue != "" {
		props = append(props, property{"mapreduce.job.queuename", r.queue})
	}
	if len(r.servers) > 0 {
		props = append(props, property{"mapreduce.job.hdfs-servers", strings.Join(r.servers, ",")})
	}
	return append(props, user...)
}

// writeProperties writes properties as a file for Hadoop. Later ones override earlier
// ones.
func writeProperties(w io.Writer, props []property) error {
	b := bufio.NewWriter(w) // Flush returns the first error
	_, _ = b.WriteString(xml.Header + "<configuration>\n")
	for _, p := range props {
		_, _ = b.WriteString("<property><name>")
		_ = xml.EscapeText(b, []byte(p.name))
		_, _ = b.WriteString("</name><value>")
		_ = xml.EscapeText(b, []byte(p.value))
		_, _ = b.WriteString("</value></property>\n")
	}
	_, _ = b.WriteString("</configuration>\n")
	return b.Flush()
}

// fitsXML reports whether XML 1.0 can hold a text so that a reader gets it back
// unchanged.
func fitsXML(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f || r == 0xfffe || r == 0xffff
	})
}

// plainText replaces characters of a text that XML cannot hold by question marks.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if !fitsXML(string(r)) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
