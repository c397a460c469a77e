// Package delta reads and writes DeltaFiles: CFiles of what happened to the rows of a Kudu
// rowset, by row and time.
//
// No other software witnesses these files as a whole: Kudu has no tool for them outside of
// a tablet, so that none of its own was read here, and no tablet has read one from here.
// What is here is by its sources, of which the examples of bytes in the tests are. Kudu's
// tool for CFiles prints the values of both kinds of files, as bytes; and of Kudu 1.18.1 the
// functions that take keys and changes apart, called by themselves in its libraries, once
// made the same of 3,019 values as this package. No test repeats that.
//
// # File
//
// A DeltaFile is a CFile (see package cfile) of type BINARY, encoding PLAIN, compression
// LZ4, in blocks of 32 KiB, with a value index only. It has at least one value, and the
// metadata key deltafilestats. Each value is a delta:
//
//	delta   | row: varint | timestamp: varint | RowChangeList |
//
//	stats   DeltaStatsPB: 1 delete_count int64, 3 min_timestamp fixed64,
//	        4 max_timestamp fixed64, 5 repeated column_stats {1 col_id int32,
//	        2 update_count int64}, 6 reinsert_count int64
//
// Deltas ascend by row. Those of one row ascend by timestamp in a REDO file, which tells
// what became of rows after they were written, and descend in an UNDO file, which tells
// what they were before. Nothing in the file tells which of the two it is. The value index
// has row and timestamp of the first delta of each block, not shortened; in an UNDO file
// its keys do not all ascend, but by row they do.
//
// These varints sort, as bytes, like the numbers, big-endian:
//
//	0 … 240          | n |
//	241 … 2287       | 241 + (n-240)/256 | (n-240)%256 |
//	2288 … 67823     | 249 | n-2288: 2 bytes |
//	67824 … 2⁶⁴-1    | 247 + k | n: k bytes, as few as hold it, at least 3 |
//
// # RowChangeList
//
//	UPDATE    | 1 | cell | cell | … |    at least one
//	DELETE    | 2 |
//	REINSERT  | 3 | cell | cell | … |
//
//	cell      | column ID: LEB128 | 0 |                        NULL
//	          | column ID: LEB128 | length + 1: LEB128 | value |
//
// Values are as in memory: of fixed width, little-endian, or the bytes of a BINARY value.
// Only the schema of the table tells which.
package delta
