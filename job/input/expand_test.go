package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/a.avro", "d/sub/z.avro", "d/_skip/x.avro", "d/.skip/x.avro", "d/_x.avro", "d/.x.avro", "d/text", "e/b.avro",
		"f/a.avro", "f/a.avro._COPYING_", "f/b.avro.filepart", "f/c.part", "f/d.tmp", "f/e.avro~", "f/f.avro.BAK", "f/g.avro.crdownload", "f/.h.swp", "f/h.swp", "f/old.bak/x"} {
		write(t, filepath.Join(dir, name), "", 0)
	}
	// A + marks a file that the user named.
	for _, tc := range []struct{ args, want string }{
		{"d", "d/a.avro d/sub/z.avro d/text"},
		{"e d e/b.avro ./e//b.avro", "d/a.avro d/sub/z.avro d/text +e/b.avro"},
		{"e/b.avro e", "+e/b.avro"},
		{"d/text", "+d/text"},
		{"d/t*", "d/text"},
		{"[de]/*.avro", "d/_x.avro d/a.avro e/b.avro"},
		{"d/_x.avro d/.x.avro", "+d/.x.avro +d/_x.avro"},
		{"[de]", "d/a.avro d/sub/z.avro d/text e/b.avro"},
		{"f", "f/a.avro f/old.bak/x"},
		{"f/*", "f/a.avro f/old.bak/x"},
		{"f f/d.tmp", "f/a.avro +f/d.tmp f/old.bak/x"},
		{"f/*.tmp f/e*~", "f/d.tmp f/e.avro~"},
	} {
		var args []string
		for _, a := range strings.Fields(tc.args) {
			args = append(args, dir+"/"+a)
		}
		files, _, err := Expand(t.Context(), Search{Inputs: args})
		testenv.Must(t, err)
		var got []string
		for _, f := range files {
			name := strings.TrimPrefix(f.Name, dir+"/")
			if f.Named {
				name = "+" + name
			}
			got = append(got, name)
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: got %s, want %s", tc.args, s, tc.want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/in/a.avro", "", 0)
	write(t, dir+"/far/b.avro", "", 0)
	write(t, dir+"/data/a.avro", "", 0)
	for link, to := range map[string]string{"/data/link": "/far", "/link": "/data", "/data/b.avro": "/far/b.avro"} {
		testenv.Must(t, os.Symlink(dir+to, dir+link))
	}
	for name, tc := range map[string]struct {
		arg, dest string
		kind      error
		text      string
	}{
		"missing":       {"/nope.avro", "/out", failure.Input, "/nope.avro does not exist"},
		"no match":      {"/in/*.parquet", "/out", failure.Input, "/in/*.parquet: no file matches"},
		"bad pattern":   {"/in/[.avro", "/out", failure.Usage, "syntax error"},
		"dest in input": {"/in", "/in/out", failure.Usage, "inside of the input directory"},
		"dest is input": {"/in", "/in", failure.Usage, "inside of the input directory"},
		"dest in match": {"/i*", "/in/out", failure.Usage, "inside of the input directory"},
		"input in dest": {"/in/a.avro", "/in", failure.Usage, "inside of the destination"},
		"link in input": {"/data", "/data/link", failure.Usage, "inside of the input directory"},
		"dest by link":  {"/data", "/link/out", failure.Usage, "inside of the input directory"},
		"link in dest":  {"/data/b.avro", "/data", failure.Usage, "inside of the destination"},
		"input by link": {"/link/a.avro", "/data", failure.Usage, "inside of the destination"},
	} {
		dest := store.Location{Store: store.Local(), Path: dir + tc.dest}
		_, _, err := Expand(t.Context(), Search{Inputs: []string{dir + tc.arg}, Dest: &dest})
		t.Run(name, func(t *testing.T) { failuretest.Want(t, err, tc.kind, tc.text) })
	}
	_, _, err := Expand(t.Context(), Search{})
	failuretest.Want(t, err, failure.Usage, "no input")
	_, _, err = Expand(t.Context(), Search{Inputs: []string{"s3://b/in"}})
	failuretest.Want(t, err, failure.Usage, "s3")

	for name, dest := range map[string]store.Location{
		"next to the input":  {Store: store.Local(), Path: dir + "/input"},
		"in another cluster": {Store: store.Local(), Origin: "hdfs://a", Path: dir + "/in/out"},
		"not given":          {},
	} {
		at := &dest
		if name == "not given" {
			at = nil
		}
		if files, _, err := Expand(t.Context(), Search{Inputs: []string{dir + "/in"}, Dest: at}); err != nil || len(files) != 1 {
			t.Errorf("destination %s: %v, %v", name, files, err)
		}
	}
}

