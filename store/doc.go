// Package store holds files: on local disk, and behind the same interface on
// HDFS. Inputs are opened, outputs are created, committed and renamed through
// it; nothing else in rowtocol touches a file that a user named.
//
// The interface asks only for what both kinds of storage can do:
//
//	Create     exclusive; the final size is told beforehand, where it is known,
//	           so that a store with blocks can choose one that holds it all
//	Commit     the bytes are durable, and as many as were promised
//	Rename     never replaces; of several that rename to one name, one wins
//	WriteFile  whole small files: exclusive, or replacing what is there
//
// There is no append, no truncation, no hard link and no write at an offset.
//
// Paths use slashes and carry no scheme; package location turns a user's
// location into a store and a path. Classify says of any error whether a retry
// may help, and WithRetry gives a store the patience to try again. What a kind
// of store can do beyond the interface is asked with CapabilitiesOf. NewStreamFile
// and NewWriter make files and writers of what a kind of storage reads and writes,
// and Intercept puts a function around each call of a store.
//
//	store            the interface, local disk, patience, read-ahead of streams
//	store/cluster    a Hadoop cluster as its clients know it
//	store/hdfs       HDFS by its own protocols
//	store/webhdfs    HDFS by HTTP
//	store/location   locations to stores
//	store/storetest  the cases that every store must pass
//	store/memstore   a store in memory whose power can be cut, for tests; its disk
//	                 is the model that the tests of local disk use, too
package store
