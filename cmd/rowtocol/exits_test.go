package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/cli"
)

// TestExits produces each code of the table by a cause that users meet. Only the defect for
// code 2 is built into the test binary.
func TestExits(t *testing.T) {
	dir := exitInputs(t)
	receiveSIGHUP()
	produced := map[string]bool{}
	record := func(code int, o output, texts ...string) {
		t.Helper()
		o.want(t, code, texts...)
		produced[fmt.Sprint(code)] = true
	}
	// A second run needs up to 10 s to see that the holder lives, so the holder is slowed
	// down. The other cases run meanwhile.
	large := []string{"convert", "--codec", "bzip2", "--row-group-size", "64KiB", "--workers", "1", "large.avro", "held"}
	first := startRowtocol(t, dir, large...)
	waitFor(t, dir+"/tmp/*")
	resume := slowDown(t, first.Process)
	second := startRowtocol(t, dir, large...)
	for _, c := range []struct {
		code       int
		args, text string
	}{
		{0, "convert a.avro out", "30 rows"},
		{0, "convert a.avro out", "nothing to do"},
		{0, "verify out --against a.avro --require-complete", "30 rows"},
		{1, "convert a.avro", "usage: rowtocol convert"},
		{1, "convert --memory 1MiB a.avro new", "--memory"},
		{1, "convert a.avro s3://bucket/new", "s3"},
		{1, "submit hdfs://127.0.0.1:1/mail new", "new is on this machine"},
		{1, "submit hdfs://127.0.0.1:1/mail hdfs://127.0.0.1:1/new", "cannot find Hadoop's client"},
		{3, "convert missing.avro new", "missing.avro"},
		{3, "convert cut.avro new", "cut.avro: offset"},
		{3, "convert a.avro strings.avro new", "different schemas"},
		{3, "cat damaged", "part-"},
		{4, "commit --plan plan.json", "not done"},
		{4, "count --store-retry 1s hdfs://127.0.0.1:1/mail", "127.0.0.1:1"},
		{6, "verify damaged", "part-"},
		{6, "verify out --against b.avro", "30 rows differ"},
		{7, "cat out --output none/rows.json", "none"},
		{7, "convert a.avro a.avro/new", "not a directory"},
		{7, "convert a.avro dangling", "a symbolic link to a directory that does not exist"},
		{8, "convert --on-damage skip cut.avro lossy", ""},
		{8, "convert --on-damage skip cut.avro lossy", "nothing to do"},
		{9, "convert b.avro out", "--overwrite"},
		{9, "convert a.avro full", "mine.txt"},
	} {
		record(c.code, rowtocol(t, dir, nil, strings.Fields(c.args)...), c.text)
	}
	record(5, waitCmd(t, second), "is locked by process")
	resume()
	for _, c := range []struct {
		code   int
		signal syscall.Signal
		text   string
	}{
		{129, syscall.SIGHUP, "stopped by SIGHUP"},
		{130, syscall.SIGINT, "stopped by SIGINT"},
		{143, syscall.SIGTERM, "stopped by SIGTERM"},
		{2, syscall.SIGQUIT, "goroutine"}, // the last, because it leaves temporary files
	} {
		if first == nil {
			first = startRowtocol(t, dir, large...)
			waitFor(t, dir+"/tmp/*")
		}
		must(t, first.Process.Signal(c.signal))
		record(c.code, waitCmd(t, first), c.text)
		first = nil
	}
	for _, c := range []struct{ defect, args, text string }{
		{"panics", "convert --json a.avro new", `"status": "defect"`},
		{"panics-beside", "convert a.avro new", "panic: a sample of a defect"},
		{"panics-encoding", "convert a.avro new", "defectiveJob.Encode"},
		{"recurses", "convert a.avro new", "stack overflow"},
	} {
		record(2, withDefect(t, dir, c.defect, strings.Fields(c.args)...), c.text)
	}
	for _, e := range cli.Exits {
		for code := range strings.SplitSeq(e.Label(), ", ") {
			if !produced[code] {
				t.Errorf("no case ends with %s", code)
			}
		}
	}
}

// defectVariable is the environment variable that names a defect. With it the test binary
// runs as the program, with that defect.
const defectVariable = "TEST_DEFECT"

// withDefect runs the program with a defect in its default format.
func withDefect(t *testing.T, dir, defect string, args ...string) output {
	t.Helper()
	usual := binary
	defer func() { binary = usual }()
	var err error
	if binary, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return rowtocol(t, dir, []string{defectVariable + "=" + defect}, args...)
}

// runDefective is like main, with a defect.
func runDefective(defect string) int {
	fail := map[string]func(){
		"panics": func() { panic("a sample of a defect") },
		"panics-beside": func() {
			go func() { panic("a sample of a defect") }()
			select {}
		},
		"recurses": func() {
			debug.SetMaxStack(1 << 20)
			var again func(n int) int
			again = func(n int) int { return again(n+1) + n }
			again(0)
		},
		"panics-encoding": func() {},
	}
	formats[0] = defective{formats[0], fail[defect]}
	return cli.Run(rowtocolProgram, os.Args[1:], os.Stdout, os.Stderr)
}

