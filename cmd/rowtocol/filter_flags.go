package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/job/input"
)

// moment is a flag value that is a time.
type moment struct {
	time time.Time
	text string // as it was given
}

// Set implements pflag.Value.
func (m *moment) Set(text string) error {
	var err error
	if ago, notAge := time.ParseDuration(text); notAge == nil && ago >= 0 {
		m.time = time.Now().Add(-ago)
	} else if m.time, err = time.Parse(time.RFC3339, text); err != nil {
		if m.time, err = time.Parse(time.DateOnly, text); err != nil {
			return fmt.Errorf("%q is no time; times are written 2026-01-31T18:00:00Z, 2026-01-31 (its first moment in UTC), or 36h (so long ago)", text)
		}
	}
	m.text = text
	return nil
}

// String implements pflag.Value.
func (m *moment) String() string { return m.text }

// Type implements pflag.Value.
func (m *moment) Type() string { return "time" }

// filterFlags are the flags that leave out inputs, as they were given.
type filterFlags struct {
	since, until moment
	minAge       time.Duration
	marker       string
}

func (f *filterFlags) add(flags *pflag.FlagSet) {
	flags.Var(&f.since, "since", "leave out inputs that were modified before this `time`: 2026-01-31T18:00:00Z, 2026-01-31 (UTC), or 36h, which is so long ago")
	flags.Var(&f.until, "until", "leave out inputs that were modified at this `time` or later")
	flags.DurationVar(&f.minAge, "min-age", 0, "let inputs wait that were modified less long ago, by this machine's clock, which should agree with the storage's")
	flags.StringVar(&f.marker, "require-marker", "", "let inputs wait until a file of this `name`, such as _SUCCESS, is in the same directory")
}

func (f *filterFlags) filter() (input.Filter, error) {
	if f.minAge < 0 {
		return input.Filter{}, usagef("--min-age must not be negative")
	}
	return input.Filter{Since: f.since.time, Until: f.until.time, MinAge: f.minAge, Marker: f.marker}, nil
}
