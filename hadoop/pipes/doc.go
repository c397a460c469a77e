// Package pipes is the child's side of Hadoop Pipes: how the process of a map task
// talks with the JVM that started it.
package pipes
