package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/job/publish"
)

// addKeepReplaced adds the flag for how long replaced files stay.
func addKeepReplaced(flags *pflag.FlagSet, o *publish.Options) {
	flags.Var((*notNegative)(&o.KeepReplaced), "keep-replaced", "leave the files of a replaced output and its increments in DEST for this `duration`, for programs that are reading them")
}

// notNegative is the value of a flag that is a duration of at least 0.
type notNegative time.Duration

// Set implements pflag.Value.
func (d *notNegative) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err == nil && v < 0 {
		err = errors.New("it must not be negative")
	}
	*d = notNegative(v)
	return err
}

// String implements pflag.Value.
func (d *notNegative) String() string { return time.Duration(*d).String() }

// Type implements pflag.Value.
func (d *notNegative) Type() string { return "duration" }
