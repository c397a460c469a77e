package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
)

// rowtocolProgram is this program.
var rowtocolProgram = &cli.Program{
	Name:    "rowtocol",
	Short:   "Avro rows in, column files out",
	Long:    rootLong,
	Example: rootExample,
	Commands: []cli.Command{
		named("convert", newConvertCommand), named("submit", newSubmitCommand),
		named("plan", newPlanCommand), named("task", newTaskCommand), named("commit", newCommitCommand),
		named("status", newStatusCommand), named("clean", newCleanCommand), named("unlock", newUnlockCommand),
		named("cat", newCatCommand), named("head", newHeadCommand), named("count", newCountCommand), named("lookup", newLookupCommand),
		named("stats", newStatsCommand), named("inspect", newInspectCommand), named("schema", newSchemaCommand), named("verify", newVerifyCommand),
		named("conditions", conditionsTopic),
	},
	Groups:  flagTitles,
	Drawing: drawing,
}

// app is one run of this program.
type app struct {
	*cli.App
	stdinTaken bool // standard input is being read
}

// named returns a command with its name and its constructor.
func named(name string, construct func(*app) *cobra.Command) cli.Command {
	return cli.Command{Name: name, New: func(a *cli.App) *cobra.Command { return construct(&app{App: a}) }}
}

const rootLong = `rowtocol rewrites Avro row files as column files, one file per row group. No
file gets its final name before all of it is written and checked.

You can set every flag on the command line, in the environment, or in a YAML job
file (--config). The command line wins over the environment, and the environment
over the job file. The variable for --block-size is ROWTOCOL_BLOCK_SIZE. In a
variable, separate the values of a repeatable flag with commas. Write sizes as
64KiB, 128MiB or 1.5GiB, and durations as 90s or 10m.`

const rootExample = `  rowtocol convert /data/mail/*.avro /data/mail.columns
  rowtocol inspect /data/mail.columns
  rowtocol cat --limit 10 /data/mail.columns
  rowtocol verify /data/mail.columns --against /data/mail
  rowtocol help exit-codes`

// flagTitles returns the groups of the flags of conversions. The flags of formats have a group for
// each format, and for the formats that share flags.
func flagTitles() []cli.FlagGroup {
	return slices.Concat([]cli.FlagGroup{
		{Title: "Inputs and destination", Names: []string{"input", "dest", "allow-empty", "exclude", "since", "until", "min-age", "require-marker", "moved", "copies"}},
		{Title: "How inputs are read", Names: []string{"schema", "recursive", "strict", "max-input-block", "on-damage", "max-lost-rows"}},
		{Title: "Output", Names: []string{"format", "row-group-size", "block-size", "index"}},
	}, formatTitles(), []cli.FlagGroup{
		{Title: "Reruns and data that grows", Names: []string{"incremental", "partitioned", "reprocess", "overwrite", "keep-replaced", "restart"}},
		{Title: "The cluster", Names: []string{"queue", "property", "memory", "workers", "detach", "attach", "cancel"}},
		{Title: "Schedulers and monitoring", Names: []string{"exit-nothing", "max-runtime", "job-name", "metrics-file", "push-gateway", "lineage"}},
	})
}

// formatTitles returns the groups of the flags of formats, in the order of the formats.
func formatTitles() (groups []cli.FlagGroup) {
	for _, f := range formats {
		for _, c := range f.Choices() {
			title := "Output of --format " + strings.Join(formatsWith(c.Name), " and ")
			i := slices.IndexFunc(groups, func(g cli.FlagGroup) bool { return g.Title == title })
			if i < 0 {
				i = len(groups)
				groups = append(groups, cli.FlagGroup{Title: title})
			}
			if !slices.Contains(groups[i].Names, c.Name) {
				groups[i].Names = append(groups[i].Names, c.Name)
			}
		}
	}
	return groups
}
