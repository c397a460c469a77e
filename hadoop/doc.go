// Package hadoop runs the tasks of plans as map tasks of one job on a Hadoop
// cluster, by Hadoop Pipes.
package hadoop
