package main

import (
	"maps"
	"slices"
)

// rowtocolProgram is this program.
var rowtocolProgram = &program{
	name:    "rowtocol",
	short:   "Avro rows in, column files out",
	long:    rootLong,
	example: rootExample,
	commands: []namedCommand{
		{"convert", newConvertCommand}, {"submit", newSubmitCommand},
		{"plan", newPlanCommand}, {"task", newTaskCommand}, {"commit", newCommitCommand},
		{"status", newStatusCommand}, {"clean", newCleanCommand}, {"unlock", newUnlockCommand},
		{"cat", newCatCommand}, {"head", newHeadCommand}, {"count", newCountCommand}, {"lookup", newLookupCommand},
		{"stats", newStatsCommand}, {"inspect", newInspectCommand}, {"schema", newSchemaCommand}, {"verify", newVerifyCommand},
		{"conditions", conditionsTopic},
	},
	groups:  flagTitles,
	drawing: drawing,
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

// flagTitles returns the groups of the flags of conversions. Flags of formats belong to the group
// Output.
func flagTitles() []titledFlags {
	return []titledFlags{
		{"Inputs and destination", []string{"input", "dest", "allow-empty", "since", "until", "min-age", "require-marker"}},
		{"How inputs are read", []string{"schema", "recursive", "strict", "max-input-block", "on-damage", "max-lost-rows"}},
		{"Output", slices.AppendSeq([]string{"format", "row-group-size", "block-size"}, maps.Keys(choices()))},
		{"Reruns and data that grows", []string{"incremental", "partitioned", "reprocess", "overwrite", "keep-replaced", "restart"}},
		{"The cluster", []string{"queue", "property", "memory", "workers", "detach", "attach"}},
		{"Schedulers and monitoring", []string{"exit-nothing", "max-runtime", "metrics-file", "push-gateway", "lineage"}},
	}
}
