// Package tasktest has helpers for tests of tasks and of packages that use them.
package tasktest
