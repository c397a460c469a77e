package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestHelp checks that help fits a terminal of 80 columns and names only existing commands, and
// that it names the values of flags in ASCII and not by types of Go.
func TestHelp(t *testing.T) {
	dir, elsewhere := t.TempDir(), []string{"TMPDIR=/tmp"} // help shows it as a default
	texts := map[string]string{"": rowtocol(t, dir, elsewhere, "--help").want(t, 0).stdout}
	for _, cmd := range rowtocolProgram.Root().Commands() {
		texts[cmd.Name()] = rowtocol(t, dir, elsewhere, "help", cmd.Name()).want(t, 0).stdout
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			// pflag aligns the list by bytes.
			if value, _ := pflag.UnquoteUsage(f); slices.Contains([]string{"string", "strings", "stringArray", "int", "ints"}, value) || len(value) != cli.TextWidth(value) {
				t.Errorf("help %s: --%s %s", cmd.Name(), f.Name, value)
			}
		})
	}
	if len(texts) < 10 || !strings.Contains(texts["convert"], "--block-size") {
		t.Fatalf("%d texts", len(texts))
	}
	for name, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			if cli.TextWidth(line) > 80 {
				t.Errorf("help %s: %q", name, line)
			}
		}
		if _, there := texts["lookup"]; !there && strings.Contains(text, "lookup") {
			t.Errorf("help %s names a command that does not exist", name)
		}
	}
	_, rest, _ := strings.Cut(texts["submit"], "\nFlags:\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	if flags := regexp.MustCompile(`(?m)^ .*--([a-z-]+)`).FindAllString(rest, -1); len(flags) != 2 || !strings.HasSuffix(flags[0], "--dry-run") || !strings.HasSuffix(flags[1], "--help") {
		t.Errorf("help submit lists flags without a group: %q", flags)
	}
	for _, g := range flagTitles() {
		_, listed, _ := strings.Cut(texts["submit"], "\n"+g.Title+":\n")
		listed, _, _ = strings.Cut(listed, "\n\n")
		for _, name := range g.Names {
			if !strings.Contains(listed, " --"+name+" ") || strings.Count(texts["submit"], "\n      --"+name+" ")+strings.Count(texts["submit"], ", --"+name+" ") != 1 {
				t.Errorf("help submit does not list --%s once, under %q:\n%s", name, g.Title, listed)
			}
		}
	}
}

// TestRefusedOutputFiles checks that no file is written into a destination or over an input,
// and that "-" is standard output.
func TestRefusedOutputFiles(t *testing.T) {
	dir := catPairs(t)
	rowtocol(t, dir, nil, "convert", "--incremental", "a.avro", "grown").want(t, 0)
	grown := globOne(t, dir+"/grown/increment-*")
	write(t, dir+"/a/page.html", read(t, dir+"/a.avro")[:0])
	write(t, dir+"/partial/alone.trv", read(t, partOf(t, dir+"/b", 0)))
	write(t, dir+"/alone.trv", read(t, partOf(t, dir+"/b", 0)))
	before := fileSums(t, dir)
	for _, c := range []struct {
		code       int
		args, text string
	}{
		{1, "cat --output a/rows.json b", "is a destination"},
		{1, "cat --output a/_SUCCESS --overwrite b", "is a destination"},
		{1, "cat --output a/page.html --overwrite b", "is a destination"},
		{1, "cat --output a/below/rows.json b", "is a destination"},
		{1, "cat --output " + grown + "/rows.json a", "is a destination"},
		{1, "cat --output grown/rows.json grown", "is a destination"},
		{9, "cat --partial --output partial/rows.json partial", "this command reads"},
		{9, "cat --output alone.trv --overwrite alone.trv", "this command reads"},
		{1, "inspect --html a/page.html b", "is a destination"},
		{1, "inspect --html a/new.html b", "is a destination"},
		{1, "inspect --html grown/page.html grown", "is a destination"},
	} {
		rowtocol(t, dir, nil, strings.Fields(c.args)...).want(t, c.code, c.text)
	}
	rowtocol(t, dir, nil, "inspect", "--html", "-", "a").want(t, 1, "--html")
	rowtocol(t, dir, nil, "plan", "--json", "a.avro", "new", "-o", "-").want(t, 1, "standard output")
	rowtocol(t, dir, nil, "cat", "--output", "-", "--limit", "1", "b").want(t, 0).prints(t, `{"id":100,"words":["100"]}`+"\n")
	plan := rowtocol(t, dir, nil, "plan", "a.avro", "new", "-o", "-").want(t, 0).stdout
	if _, err := manifest.DecodePlan([]byte(plan)); err != nil {
		t.Errorf("%v: %s", err, plan)
	}
	wantUnchanged(t, dir, before)
}

// TestGivenDefaults checks that options with their default values make the same request.
func TestGivenDefaults(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	given := []string{"convert", "--block-size", "64KiB", "--row-group-size", "128MiB", "--codec", "snappy", "--on-damage", "fail", "--max-input-block", "512MiB", "a.avro"}
	rowtocol(t, dir, nil, append(given, "out")...).want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, append(given, "given")...).want(t, 0)
	rowtocol(t, dir, nil, "convert", "a.avro", "given").want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "convert", "--block-size", "32KiB", "a.avro", "out").want(t, 9, "--block-size was 64KiB and is 32KiB")
}
