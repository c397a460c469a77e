// Package pipestest is the Java side of Hadoop Pipes, for tests of children. It obeys
// and fails as Hadoop's own does, in the same order, and reads messages with code of
// its own, so that it is a second witness of what package pipes writes.
package pipestest
