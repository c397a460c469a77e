package main

import (
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/cli"
)

// The option of formats about the form of times, and its value for tables.
const (
	timesOption = "times"
	tableTimes  = "iceberg"
)

// chooseTableTimes chooses the form of times that tables have, unless the user chose one. It
// refuses formats whose files cannot be in a table.
func (f *requestFlags) chooseTableTimes() error {
	var able []string
	for _, format := range formats {
		if slices.ContainsFunc(format.Choices(), forTables) {
			able = append(able, format.Name())
		}
	}
	//guard: refuses a format whose files no table can have
	if !slices.Contains(able, f.req.Output.Format) {
		return cli.Usagef("--format: the job has a table, which needs the format %s", strings.Join(able, " or "))
	}
	if f.Flags.Changed(timesOption) {
		return nil
	}
	return f.Flags.Set(timesOption, tableTimes)
}

// forTables reports whether an option has the value for tables.
func forTables(c format.Choice) bool {
	return c.Name == timesOption && slices.Contains(c.Values, tableTimes)
}
