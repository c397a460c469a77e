// Package soak says how thorough tests are to be. Only tests import it.
package soak

import "os"

// Full reports whether ROWTOCOL_SOAK is set, as "make soak" does: tests then
// spare nothing.
func Full() bool { return os.Getenv("ROWTOCOL_SOAK") != "" }

// Rounds returns how often a test repeats what is random: all times if tests are
// to be thorough, else a few times.
func Rounds[T int | uint64](few, all T) T {
	if Full() {
		return all
	}
	return few
}
