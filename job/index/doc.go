// Package index makes and reads the key index of an output, which maps each key to the
// positions of its rows in the output.
//
// While a task shreds its rows, a Sink takes the key of each row (package rowkey) and sorts the
// keys (spill.Sorter) into a side file of the task's result. The last step before the output is
// published merges the side files of all tasks into the files of the index:
//
//	_index/<output id>/<fields>/00000.hfile, 00001.hfile, …
//
// Each file is an HFile of at most the size of a row group, so that it is one block of HDFS. The
// files are in the order of their keys. A key is in two files only if its rows do not all fit
// the first file. Side files are HFiles as well. A cell stands for a row:
//
//	row        the key
//	family     empty
//	qualifier  the position of the row: task, row group in the task, row in the row group:
//	           4 bytes each, big-endian
//	value      empty
//
// So a key has a cell for each of its rows, in the order of the rows. The file info has these
// fields:
//
//	rowtocol.index        the fields of the key
//	rowtocol.nulls        the number of rows without a key, because a field is null
//	rowtocol.fingerprint  identifies the row groups that the positions refer to: see
//	                      manifest.Fingerprint
//
// A Bloom filter of the keys rules out most keys that the index does not have.
package index
