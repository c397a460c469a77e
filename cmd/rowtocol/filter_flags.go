package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/input"
)

// moment is a flag value that is a time.
type moment struct {
	*time.Time
	text string // the text that was given
}

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	var err error
	if ago, notAge := time.ParseDuration(text); notAge == nil && ago >= 0 {
		*m.Time = time.Now().Add(-ago)
	} else if *m.Time, err = time.Parse(time.RFC3339, text); err != nil {
		if *m.Time, err = time.Parse(time.DateOnly, text); err != nil {
			return fmt.Errorf("%q is not a time; write 2026-01-31T18:00:00Z, 2026-01-31 (its start in UTC), or 36h (that long ago)", text)
		}
	}
	m.text = text
	return nil
}

// String implements pflag.Value.
func (m *moment) String() string { return m.text }

// Type implements pflag.Value.
func (m *moment) Type() string { return "time" }

// addFilter adds the flags that leave out inputs.
func addFilter(flags *pflag.FlagSet, f *input.Filter, exclude *[]string) {
	flags.StringArrayVar(exclude, "exclude", nil, "leave out the inputs whose name matches this `pattern`, or with a / in it, whose path or directory matches it; repeatable")
	flags.Var(&moment{Time: &f.Since}, "since", "leave out inputs that were modified before this `time`: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h (that long ago)")
	flags.Var(&moment{Time: &f.Until}, "until", "leave out inputs that were modified at this `time` or later")
	flags.Var((*cli.TimeSpan)(&f.MinAge), "min-age", "leave out, until a later run, inputs that were modified within this time before now; this machine's clock should agree with the storage's")
	flags.StringVar(&f.Marker, "require-marker", "", "leave out, until a later run, inputs whose directory has no file of this `name`, such as _SUCCESS")
}
