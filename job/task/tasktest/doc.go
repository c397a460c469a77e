// Package tasktest has what tests of tasks, and of what is built on them, share.
package tasktest
