package main

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/rowtocol/rowtocol/internal/cli"
)

// TestInitialization limits what packages allocate before the program begins. Each run needs this
// time, also a run that does not use the packages. A library that registers collectors or compiles
// regular expressions exceeds the limits.
func TestInitialization(t *testing.T) {
	const mostBytes, mostAllocations = 1_000_000, 3700
	trace := rowtocol(t, t.TempDir(), []string{"GODEBUG=inittrace=1"}, "version").want(t, 0).stderr
	type cost struct {
		name               string
		bytes, allocations int
	}
	var packages []cost
	var total cost
	for _, m := range regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs$`).FindAllStringSubmatch(trace, -1) {
		c := cost{name: m[1]}
		c.bytes, _ = strconv.Atoi(m[2])
		c.allocations, _ = strconv.Atoi(m[3])
		packages = append(packages, c)
		total.bytes, total.allocations = total.bytes+c.bytes, total.allocations+c.allocations
	}
	if len(packages) < 50 {
		t.Fatalf("%d packages in %s", len(packages), trace)
	}
	if total.bytes > mostBytes || total.allocations > mostAllocations {
		slices.SortFunc(packages, func(a, b cost) int { return cmp.Compare(b.allocations, a.allocations) })
		t.Errorf("%d bytes in %d allocations, more than %d in %d. Most in %+v", total.bytes, total.allocations, mostBytes, mostAllocations, packages[:20])
	}
}

// TestOneCommand checks that a run makes only the command that it names, and that the names are
// those of the commands.
func TestOneCommand(t *testing.T) {
	var all []string
	for _, c := range rowtocolProgram.All() {
		all = append(all, c.Name)
		root := cli.NewApp(rowtocolProgram, []string{c.Name, "--help"}, os.Stdout, os.Stderr).RootCommand()
		if made := root.Commands(); len(made) != 1 || made[0].Name() != c.Name {
			t.Errorf("%s: got %d commands", c.Name, len(made))
		}
	}
	for _, args := range [][]string{nil, {"help", "version"}, {"--json", "version"}, {"__complete", "v"}, {"vers"}} {
		var names []string
		for _, c := range cli.NewApp(rowtocolProgram, args, os.Stdout, os.Stderr).RootCommand().Commands() {
			names = append(names, c.Name())
		}
		for _, name := range all {
			if !slices.Contains(names, name) {
				t.Errorf("%q: %s is missing", args, name)
			}
		}
	}
}
