package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
)

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/a.avro", "d/sub/z.avro", "d/_skip/x.avro", "d/.skip/x.avro", "d/_x.avro", "d/.x.avro", "d/text", "e/b.avro"} {
		write(t, filepath.Join(dir, name), "", 0)
	}
	// A file that the user named has a + before it.
	for _, tc := range []struct{ args, want string }{
		{"d", "d/a.avro d/sub/z.avro"},
		{"e d e/b.avro ./e//b.avro", "d/a.avro d/sub/z.avro +e/b.avro"},
		{"e/b.avro e", "+e/b.avro"},
		{"d/text", "+d/text"},
		{"d/t*", "d/text"},
		{"?/*.avro", "d/_x.avro d/a.avro e/b.avro"},
		{"d/_x.avro d/.x.avro", "+d/.x.avro +d/_x.avro"},
		{"*", "d/a.avro d/sub/z.avro e/b.avro"},
	} {
		var args []string
		for _, a := range strings.Fields(tc.args) {
			args = append(args, dir+"/"+a)
		}
		files, err := Expand(t.Context(), nil, args, nil)
		if err != nil {
			t.Fatal(err)
		}
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
	} {
		dest := store.Location{Store: store.Local(), Path: dir + tc.dest}
		_, err := Expand(t.Context(), nil, []string{dir + tc.arg}, &dest)
		t.Run(name, func(t *testing.T) { failuretest.Want(t, err, tc.kind, tc.text) })
	}
	_, err := Expand(t.Context(), nil, nil, nil)
	failuretest.Want(t, err, failure.Usage, "no input")
	_, err = Expand(t.Context(), nil, []string{"s3://b/in"}, nil)
	failuretest.Want(t, err, failure.Usage, "s3")

	for name, dest := range map[string]store.Location{
		"beside the input":   {Store: store.Local(), Path: dir + "/input"},
		"in another cluster": {Store: store.Local(), Origin: "hdfs://a", Path: dir + "/in/out"},
		"none":               {},
	} {
		at := &dest
		if name == "none" {
			at = nil
		}
		if files, err := Expand(t.Context(), nil, []string{dir + "/in"}, at); err != nil || len(files) != 1 {
			t.Errorf("destination %s: %v, %v", name, files, err)
		}
	}
}

func TestLocate(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
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
