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

// titledFlags names the flags of a group.
type titledFlags struct {
	title string
	names []string
}

// otherFlags is the title of flags without a group.
const otherFlags = "Flags"

// manyFlags is the least number of flags for which the list of a command is divided.
const manyFlags = 16

// flagGroups divides the flags of a command into groups.
func (p *program) flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	all, n := cmd.LocalFlags(), 0
	all.VisitAll(func(*pflag.Flag) { n++ })
	titles := []titledFlags{{title: otherFlags}}
	if n >= manyFlags && p.groups != nil {
		titles = append(titles, p.groups()...)
	}
	sets := map[string]*pflag.FlagSet{}
	all.VisitAll(func(f *pflag.Flag) {
		title := otherFlags
		for _, g := range titles {
			if slices.Contains(g.names, f.Name) {
				title = g.title
			}
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
	})
	for _, g := range titles {
		if set := sets[g.title]; set != nil {
			groups = append(groups, flagGroup{g.title, set})
		}
	}
	return groups
}
