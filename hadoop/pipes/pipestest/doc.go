// Package pipestest is the Java side of Hadoop Pipes, for tests of children.
package pipestest
