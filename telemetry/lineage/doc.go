// Package lineage records the inputs and outputs of a run as OpenLineage run events
// (https://openlineage.io). It appends them to a file, one JSON object on each line. It
// takes a run of package report, and only cmd/rowtocol uses it. Other programs must send
// the events on.
//
// A run has a START event, and one of COMPLETE, FAIL (the job must be run again, or fixed)
// and ABORT (a signal). Both have the same run, job and datasets:
//
//	run      UUID of version 5 of the run's ID: RunID
//	job      namespace $OPENLINEAGE_NAMESPACE or "rowtocol"; the command and its destination
//	inputs   as the user named them, not each file: a dataset is a directory, or a file that
//	         was named itself; for a pattern, the directory that it searches
//	outputs  the destination
//	parent   the run of the scheduler, if the environment names it: see parent
//
// Local paths are in the namespace "file", others in the namespace of their scheme and
// authority, "hdfs://nn:8020", by OpenLineage's naming conventions.
package lineage
