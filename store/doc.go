// Package store is the interface to files on local disk and on HDFS. Inputs are opened
// through it, and outputs are created, committed and renamed through it. No other package
// touches files of the user.
//
// The interface has only operations that both kinds of storage support:
//
//	Create     never replaces; gets the final size, if it is known,
//	           so that a store with blocks can choose a block that holds the whole file
//	Commit     makes the bytes durable and checks that they have the promised length
//	Rename     never replaces; if several rename to one name at once, one succeeds
//	WriteFile  writes a small file, and either fails if there is one or replaces it
//
// There is no append, no truncation, no hard link and no write at an offset.
//
// Paths use slashes and have no scheme. Package location turns a user's location into a
// store and a path. Classify reports whether a retry after an error may help, and WithRetry
// makes a store retry. CapabilitiesOf returns what a store can do beyond the interface. With
// NewStreamFile and NewWriter, a kind of storage makes files and writers of its streams.
// Intercept wraps each call of a store in a function.
//
//	store            the interface, local disk, patience, read-ahead of streams
//	store/cluster    a Hadoop cluster as its clients know it
//	store/hdfs       HDFS by its own protocols
//	store/webhdfs    HDFS by HTTP
//	store/location   locations to stores
//	store/storetest  the tests that every store must pass
//	store/memstore   a store in memory whose power can be cut, for tests; the tests
//	                 of local disk use its model of a disk, too
package store
