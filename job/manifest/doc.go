// Package manifest holds the documents of a conversion: the plan that every
// task reads, the result that every task writes, and the _SUCCESS document, which
// lists what was committed. Each document is versioned JSON that ends with a checksum of
// its other bytes. Equal content always encodes to equal bytes. Facts that do not
// shape the bytes of an output (times, the program's version) are kept apart, in
// Made.
//
//	DEST/_SUCCESS                                    Success, written last
//	DEST/part-00012-0-<output>.trv                   a published part: a file
//	DEST/part-00012-0-<output>.cfiles/<name>         a file of a part that is a directory
//	DEST/_quarantine/<output>/00003-a.avro@512-2048  a published copy of damaged bytes
//	DEST/_index/<output>/<name>                      a file made from side files
//	DEST/increment-00000012-<output>/                an increment, with a _SUCCESS and files of its own
//	DEST/_increments-00000012                        an empty file: the last number given to an increment
//	DEST/_inputs                                     Inputs: checksums that surveys computed; no output depends on them
//
//	the directory of the tasks' work:
//	    plan.json                                    Plan
//	    task-00012.json                              TaskResult
//	    part-00012-0-<id>.trv.staged                 a staged part, or a file that is being written
//	    part-00012-0-<id>.cfiles.staged/<name>       a file of a part that is a directory
//	    quarantine-<id>-00003-a.avro@512-2048        a staged copy of damaged bytes
//	    side-<id>-00012-<name>                       a side file, made from a task's rows
//	    index-<id>-<name>                            a file that the last step made from side files
//
// A staged file is one that may still be published. The last step makes indexes after all
// tasks. The number of an output, as in increment-00000012, is its Sequence.
//
// Decoding checks a document like any other input: a document may list files only under
// the names that such files have.
//
// The package knows the documents, but not how they are made.
package manifest
