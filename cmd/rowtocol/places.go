package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/store"
)

// addPlaces adds the flags that name inputs and destination instead of arguments, so that a
// job file and the environment can name them.
func (f *requestFlags) addPlaces(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.req.Inputs, "input", nil, "`path` of an input, instead of the arguments INPUT; repeatable")
	flags.StringVar(&f.req.Dest, "dest", "", "`directory` of the output, instead of the argument DEST")
}

// takePlaces reads the arguments INPUT... DEST. Inputs and destination must all be arguments,
// or all be flags. Arguments replace those of the job file and the environment. The account of
// the run has the destination from then on.
func (f *requestFlags) takePlaces(cmd *cobra.Command, args []string) error {
	r := &f.req
	switch len(args) {
	case 0:
		if len(r.Inputs) == 0 || r.Dest == "" {
			return cli.Usagef("%s needs inputs and a destination: as arguments, or as --input and --dest, which a job file can hold; usage: %s", cmd.Name(), cmd.UseLine())
		}
		f.Run.Dest = store.Showable(r.Dest)
		return nil
	case 1:
		//guard: rejects one argument that could be input or destination
		return cli.Usagef("%s cannot run with 1 argument, which could be an input or the destination: give all as arguments, or all as --input and --dest; usage: %s", cmd.Name(), cmd.UseLine())
	}
	for _, name := range []string{"input", "dest"} {
		//guard: rejects inputs from both a flag and the arguments
		if f.OnCommandLine(name) {
			return cli.Usagef("--%s and arguments are given: give inputs and destination all as arguments, or all as --input and --dest", name)
		}
	}
	r.Inputs, r.Dest = args[:len(args)-1], args[len(args)-1]
	f.Run.Dest = store.Showable(r.Dest)
	return nil
}
