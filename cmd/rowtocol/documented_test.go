package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// pages returns the names of the README and the pages of docs/.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	return append(names, "../../README.md")
}

// example is a command of a page. In a session, a block of the language console, a
// command begins with "$ " and continues with "> ", and its output follows.
type example struct {
	page, line string
	session    bool
	output     string
}

// documentedExamples returns the examples of the pages and of the commands' help.
func documentedExamples(t *testing.T) map[string][]example {
	t.Helper()
	found := map[string][]example{}
	for _, page := range pages(t) {
		found[filepath.Base(page)] = examples(filepath.Base(page), string(read(t, page)))
	}
	unfold := strings.NewReplacer("\\\n    ", "", "\n  ", "\n")
	root := rowtocolProgram.Root()
	for _, c := range append(root.Commands(), root) {
		page := c.CommandPath() + " --help"
		found[page] = examples(page, "```"+unfold.Replace("\n"+c.Example)+"\n```")
	}
	return found
}

// examples returns the commands in the blocks of a page, in their order.
func examples(page, text string) (found []example) {
	for i, block := range strings.Split(text, "```") {
		language, text, _ := strings.Cut(block, "\n")
		switch {
		case i%2 == 0:
		case language == "console":
			found = append(found, session(page, text)...)
		default:
			for _, line := range documented.FindAllStringSubmatch(text, -1) {
				found = append(found, example{page: page, line: "rowtocol " + strings.TrimSpace(line[1])})
			}
		}
	}
	return found
}

func session(page, text string) (found []example) {
	for line := range strings.Lines(text) {
		last := len(found) - 1
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			found = append(found, example{page: page, line: command, session: true})
		} else if command, ok := strings.CutPrefix(line, "> "); ok && found[last].output == "" {
			found[last].line += command
		} else {
			found[last].output += line
		}
	}
	return found
}

// documented matches a command of the program in an example, up to a pipe, a redirection, a
// comment or the end of the line.
var documented = regexp.MustCompile(`(?m)(?:^|[|] |-I\{\} )rowtocol ((?:[^#|>\n']|'[^']*')+)`)

// TestDocumentedCommands checks that the commands and flags of the examples exist.
func TestDocumentedCommands(t *testing.T) {
	root := rowtocolProgram.Root()
	found := 0
	for page, examples := range documentedExamples(t) {
		for _, e := range examples {
			for _, args := range documented.FindAllStringSubmatch(e.line, -1) {
				found++
				checkExample(t, root, page, strings.Fields(args[1]), e.line)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d examples found", found)
	}
}

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

// TestDocumentedLinks checks that the links to pages and their sections lead somewhere.
func TestDocumentedLinks(t *testing.T) {
	found := 0
	for _, name := range append(pages(t), "../../configs/README.md") {
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
		t.Errorf("only %d links found", found)
	}
}

// TestDocumentedReaders checks that each page begins with its reader and its question.
func TestDocumentedReaders(t *testing.T) {
	opening := regexp.MustCompile(`\A# .+\n\nFor (?:[^\n?]+\n?)+\?`)
	for _, page := range pages(t) {
		if filepath.Base(page) != "README.md" && !opening.Match(read(t, page)) {
			t.Errorf("%s does not begin with: For a reader. A question?", page)
		}
	}
}

// sections returns the anchors of the headings of a page.
func sections(page string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
