package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a group of flags that help lists under a title.
type flagGroup struct {
	Title string
	Flags *pflag.FlagSet
}

// flagTitles lists the groups of the flags of conversions, in order. Flags of formats belong
// to the group Output. Flags without a group come before all groups.
var flagTitles = []struct {
	title string
	names []string
}{
	{"Flags", nil},
	{"Inputs and destination", []string{"input", "dest", "allow-empty", "since", "until", "min-age", "require-marker"}},
	{"How inputs are read", []string{"schema", "recursive", "strict", "max-input-block", "on-damage", "max-lost-rows"}},
	{outputTitle, []string{"format", "row-group-size", "block-size"}},
	{"Reruns and data that grows", []string{"incremental", "partitioned", "reprocess", "overwrite", "keep-replaced", "restart"}},
	{"The cluster", []string{"queue", "property", "memory", "workers", "detach", "attach"}},
	{"Schedulers and monitoring", []string{"exit-nothing", "max-runtime", "metrics-file", "push-gateway", "lineage"}},
}

const outputTitle = "Output"

// manyFlags is the least number of flags for which the list of a command is divided.
const manyFlags = 16

// flagGroups divides the flags of a command into groups.
func flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	n, ofFormats := 0, choices()
	sets := map[string]*pflag.FlagSet{}
	all := cmd.LocalFlags()
	all.VisitAll(func(f *pflag.Flag) {
		title := flagTitles[0].title
		for _, g := range flagTitles {
			if slices.Contains(g.names, f.Name) {
				title = g.title
			}
		}
		if _, ok := ofFormats[f.Name]; ok {
			title = outputTitle
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
		n++
	})
	if n < manyFlags {
		return []flagGroup{{flagTitles[0].title, all}}
	}
	for _, g := range flagTitles {
		if set := sets[g.title]; set != nil {
			groups = append(groups, flagGroup{g.title, set})
		}
	}
	return groups
}
