package cli

import (
	"maps"
	"slices"
	"strings"
)

// Settings returns the names of the flags of all programs that the environment and a job file may
// set. A test of each program compares them with its flags.
func Settings() []string {
	names := append(strings.Fields(settingNames), TableFlags()...)
	slices.Sort(names)
	return names
}

const settingNames = `
against allow-empty attach block-codec block-size bloom bloom-filter by bytes cancel checksum
codec column columns compression copies count dest detach dry-run encoding exclude exit-nothing
format holder html incremental index input invalid-utf8 job-name json json-unions keep-replaced
key keytab limit lineage log-format log-level many-files max-input-block max-lost-rows
max-runtime memory meta metrics-file min-age moved offset older-than on-damage output
output-codec overwrite page-version partial partitioned plan prefix principal progress-every property
push-gateway queue quiet range recursive replication reprocess require-complete
require-marker restart row-group-size schema share shredded since sort sorted-by stats
store-retry strict task temp-dir times timestamp to unions until values verbose where
workers`

// tableSection begins the names of settings in the section table of a job file. The section
// describes the table that an output becomes.
const tableSection = "table."

// tableKeys are the flags of tables, with their keys in the section.
var tableKeys = map[string]string{
	"table": "name", "catalog": "catalog", "catalog-name": "catalog-name", "catalog-property": "properties",
	"uri": "uri", "warehouse": "warehouse", "keep-snapshots": "keep-snapshots", "keep-metadata": "keep-metadata",
}

// keyOf returns the name of a flag in a job file.
func keyOf(flag string) string {
	if key := tableKeys[flag]; key != "" {
		return tableSection + key
	}
	return flag
}

// TableFlags returns the names of the flags of tables.
func TableFlags() []string { return slices.Sorted(maps.Keys(tableKeys)) }

// HasTable reports whether the environment or the job file name a table.
func (a *App) HasTable() bool { return a.hasTable }
