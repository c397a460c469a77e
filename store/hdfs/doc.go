// Package hdfs is the store of files on HDFS, reached by the cluster's own
// protocols through github.com/colinmarc/hdfs/v2.
//
// The library is used through sessions, which take from it what it leaves open:
//
//   - Every dial, read and write has a deadline, and the end of a context ends
//     the connections that serve it, so a hung node hangs nobody.
//   - A session on which a connection failed is not used again, for the library
//     may go on with it in the wrong place.
//   - Name nodes are asked by this package wherever the library's own calls
//     lose what the name node says, or replace what exists.
//   - A file is one block: created with a block size that holds it, never given
//     more bytes than promised, and looked at before it counts as written.
//
// There is no recovery of a write pipeline: a failed upload is to be repeated
// from its start. Calls are made once, or once for each name node where doing
// them twice does no harm; waiting and trying again is package store's business.
//
// What the library cannot do is refused with a line that names webhdfs://, the
// other client: encryption zones, erasure coding, and data transfer that is
// protected by more than authentication.
package hdfs