// defective is a format that panics when it begins to write or to encode.
type defective struct {
	format.Format
	fail func()
}

func (d defective) Writer(options json.RawMessage) (format.Writer, error) {
	d.fail()
	w, err := d.Format.Writer(options)
	return defectiveWriter{w.(format.ColumnWriter)}, err
}

type defectiveWriter struct{ format.ColumnWriter }

func (w defectiveWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	g, err := w.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	return defectiveGroup{g}, err
}

type defectiveGroup struct{ format.RowGroup }

func (g defectiveGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	j, err := g.RowGroup.Begin(col, b)
	return defectiveJob{j}, err
}

type defectiveJob struct{ format.EncodeJob }

func (defectiveJob) Encode([]byte) ([]byte, error) { panic("a sample of a defect") }

// exitInputs makes a directory with the files that TestExits names.
func exitInputs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	a := writePairs(t, dir, "a.avro", 0, 30)
	writePairs(t, dir, "b.avro", 100, 30)
	writePairs(t, dir, "large.avro", 0, 400_000)
	write(t, dir+"/cut.avro", a[:len(a)-20])
	write(t, dir+"/strings.avro", avrotest.File(t, `"string"`, [16]byte{1}, 1, []byte{2, 'x'}))
	write(t, dir+"/full/mine.txt", []byte("mine"))
	must(t, os.Symlink("nowhere", dir+"/dangling"))
	rowtocol(t, dir, nil, "plan", "a.avro", "planned", "-o", "plan.json").want(t, 0)
	rowtocol(t, dir, nil, "convert", "a.avro", "damaged").want(t, 0)
	flip(t, partOf(t, dir+"/damaged", 0), -3, 1)
	return dir
}

// startRowtocol starts the program in dir.
func startRowtocol(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	return startCmd(t, dir, command(t, append(args, "--temp-dir", tempDir(t, dir))...))
}

// slowDown lets a process run for a fiftieth of the time, until resume is called.
func slowDown(t *testing.T, p *os.Process) (resume func()) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			_ = p.Signal(syscall.SIGSTOP) // it fails if p has ended
			time.Sleep(245 * time.Millisecond)
			_ = p.Signal(syscall.SIGCONT)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	resume = sync.OnceFunc(func() { close(stop); <-stopped })
	t.Cleanup(resume)
	return resume
}

// TestExitPages checks that the documentation has the program's table of exit codes.
func TestExitPages(t *testing.T) {
	page := func(name string) string { return string(read(t, "../../"+name)) }
	if want := exitMarkdown(); !strings.Contains(page("README.md"), want) {
		t.Errorf("README.md lacks the table of exit codes:\n%s", want)
	}
	runbook := page("docs/runbook.md")
	if want := exitActions(); !strings.Contains(runbook, want) {
		t.Errorf("docs/runbook.md lacks the table of actions:\n%s", want)
	}
	for _, e := range cli.Exits {
		_, section, _ := strings.Cut(runbook, "\n## "+sectionOf(e)+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, part := range []string{"**What happened.**", "**How to see it.**", "**What to do.**"} {
			if e.Code != 0 && !strings.Contains(section, part) {
				t.Errorf("docs/runbook.md, section %q, lacks %s", sectionOf(e), part)
			}
		}
		if section == "" {
			t.Errorf("docs/runbook.md has no section %q", sectionOf(e))
		}
	}
	help := rowtocolProgram.ExitHelp()
	if strings.Contains(help, "`") || !strings.Contains(rowtocol(t, t.TempDir(), nil, "help", "exit-codes").want(t, 0).stdout, help) {
		t.Errorf("the help topic has backquotes, or is not printed:\n%s", help)
	}
}

// exitMarkdown returns the table as the README shows it.
func exitMarkdown() string {
	var s strings.Builder
	s.WriteString("| exit | meaning | retry |\n|---|---|---|\n")
	for _, e := range cli.Exits {
		fmt.Fprintf(&s, "| %s | %s | %s |\n", e.Label(), e.Meaning, e.Retries())
	}
	return s.String()
}

// exitActions returns the table as the runbook shows it, with links to its sections.
func exitActions() string {
	var s strings.Builder
	s.WriteString("| exit | `status` | retry | what to do |\n|---|---|---|---|\n")
	for _, e := range cli.Exits {
		fmt.Fprintf(&s, "| [%s](#%s) | %s | %s | %s |\n", e.Label(), anchor(e), e.Name(), e.Retries(), e.Action)
	}
	return s.String()
}

// sectionOf returns the heading of a code in the runbook.
func sectionOf(e cli.Exit) string { return e.Label() + ": " + e.Name() }

func anchor(e cli.Exit) string {
	return strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(sectionOf(e))
}

// statusOfCode returns the status of an exit code in the final JSON object.
func statusOfCode(code int) string {
	for _, e := range cli.Exits {
		if e.Code == code {
			return e.Name()
		}
	}
	return ""
}
