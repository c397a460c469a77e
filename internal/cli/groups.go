package cli

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

// FlagGroup names the flags of a group.
type FlagGroup struct {
	Title string
	Names []string
}

// otherFlags is the title of flags without a group.
const otherFlags = "Flags"

// manyFlags is the least number of flags for which the list of a command is divided.
const manyFlags = 16

// flagGroups divides the flags of a command into groups.
func (p *Program) flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	all, n := cmd.LocalFlags(), 0
	all.VisitAll(func(*pflag.Flag) { n++ })
	titles := []FlagGroup{{Title: otherFlags}}
	if n >= manyFlags && p.Groups != nil {
		titles = append(titles, p.Groups()...)
	}
	sets := map[string]*pflag.FlagSet{}
	all.VisitAll(func(f *pflag.Flag) {
		title := otherFlags
		for _, g := range titles {
			if slices.Contains(g.Names, f.Name) {
				title = g.Title
			}
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
	})
	for _, g := range titles {
		if set := sets[g.Title]; set != nil {
			groups = append(groups, flagGroup{g.Title, set})
		}
	}
	return groups
}
