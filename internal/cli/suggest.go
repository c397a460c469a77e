package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// DidYouMean returns the end of a message about an unknown name. It suggests the nearest of
// the names. It returns "" if no name is near.
func DidYouMean(name, before string, names []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if len(name) > 1 && strings.HasPrefix(n, strings.ToLower(name)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", before, best)
}

// mostCompared bounds the length of names that are compared.
const mostCompared = 100

// distance returns the number of edits that turn a into b. An edit inserts, deletes or
// replaces a letter, or swaps two adjacent letters.
func distance(a, b string) int {
	if max(len(a), len(b)) > mostCompared {
		return mostCompared
	}
	var before []int // the row of two letters ago
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// CheckChoice refuses a flag's value that is not one of its choices.
func CheckChoice(flag, value string, choices []string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return Usagef("--%s: %q is not one of %s%s", flag, value, strings.Join(choices, ", "), DidYouMean(value, "", choices))
}

// noCommand gives an unknown command the exit code of a usage error.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return Usagef("there is no command %q%s (see %s --help)", args[0], DidYouMean(args[0], "", names), cmd.CommandPath())
}

// refuseOthers makes cobra's own commands refuse unknown names. Otherwise they would print
// help and succeed, which misleads scripts.
func refuseOthers(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, helpAbout
		case "completion":
			cmd.Args = noCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

func helpAbout(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil {
		return AsUsage(err)
	}
	if about.HasSubCommands() && len(rest) > 0 {
		return noCommand(about, rest)
	}
	about.InitDefaultHelpFlag()
	return about.Help()
}

// wrongFlag is the error for flags that cannot be read.
func wrongFlag(cmd *cobra.Command, err error) error {
	nearest := ""
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		nearest = DidYouMean(unknown.GetSpecifiedName(), "--", names)
	} else if unknown != nil && cmd.Flags().Lookup("prefix") != nil {
		nearest = "; put -- before keys that begin with -"
	}
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("--%s: %w", wrong.GetFlag().Name, wrongValue(wrong))
	}
	return AsUsage(fmt.Errorf("%w%s (see %s --help)", err, nearest, cmd.CommandPath()))
}

// wrongValue describes a wrong value of a flag without Go's terms.
func wrongValue(err error) error {
	wrong := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	switch wrong.GetFlag().Value.Type() {
	case "bool":
		return fmt.Errorf("%q is neither true nor false", wrong.GetValue())
	case "int", "int64", "intSlice":
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is too large a number", wrong.GetValue())
		}
		return fmt.Errorf("%q is not a whole number", wrong.GetValue())
	}
	return wrong.Unwrap()
}
