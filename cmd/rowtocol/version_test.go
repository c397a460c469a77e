package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		rowtocol(t, t.TempDir(), nil, args...).want(t, 0, "rowtocol ", "commit   ", "go       "+runtime.Version(), "platform "+runtime.GOOS+"/"+runtime.GOARCH)
		var b build
		rowtocol(t, t.TempDir(), nil, append(args, "--json")...).want(t, 0).object(t, &b)
		if b.Version == "" || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
			t.Errorf("%v: %+v", args, b)
		}
	}
	rowtocol(t, t.TempDir(), nil, "version", "x").want(t, 1)
}

// TestManual holds the manual to a page for every command and topic that help
// names, with all flags, and nothing of the machine that it is made on.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	rowtocol(t, dir, []string{"GOMAXPROCS=37"}, "man", ".").want(t, 0)
	pages := 0
	for _, c := range newApp(nil, os.Stdout, os.Stderr).rootCommand().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		pages++
		text := string(read(t, filepath.Join(dir, manName(c)+"."+manSection(c))))
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(c.LocalFlags().FlagUsages(), -1) {
			if !strings.Contains(text, roff(flag)) {
				t.Errorf("the page of %s lacks %s", c.Name(), flag)
			}
		}
		if !strings.Contains(text, roff(c.Short)) || strings.Contains(text, "default 37") {
			t.Errorf("the page of %s:\n%s", c.Name(), text)
		}
	}
	rowtocol(t, dir, nil, "man", "none").want(t, 7, "create none/rowtocol.1: the parent directory does not exist")
	if pages < 8 {
		t.Errorf("only %d pages", pages)
	}
}

// TestDocumentedCommands holds the examples of the documentation to commands and
// flags that exist.
func TestDocumentedCommands(t *testing.T) {
	names, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	root := newApp(nil, os.Stdout, os.Stderr).rootCommand()
	found := 0
	for _, name := range append(names, "../../README.md") {
		for i, block := range strings.Split(string(read(t, name)), "```") {
			if i%2 == 0 {
				continue
			}
			for _, line := range documented.FindAllStringSubmatch(block, -1) {
				found++
				checkExample(t, root, name, strings.Fields(line[1]), line[0])
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d examples are found", found)
	}
}

// TestDocumentedLinks follows the links from page to page, and to sections of them.
func TestDocumentedLinks(t *testing.T) {
	names, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	found := 0
	for _, name := range append(names, "../../README.md", "../../configs/README.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(read(t, name)), -1) {
			page, section, _ := strings.Cut(link[1], "#")
			if strings.Contains(page, "://") {
				continue
			}
			found++
			to := filepath.Join(filepath.Dir(name), page)
			if page == "" {
				to = name
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if section != "" && !slices.Contains(sections(string(read(t, to))), section) {
				t.Errorf("%s: there is no section %q in %s", name, section, to)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d links are found", found)
	}
}

// sections are the names by which links know the headings of a page.
func sections(page string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// documented is a use of the program in an example, up to what ends it.
var documented = regexp.MustCompile(`(?m)(?:^|[|] |-I\{\} )rowtocol ((?:[^#|>\n']|'[^']*')+)`)

func checkExample(t *testing.T, root *cobra.Command, page string, args []string, line string) {
	t.Helper()
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root {
		t.Errorf("%s: there is no such command: %s", page, line)
		return
	}
	cmd.InitDefaultHelpFlag()
	for _, arg := range args {
		if flag, _, _ := strings.Cut(arg, "="); strings.HasPrefix(flag, "--") && cmd.Flag(flag[2:]) == nil {
			t.Errorf("%s: %s has no %s: %s", page, cmd.Name(), flag, line)
		}
	}
}
