// Package lineage tells what a run read and wrote as OpenLineage run events
// (https://openlineage.io), one JSON object a line, appended to a file. It knows a run as
// package report does, and only cmd/rowtocol uses it; what sends the events on is
// somebody else's.
//
// A run has a START event, and one of COMPLETE, FAIL (the job must be run again, or mended)
// and ABORT (a signal). Both have the same run, job and datasets:
//
//	run      UUID of version 5 of the run's ID: RunID
//	job      namespace $OPENLINEAGE_NAMESPACE or "rowtocol"; the command and its destination
//	inputs   what the user named, not each file: a dataset is a directory, or a file that
//	         was named itself; of a pattern, the directory that it searches
//	outputs  the destination
//	parent   the run of the scheduler, if the environment names it: see parent
//
// Local paths are in the namespace "file", others in that of their scheme and authority,
// "hdfs://nn:8020", as OpenLineage's naming conventions say.
package lineage
