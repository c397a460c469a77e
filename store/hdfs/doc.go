// Package hdfs is the store of files on HDFS, reached by the cluster's own
// protocols through github.com/colinmarc/hdfs/v2.
//
// Sessions wrap the library and fill its gaps:
//
//   - Every dial, read and write has a deadline. When a context ends, its connections are
//     closed, so that a hung node does not hang the program.
//   - A session with a connection that failed is not used again, because the library may
//     continue at a wrong place.
//   - This package calls the name nodes itself where the library's calls lose the name
//     node's message, or replace existing files.
//   - A file is one block. It is created with a block size that holds the file, never gets
//     more bytes than promised, and is checked when it is committed.
//
// There is no recovery of a write pipeline. The caller repeats a failed upload from its
// start. A call is made once. If it does no harm to make it twice, it is made once for each
// name node. Package store waits and retries.
//
// Features that the library lacks are refused: encryption zones, erasure coding, and data
// transfer with integrity, or with privacy without AES. The message names webhdfs://, the
// other client.
package hdfs
