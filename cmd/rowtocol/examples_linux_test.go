package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExamples runs the examples of each page and each help, one after the other, in a
// directory with the sample mail. A session must print what the page shows. Other examples
// must succeed, and those that ask for rows must find some.
func TestExamples(t *testing.T) {
	world := sampleWorld(t)
	for page, found := range documentedExamples(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS(world)))
			for _, e := range found {
				if e.session {
					e.compare(t, dir+"/clone")
				} else {
					e.try(t, dir)
				}
			}
			if page == "tutorial.md" {
				wantIgnored(t, dir+"/clone")
			}
		})
	}
}

// wantIgnored checks that git ignores what the tutorial leaves in the clone.
func wantIgnored(t *testing.T, clone string) {
	t.Helper()
	ignored := strings.Fields(string(read(t, "../../.gitignore")) + " Makefile testdata tools")
	entries, err := os.ReadDir(clone)
	must(t, err)
	for _, e := range entries {
		name := e.Name()
		if !slices.ContainsFunc([]string{name, name + "/", "/" + name, "/" + name + "/"}, func(line string) bool { return slices.Contains(ignored, line) }) {
			t.Errorf("the tutorial leaves %s, which git does not ignore", name)
		}
	}
}

// sampleWorld makes a directory with the files that the examples read: the sample as /data/mail
// and as single files, its columns with indexes, its CFiles, a tree of outputs, one of Hudi's
// HFiles, keys, a schema and a job file. It holds a clone for sessions, with everything built.
func sampleWorld(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const sample = "../../testdata/mail"
	for to, from := range map[string]string{"clone/testdata": "../../testdata", "data/mail": sample} {
		must(t, os.CopyFS(filepath.Join(dir, to), os.DirFS(from)))
	}
	for _, to := range []string{"/mail.avro", "/mail-1.avro"} {
		write(t, dir+to, read(t, sample+"/archive-1.avro"))
	}
	write(t, dir+"/mail-2.avro", read(t, sample+"/archive-2.avro"))
	write(t, dir+"/ids", []byte("17\n19\n"))
	write(t, dir+"/job.yaml", []byte("input: data/mail\ndest: data/mail.columns\n"))
	write(t, dir+"/mail-v3.avsc", []byte(rowtocol(t, dir, nil, "schema", "mail.avro").want(t, 0).stdout))
	write(t, dir+"/files-0000.hfile", read(t, "../../hfile/testdata/hudi_v9_native_files-0000-0_13-118-273_20260503194240497.hfile"))
	write(t, dir+"/clone/Makefile", read(t, "../../Makefile"))
	write(t, dir+"/clone/tools/go", []byte("#!/bin/sh\n"))
	if err := errors.Join(
		os.Chmod(dir+"/clone/tools/go", 0o755), os.Mkdir(dir+"/clone/bin", 0o755), os.Symlink(binary, dir+"/clone/bin/rowtocol"),
		os.MkdirAll(dir+"/data/mail.tree/dt=2026-07-01", 0o755), os.Symlink("data/mail.tree", dir+"/mail.tree"),
	); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"mail.columns", "data/mail.columns", "data/mail.tree/dt=2026-07-01/hour=5", "data/mail.tree/dt=2026-07-01/hour=6"} {
		rowtocol(t, dir, nil, "convert", "--index", "id", "--index", "folder,id", "data/mail", to).want(t, 0)
	}
	rowtocol(t, dir, nil, "convert", "--format", "cfile", "data/mail", "mail.cfiles").want(t, 0)
	return dir
}

// run runs the example in a shell that writes to output, and returns the exit code.
func (e example) run(t *testing.T, dir string, output io.Writer) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", e.line)
	cmd.Stdout, cmd.Stderr = output, output
	path := []string{dir + "/tools", filepath.Dir(binary), os.Getenv("PATH")}
	cmd.Env = []string{"PATH=" + strings.Join(path, ":"), "TMPDIR=" + tempDir(t, t.TempDir()), "TERM="}
	if strings.HasSuffix(e.line, " -") {
		stdin, err := os.Open(dir + "/mail.avro")
		must(t, err)
		defer func() { _ = stdin.Close() }()
		cmd.Stdin = stdin
	}
	return waitCmd(t, startCmd(t, dir, cmd)).code
}

// compare runs a command of a session on a terminal of 80 columns, and compares its output
// with the page, in which … stands for any text.
func (e example) compare(t *testing.T, dir string) {
	t.Helper()
	terminal := newPty(t, 80)
	e.run(t, dir, terminal.terminal)
	must(t, terminal.terminal.Close())
	output := cleared.ReplaceAllString(terminal.read(), "")
	want := strings.ReplaceAll(regexp.QuoteMeta(e.output), "…", `(?s:.*)`)
	if !regexp.MustCompile("^" + want + "$").MatchString(output) {
		t.Errorf("%s shows\n%s\n%s prints\n%s", e.page, e.output, e.line, output)
	}
}

// cleared matches the progress that a line showed before it was cleared.
var cleared = regexp.MustCompile(`(?m)^.*\x1b\[K`)

var (
	places    = regexp.MustCompile(`(\w*hdfs://[^/ ]*)?/data/`)
	made      = regexp.MustCompile(` (?:--output|--html|-o) (\S+)`)
	asksRows  = regexp.MustCompile(`^rowtocol (cat|head|count|stats|lookup) `)
	foundRows = regexp.MustCompile(`"rows": ?[1-9]`)
)

// try runs an example that shows no output, after removing the files that it makes.
func (e example) try(t *testing.T, dir string) {
	t.Helper()
	e.line = strings.ReplaceAll(places.ReplaceAllString(e.line, "data/"), "{}", "0")
	args := strings.Fields(e.line)
	switch args[1] {
	case "submit", "unlock": // they need a cluster, and a dead holder
		return
	case "task", "commit":
		if _, err := os.Stat(dir + "/plan.json"); err != nil {
			return // the page has no example that makes a plan
		}
	case "convert", "plan":
		remove(t, dir, convertedTo(args))
	}
	for _, file := range made.FindAllStringSubmatch(e.line, -1) {
		remove(t, dir, file[1])
	}
	asks := asksRows.MatchString(e.line)
	if asks {
		e.line = strings.Replace(e.line, args[1], args[1]+" --json", 1)
	}
	var output bytes.Buffer
	if code := e.run(t, dir, &output); code != 0 {
		t.Errorf("%s: %s: exit %d\n%s", e.page, e.line, code, &output)
	} else if asks && !foundRows.Match(output.Bytes()) {
		t.Errorf("%s: %s finds nothing:\n%s", e.page, e.line, &output)
	}
}

// convertedTo returns the destination of a conversion: the last location, or the job file's.
func convertedTo(args []string) (dest string) {
	dest = "data/mail.columns"
	for _, arg := range args[2:] {
		if strings.Contains(arg, "mail") && !strings.Contains(arg, "=") {
			dest = arg
		}
	}
	return dest
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	must(t, os.RemoveAll(filepath.Join(dir, name)))
}
