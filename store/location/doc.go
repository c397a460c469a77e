// Package location turns the locations that users write into stores:
//
//	/a/b  file:///a/b      local disk
//	hdfs://AUTHORITY/a/b   HDFS by its own protocols (package hdfs); by HTTP if Tokens is set
//	webhdfs://… swebhdfs://…  HDFS by HTTP, also through HttpFS (package webhdfs)
//
// AUTHORITY is a nameservice of the Hadoop configuration, a name node's host with or
// without its port, or nothing for the default file system. Remote stores retry
// (store.WithRetry) and share one login.
package location
