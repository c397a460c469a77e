// Package index makes the key index of an output, and reads it: where in the output the rows
// are that have a key.
//
// While a task shreds its rows, a Sink takes the key of each (package rowkey) and sorts them
// (spill.Sorter) to a side file of the task's result. The last step before the output is
// published merges the side files of all tasks to the files of the index:
//
//	_index/<output id>/<fields>/00000.hfile, 00001.hfile, …
//
// Each is an HFile of at most the size of a row group, so that it is one block of HDFS. Their
// ranges of keys follow each other: a key is in two of them only if the rows that have it go on
// where the first one is full. Side files are HFiles, too. A cell stands for a row:
//
//	row        the key
//	family     empty
//	qualifier  where the row is: task, row group in the task, row in that: 4 bytes each,
//	           big-endian
//	value      empty
//
// So equal keys have a cell for each of their rows, in the order of the rows. The file info
// has the fields (rowtocol.index), how many rows have no key, because a field is null
// (rowtocol.nulls), and which row groups the positions are of (rowtocol.fingerprint: see
// manifest.Fingerprint). A Bloom filter of the keys says of most keys that are not there that
// they are not.
package index
