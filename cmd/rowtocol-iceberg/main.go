// Command rowtocol-iceberg makes an Iceberg table hold what an output of rowtocol holds. This
// package only parses the command line and prints. Package tables does the work. The program is
// apart from rowtocol because the libraries of Iceberg would make each start of rowtocol slower.
package main

import (
	"os"

	"github.com/rowtocol/rowtocol/internal/cli"
)

func main() { os.Exit(cli.Run(icebergProgram, os.Args[1:], os.Stdout, os.Stderr)) }

// icebergProgram is this program.
var icebergProgram = &cli.Program{
	Name:     "rowtocol-iceberg",
	Short:    "Outputs of rowtocol as Iceberg tables",
	Long:     rootLong,
	Example:  syncExample,
	Commands: []cli.Command{{Name: "sync", New: newSyncCommand}},
	Actions:  map[int]string{9: "name the DEST that the table holds, or another `--table`; if another program changed the table, roll the table back to the last snapshot of sync; if the message names a branch or a tag, remove it"},
}

const rootLong = `rowtocol-iceberg makes an Apache Iceberg table hold what an output of rowtocol
convert --format parquet holds. The files stay where they are.

You can set every flag on the command line, in the environment, or in the YAML
job file of rowtocol (--config). The command line wins over the environment, and
the environment over the job file. The variable for --keep-snapshots is
ROWTOCOL_KEEP_SNAPSHOTS. In the job file, the flags about the table and its
catalog are in the section table.`
