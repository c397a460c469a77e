// Package hdfs is the store of files on HDFS, reached by the cluster's own
// protocols through github.com/colinmarc/hdfs/v2.
//
// Sessions wrap the library and fill its gaps:
//
//   - Every dial, read and write has a deadline. When a context ends, it closes
//     its connections, so that a hung node does not hang the program.
//   - A session on which a connection failed is not used again, because the library
//     may continue it at a wrong place.
//   - This package calls the name nodes itself where the library's calls
//     lose the name node's message, or replace existing files.
//   - A file is one block: created with a block size that holds it, never given
//     more bytes than promised, and checked before it counts as written.
//
// There is no recovery of a write pipeline: the caller repeats a failed upload from its
// start. Calls are made once, or once for each name node if doing them twice does no
// harm; package store waits and retries.
//
// Features that the library lacks are refused with a message that names webhdfs://, the
// other client: encryption zones, erasure coding, and data transfer with more
// protection than authentication.
package hdfs
