// Package lineage records the inputs and outputs of a run as OpenLineage run events
// (https://openlineage.io). It appends the events to a file, one JSON object on each line.
// It gets a run as a report.Run. Only cmd/rowtocol uses the package. Another program must
// send the events to a server.
//
// A run has a START event and one more event: COMPLETE, FAIL (the job must be run again, or
// fixed) or ABORT (a signal ended the run). Both have the same run, job and datasets:
//
//	run      UUID of version 5 of the run's ID: RunID
//	job      namespace $OPENLINEAGE_NAMESPACE or "rowtocol"; the command and its destination
//	inputs   as the user named them, not each file: a dataset is a directory, or a file that
//	         was named itself; for a pattern, the directory that it searches
//	outputs  the destination
//	parent   the run of the scheduler, if the environment names it: see parent
//
// By OpenLineage's naming conventions, local paths are in the namespace "file". Other paths
// are in the namespace of their scheme and authority, for example "hdfs://nn:8020".
package lineage
