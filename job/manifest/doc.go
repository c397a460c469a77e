// Package manifest holds the documents of a conversion: the plan that every
// task reads, the result that every task leaves, and the _SUCCESS document that
// says what was committed. They are versioned JSON that ends with a checksum of
// its own bytes. The same content always encodes to the same bytes, and what does
// not decide the bytes of an output (times, the program's version) stands apart,
// in Made.
//
//	DEST/_SUCCESS                                    Success, written last
//	DEST/part-00012-0-<output>.trv                   a published part: a file
//	DEST/part-00012-0-<output>.cfiles/<name>         a file of one that is a directory
//	DEST/_quarantine/<output>/00003-a.avro@512-2048  a published copy of damaged bytes
//	DEST/_index/<output>/<name>                      a file that was made of side files
//	DEST/increment-00000012-<output>/                an increment, with a _SUCCESS and files of its own
//	DEST/_increments-00000012                        an empty file: the last number that was given
//	DEST/_inputs                                     Inputs, what surveys read; no output depends on it
//
//	a directory in which tasks leave their work:
//	    plan.json                                    Plan
//	    task-00012.json                              TaskResult
//	    part-00012-0-<attempt>.trv                   a staged part, or a file on its way
//	    part-00012-0-<attempt>.cfiles/<name>         a file of one that is a directory
//	    quarantine-<attempt>-00003-a.avro@512-2048   a staged copy of damaged bytes
//	    side-<attempt>-00012-<name>                  what else was made of a task's rows
//	    index-<attempt>-<name>                       what the last step made of side files
//
// Everything that is decoded has been checked like any other input: a document
// names files by the names that such files have, and by no other.
//
// The package is a leaf: it knows the documents, and nothing of how they come
// about.
package manifest
