package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
)

// TestSettings checks that the environment and a job file may set all flags of the program and
// those of tables, and nothing else.
func TestSettings(t *testing.T) {
	want := append(settingsOf(rowtocolProgram.Root()), cli.TableFlags()...)
	slices.Sort(want)
	if got := cli.Settings(); !slices.Equal(got, want) {
		t.Errorf("the settings are %q, want %q", got, want)
	}
}

// settingsOf returns the names of all flags that the environment and a job file may set.
func settingsOf(root *cobra.Command) []string {
	names := map[string]bool{}
	collect := func(f *pflag.Flag) {
		if cli.Configurable(f) {
			names[f.Name] = true
		}
	}
	root.PersistentFlags().VisitAll(collect)
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(collect)
	}
	return slices.Sorted(maps.Keys(names))
}
