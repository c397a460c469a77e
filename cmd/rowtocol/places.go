package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// placeFlags name inputs and destination where the arguments do not: a job file and
// the environment can hold them so.
type placeFlags struct {
	inputs []string
	dest   string
}

func (f *placeFlags) addPlaces(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.inputs, "input", nil, "`path` of an input, where there are no arguments; repeatable")
	flags.StringVar(&f.dest, "dest", "", "`directory` of the output, where there are no arguments")
}

// places returns inputs and destination of a command that takes INPUT... DEST. All of
// them are arguments, or none is; arguments win over the job file and the environment.
func (a *app) places(cmd *cobra.Command, f *placeFlags, args []string) (inputs []string, dest string, err error) {
	switch len(args) {
	case 0:
		if len(f.inputs) == 0 || f.dest == "" {
			return nil, "", usagef("%s needs inputs and a destination: as arguments, or as --input and --dest, which a job file can hold; usage: %s", cmd.Name(), cmd.UseLine())
		}
		return f.inputs, f.dest, nil
	case 1:
		//guard: an input would be taken for the destination, or the other way round
		return nil, "", usagef("%s cannot run with 1 argument, which could be an input or the destination: give all as arguments, or all as --input and --dest; usage: %s", cmd.Name(), cmd.UseLine())
	}
	for _, name := range []string{"input", "dest"} {
		_, elsewhere := a.origins[name]
		//guard: an input that is named by a flag would be left out
		if cmd.Flags().Changed(name) && !elsewhere {
			return nil, "", usagef("--%s and arguments are given: give inputs and destination all as arguments, or all as --input and --dest", name)
		}
	}
	return args[:len(args)-1], args[len(args)-1], nil
}
