// Package hadooptest starts real Hadoop daemons, each a Java process of its
// own, for tests and for trying by hand.
//
// Maven fetches the daemons' jars on first use. Every cluster has its own
// directory and free loopback ports, and its daemons die with the process that
// started them.
package hadooptest
