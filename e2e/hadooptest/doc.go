// Package hadooptest starts real Hadoop daemons, each in its own Java process, for tests and
// for trying by hand.
//
// Maven fetches the daemons' jars on first use. Every cluster has its own directory and free
// loopback ports. Its daemons end with the process that started them.
package hadooptest
