package main

import (
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/cli"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		rowtocol(t, t.TempDir(), nil, args...).want(t, 0, "rowtocol ", "commit   ", "go       "+runtime.Version(), "platform "+runtime.GOOS+"/"+runtime.GOARCH)
		var b cli.Build
		rowtocol(t, t.TempDir(), nil, append(args, "--json")...).want(t, 0).object(t, &b)
		if b.Version == "" || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
			t.Errorf("%v: %+v", args, b)
		}
	}
	rowtocol(t, t.TempDir(), nil, "version", "x").want(t, 1)
}

// TestManual checks that the manual has a page for every command and topic of the help, with
// all flags, and that it does not depend on the machine.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	rowtocol(t, dir, []string{"GOMAXPROCS=37"}, "man", ".").want(t, 0)
	root := string(read(t, dir+"/rowtocol.1"))
	if !strings.Contains(root, "\nrowtocol COMMAND [flags]\n") || !strings.Contains(root, "\n.SH COMMANDS\n.TP\n") {
		t.Errorf("the page of the program is %s", root)
	}
	pages, escaped := 0, strings.NewReplacer("-", `\-`)
	for _, c := range rowtocolProgram.Root().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		pages++
		section := "1"
		if c.IsAdditionalHelpTopicCommand() {
			section = "7"
		}
		text := string(read(t, filepath.Join(dir, "rowtocol-"+c.Name()+"."+section)))
		if listed := strings.Contains(root, "\n.TP\n\\fB"+c.Name()+"\\fP\n"+escaped.Replace(c.Short)+"\n"); listed != (section == "1") {
			t.Errorf("the page of the program lists %s: %t", c.Name(), listed)
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(c.LocalFlags().FlagUsages(), -1) {
			if !strings.Contains(text, escaped.Replace(flag)) {
				t.Errorf("the page of %s lacks %s", c.Name(), flag)
			}
		}
		if !strings.Contains(text, escaped.Replace(c.Short)) || strings.Contains(text, "default 37") {
			t.Errorf("the page of %s:\n%s", c.Name(), text)
		}
	}
	rowtocol(t, dir, nil, "man", "none").want(t, 7, "create none/rowtocol.1: the parent directory does not exist")
	if pages < 8 {
		t.Errorf("only %d pages", pages)
	}
}
