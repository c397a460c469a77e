package e2e

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
)

// folder is a directory of a cluster that one test uses.
type folder struct {
	*hadooptest.Cluster
	path string
}

var folders atomic.Int32

// newFolder makes a folder. The test and its programs find the cluster by HADOOP_CONF_DIR.
func newFolder(t *testing.T, c *hadooptest.Cluster) folder {
	t.Helper()
	t.Setenv("HADOOP_CONF_DIR", c.ConfDir())
	f := folder{c, fmt.Sprintf("/folder-%d", folders.Add(1))}
	f.do(t, "PUT", "", "op=MKDIRS")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := c.Do(ctx, "DELETE", f.path, "op=DELETE&recursive=true"); err != nil {
			t.Error(err)
		}
	})
	return f
}

// do sends a request about something in the folder.
func (f folder) do(t *testing.T, method, name, query string) string {
	t.Helper()
	answer, err := f.Do(t.Context(), method, path.Join(f.path, name), query)
	must(t, err)
	return answer
}

// java runs a class of Hadoop.
func (f folder) java(t *testing.T, class string, args ...string) string {
	t.Helper()
	out, err := f.Java(t.Context(), class, args...)
	must(t, err)
	return strings.TrimSpace(out)
}

// put copies local files into the folder as Hadoop's own client does.
func (f folder) put(t *testing.T, name string, files ...string) {
	t.Helper()
	args := append([]string{"-D", "dfs.replication=1", "-put"}, files...)
	f.java(t, "org.apache.hadoop.fs.FsShell", append(args, path.Join(f.path, name))...)
}

// get returns the files of a directory of the folder.
func (f folder) get(t *testing.T, name string) map[string]string {
	t.Helper()
	return tree(t, copyOf(t, f.Cluster, path.Join(f.path, name)))
}

// copyOf copies a directory of a cluster to the local disk as Hadoop's own client does.
func copyOf(t *testing.T, c *hadooptest.Cluster, dir string) (local string) {
	t.Helper()
	local = filepath.Join(t.TempDir(), "copy")
	_, err := c.Java(t.Context(), "org.apache.hadoop.fs.FsShell", "-get", dir, local)
	must(t, err)
	return local
}

// list returns the names in a directory of the folder, hidden ones included; none if it
// does not exist.
func (f folder) list(t *testing.T, name string) (names []string) {
	t.Helper()
	text, err := f.Do(t.Context(), "GET", path.Join(f.path, name), "op=LISTSTATUS")
	if err != nil {
		if !strings.Contains(err.Error(), "FileNotFoundException") {
			t.Fatal(err)
		}
		return nil
	}
	var answer struct {
		FileStatuses struct {
			FileStatus []struct{ PathSuffix string }
		}
	}
	must(t, json.Unmarshal([]byte(text), &answer))
	for _, s := range answer.FileStatuses.FileStatus {
		names = append(names, s.PathSuffix)
	}
	return names
}

var fsckFile = regexp.MustCompile(`(?m)^(/\S+) (\d+) bytes,.* (\d+) block\(s\)`)

// oneBlock fails the test unless each file is one block, and returns the sizes of the
// parts' files.
func (f folder) oneBlock(t *testing.T, name string) []int64 {
	t.Helper()
	report, err := f.Fsck(t.Context(), path.Join(f.path, name))
	must(t, err)
	var sizes []int64
	for _, m := range fsckFile.FindAllStringSubmatch(report, -1) {
		if m[3] != "1" {
			t.Errorf("%s has %s blocks", m[1], m[3])
		}
		if strings.Contains(m[1], "/part-") {
			size, err := strconv.ParseInt(m[2], 10, 64)
			must(t, err)
			sizes = append(sizes, size)
		}
	}
	if len(sizes) == 0 || !strings.Contains(report, "HEALTHY") {
		t.Errorf("fsck:\n%s", report)
	}
	return sizes
}

// outputs leaves out _SUCCESS, which differs because it has the inputs' locations.
func outputs(files map[string]string) map[string]string {
	parts := map[string]string{}
	for name, content := range files {
		if name != "_SUCCESS" {
			parts[name] = content
		}
	}
	return parts
}