func TestLocate(t *testing.T) {
	wd, err := os.Getwd()
	testenv.Must(t, err)
	if l, err := Locate(nil, "a/../b.avro"); err != nil || l.Path != wd+"/b.avro" || l.Store != store.Local() {
		t.Errorf("a relative path is at %+v, %v", l, err)
	}
	remote := func(string) (store.Location, error) {
		return store.Location{Store: store.Local(), Origin: "hdfs://a", Path: "b"}, nil
	}
	if l, err := Locate(remote, "x"); err != nil || l.Path != "b" {
		t.Errorf("a remote path is at %+v, %v", l, err)
	}
	for err, kind := range map[error]error{
		errors.New("no such option"): failure.Usage,
		syscall.ECONNREFUSED:         failure.Storage,
		syscall.EACCES:               failure.Refused,
	} {
		_, got := Locate(func(string) (store.Location, error) { return store.Location{}, err }, "x")
		failuretest.Want(t, got, kind, err.Error())
	}
}

// TestLinks checks that each file is found once, under a name without a link if it has one.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"in/b/x", "in/b/deep/y", "in/_tmp/h", "far/z", "far/sub/w"} {
		write(t, filepath.Join(dir, name), "", 0)
	}
	for link, to := range map[string]string{
		"in/a": dir + "/in/b", "in/b/deep/up": dir + "/in", "in/1": dir + "/in/b/x", "in/far": "../far", "in/far2": dir + "/far",
		"far/back": dir + "/in/b", "in/lost": dir + "/nowhere", "in/self": dir + "/in/self", "all": dir + "/in", "in/.l": dir + "/far", "in/top": "..",
	} {
		testenv.Must(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	relative := func(name string) string { return strings.TrimPrefix(name, dir+"/") }
	for args, want := range map[string][2]string{
		"in": {
			"in/b/deep/y in/b/x in/far/sub/w in/far/z in/lost in/self",
			"in/.l in/1=in/b/x in/_tmp in/a=in/b in/b/deep/up=in in/far/back=in/b in/far2=far in/top/all=in",
		},
		"in/1 in/b/x":        {"in/b/x", "in/1=in/b/x"},
		"in/far/sub far/sub": {"far/sub/w", "in/far/sub/w=far/sub/w"},
	} {
		var s Search
		for _, arg := range strings.Fields(args) {
			s.Inputs = append(s.Inputs, dir+"/"+arg)
		}
		files, skipped, err := Expand(t.Context(), s)
		if err != nil {
			t.Fatal(args, err)
		}
		var got, others []string
		for _, f := range files {
			got = append(got, relative(f.Name))
		}
		for _, s := range skipped {
			text := relative(s.Path)
			if s.Same != "" {
				text += "=" + relative(s.Same)
			}
			others = append(others, text)
		}
		if strings.Join(got, " ") != want[0] || strings.Join(others, " ") != want[1] {
			t.Errorf("%s: %s, others %s", args, got, others)
		}
	}
}

// TestHidden checks that files in hidden directories are listed if Search.Hidden is set.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x", "_tmp/a", "_tmp/.b/c", ".d", "_named"} {
		write(t, filepath.Join(dir, name), "", 0)
	}
	files, skipped, err := Expand(t.Context(), Search{Inputs: []string{dir, dir + "/_named"}, Hidden: true})
	if err != nil || len(files) != 2 || files[0].Found || !files[1].Found {
		t.Errorf("%+v, %v", files, err)
	}
	var got []string
	for _, s := range skipped {
		got = append(got, strings.TrimPrefix(s.Path, dir+"/"))
	}
	if s := strings.Join(got, " "); s != ".d _tmp/.b/c _tmp/a" {
		t.Errorf("skipped: %s", s)
	}
}

// TestFound checks that the facts of a search are those of the file.
func TestFound(t *testing.T) {
	file := t.TempDir() + "/a"
	write(t, file, "value", 1)
	info, err := os.Stat(file)
	testenv.Must(t, err)
	files, _, err := Expand(t.Context(), Search{Inputs: []string{file}})
	if err != nil || len(files) != 1 || files[0].Facts.Size != info.Size() || !files[0].Facts.ModTime.Equal(info.ModTime()) {
		t.Errorf("%+v: %v", files, err)
	}
}
