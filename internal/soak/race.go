//go:build race

package soak

// Race reports whether the race detector is on, which makes everything several
// times slower.
const Race = true
