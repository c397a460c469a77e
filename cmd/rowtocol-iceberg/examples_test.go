package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestExamples runs the example script for cron with the example job file, and checks that it prints
// only failures.
func TestExamples(t *testing.T) {
	p := newPlace(t)
	for name, as := range map[string]string{"table.yaml": "etc/rowtocol/table.yaml", "table.sh": "table.sh"} {
		text, err := os.ReadFile("../../configs/" + name)
		testenv.Must(t, err)
		text = regexp.MustCompile(`/(data|etc/rowtocol|var/log/rowtocol|var/tmp)\b`).ReplaceAll(text, []byte(p.dir+"/$1"))
		testenv.Must(t, os.MkdirAll(filepath.Dir(p.path(as)), 0o777))
		p.write(as, string(text))
	}
	for _, dir := range []string{"data/tables", "var/log/rowtocol", "var/tmp"} {
		testenv.Must(t, os.MkdirAll(p.path(dir), 0o777))
	}
	script := func() string {
		cmd := exec.CommandContext(t.Context(), "sh", "table.sh")
		cmd.Dir = p.dir
		cmd.Env = []string{"PATH=" + filepath.Dir(rowtocol) + ":" + filepath.Dir(iceberg) + ":/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput() // cron ignores the exit code
		return string(out)
	}
	if mail := script(); !strings.Contains(mail, "rowtocol convert\nexit code 3\n") {
		t.Errorf("without inputs, %q is mailed", mail)
	}
	testenv.Must(t, os.CopyFS(p.path("data/mail"), os.DirFS("../../testdata/mail")))
	for range 2 {
		if mail := script(); mail != "" {
			t.Errorf("%q is mailed, want nothing", mail)
		}
	}
	o := p.run(iceberg, "sync", "--config", "etc/rowtocol/table.yaml", "--json").want(0)
	if r := o.result(); !r.Nothing || r.Rows != 600 || r.Table != "mail.messages" {
		t.Errorf("%+v", r)
	}
}