// TestHDFS compares outputs with those of a local run, for each client and each name of
// the cluster.
func TestHDFS(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	f.do(t, "PUT", "in", "op=MKDIRS")
	inputs, err := filepath.Glob("../testdata/mail/*.avro")
	if err != nil || len(inputs) == 0 {
		t.Fatal("no inputs", err)
	}
	hidden := filepath.Join(t.TempDir(), "_hidden.avro")
	must(t, os.WriteFile(hidden, []byte("not Avro"), 0o666))
	f.put(t, "in", append(inputs, hidden)...)
	inEachFormat(t, func(t *testing.T, format target) { f.asLocally(t, format) })
}

// asLocally converts the folder "in", and compares with a local run.
func (f folder) asLocally(t *testing.T, format target) {
	rowGroup := format.rowGroups("128KiB", "512KiB")
	local := filepath.Join(t.TempDir(), "out")
	p := run(t, format.convert(rowGroup, "--json", "../testdata/mail", local)...).want(t, 0).report(t)
	want := outputs(plain(t, tree(t, local)))
	if len(want) < 3 {
		t.Fatalf("%d files are too few for the test", len(want))
	}
	uris := map[string]string{"rpc": f.URI()}
	if format.name == trevniFiles.name || soak.Full() {
		uris["webhdfs"] = f.WebURI() // which takes five times as long for many small files
	}
	if format.name == trevniFiles.name {
		uris["default"], uris["default webhdfs"] = "hdfs://", "webhdfs://"
	}
	for name, uri := range uris {
		t.Run(name, func(t *testing.T) {
			out := format.name + "-" + strings.ReplaceAll(name, " ", "-")
			in, dest := uri+f.path+"/in", uri+path.Join(f.path, out)
			run(t, format.convert(rowGroup, in, dest)...).want(t, 0)
			run(t, "verify", dest, "--against", in).want(t, 0)
			if strings.HasPrefix(name, "default") {
				return // the URI named the same cluster
			}
			wantSame(t, want, outputs(plain(t, f.get(t, out))))
			f.oneBlock(t, out)
			run(t, format.convert("--exit-nothing=99", rowGroup, in, dest)...).want(t, 99)
			if name != "rpc" || format.name != trevniFiles.name {
				return
			}
			needJava(t)
			if got := f.java(t, "TrevniCount", dest); got != fmt.Sprint(p.Result.Rows) {
				t.Errorf("Java counts %s rows, want %d", got, p.Result.Rows)
			}
		})
	}
}

// bulk writes rows of size bytes in all, which do not compress.
func bulk(t *testing.T, size int64) (file string, rows int64) {
	t.Helper()
	const (
		schema  = `{"type":"record","name":"Bulk","fields":[{"name":"id","type":"long"},{"name":"noise","type":"bytes"}]}`
		payload = 256 << 10
	)
	file = filepath.Join(t.TempDir(), "bulk.avro")
	out, err := os.Create(file)
	must(t, err)
	w, err := ocf.NewWriter(out, schema, "null", [16]byte{1})
	must(t, err)
	random, row := rand.NewChaCha8([32]byte{}), []byte(nil)
	for ; rows*payload < size; rows++ {
		row = binary.AppendVarint(row[:0], rows)
		row = binary.AppendVarint(row, payload)
		start := len(row)
		row = append(row, make([]byte, payload)...)
		_, _ = random.Read(row[start:]) // never fails
		must(t, w.AppendBlock(1, row))
	}
	must(t, out.Close())
	return file, rows
}

// TestHDFSOneBlock writes a file of one block that is larger than the cluster's blocks, and
// in a soak larger than 32 bits can express.
func TestHDFSOneBlock(t *testing.T) {
	f := newFolder(t, hadooptest.Shared(t))
	size := int64(soak.Rounds(160, 2560)) << 20
	file, rows := bulk(t, size)
	f.put(t, "in.avro", file)
	must(t, os.Remove(file))
	target := f.URI() + path.Join(f.path, "out")
	run(t, "convert", "--codec=null", "--replication=1", "--temp-dir", t.TempDir(),
		"--row-group-size", fmt.Sprint(size+size/8), f.URI()+path.Join(f.path, "in.avro"), target).want(t, 0)
	if got := f.oneBlock(t, "out"); len(got) != 1 || got[0] < size {
		t.Errorf("parts of %d bytes, want one of %d", got, size)
	}
	needJava(t)
	if got := f.java(t, "TrevniCount", target); got != fmt.Sprint(rows) {
		t.Errorf("Java counts %s rows, want %d", got, rows)
	}
}
