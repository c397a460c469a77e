// Package soak decides how thorough tests are. Only tests import it.
package soak

import "os"

// Full reports whether ROWTOCOL_SOAK is set, as "make soak" does: tests are then as
// thorough as possible.
func Full() bool { return os.Getenv("ROWTOCOL_SOAK") != "" }

// Rounds returns how often a test repeats random trials: all times if Full, else a few
// times.
func Rounds[T int | uint64](few, all T) T {
	if Full() {
		return all
	}
	return few
}
