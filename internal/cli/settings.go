package cli

import "strings"

// Settings returns the names of the flags of all programs that the environment and a job file may
// set. A test of each program compares them with its flags.
func Settings() []string { return strings.Fields(settingNames) }

const settingNames = `
against allow-empty attach block-codec block-size bloom bloom-filter by bytes cancel checksum
codec column columns compression copies count dest detach dry-run encoding exit-nothing
format holder html incremental index input invalid-utf8 json json-unions keep-replaced
key keytab limit lineage log-format log-level many-files max-input-block max-lost-rows
max-runtime memory meta metrics-file min-age moved offset older-than on-damage output
output-codec overwrite page-version partial partitioned plan prefix principal property
push-gateway queue quiet range recursive replication reprocess require-complete
require-marker restart row-group-size schema share shredded since sort sorted-by stats
store-retry strict task temp-dir times timestamp to unions until values verbose where
workers`
