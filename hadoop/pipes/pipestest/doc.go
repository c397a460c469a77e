// Package pipestest is the Java side of Hadoop Pipes, for tests of children. It sends,
// checks and fails in the same order as Hadoop's own. It parses messages with its own
// code, so it checks independently what package pipes writes.
package pipestest
